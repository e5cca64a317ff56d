"""Plan nodes of RECALL: bound selects over history, and the node that joins events with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from presage.functions.aggregates import aggregate_named
from presage.model.time import format_duration
from presage.model.types import BOOLEAN, LONG, STRING, TIMESTAMP, DataType
from presage.plan.display import show, show_named
from presage.plan.expr import AggregateCall, ColumnRef, Expr
from presage.plan.nodes import Field, Named, Node

# Columns of a row after the user's columns.
EVENT_ID, COVERED_FROM, COVERED_TO = "event_id", "covered_from", "covered_to"
REVISION, CHANGE, EXTRAPOLATED = "revision", "change", "extrapolated"
REVISION_COLUMNS = (
    *(Field(EVENT_ID, STRING), Field(COVERED_FROM, TIMESTAMP), Field(COVERED_TO, TIMESTAMP)),
    *(Field(REVISION, LONG), Field(CHANGE, STRING), Field(EXTRAPOLATED, BOOLEAN)),
)
# Values of CHANGE.
INSERT, UPDATE, DELETE = "insert", "update", "delete"


@dataclass(frozen=True)
class Source:
    """An item of a select's FROM: a stream or relation by its number among the node's `histories`, or a select.

    `window`: only events up to so many microseconds before the event, and those of its own time."""

    alias: str
    number: int | None = None
    select: Select | None = None
    relation: bool = False
    on: Expr | None = None
    outer: bool = False
    window: int | None = None

    @property
    def is_stream(self) -> bool:
        return self.number is not None and not self.relation


@dataclass(frozen=True)
class Subquery:
    """A select inside of a term: its only value, whether it has rows, or whether `operand` is among its values. The
    answer is in the column `name`. `late`: it is joined to groups, not to rows."""

    name: str
    kind: str  # value, exists, among
    select: Select
    operand: Expr | None = None
    late: bool = False

    @property
    def type(self) -> DataType:
        return self.select.outputs[0].expr.type if self.kind == "value" else BOOLEAN


@dataclass(frozen=True)
class Order:
    """A term of ORDER BY, by the name of its column."""

    column: str
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Windowed:
    """`function(args) OVER (PARTITION BY partition ORDER BY sort)`, in the column `name` of each row. For an aggregate,
    `args` is the call."""

    name: str
    function: str
    args: tuple[Expr, ...]
    partition: tuple[Expr, ...]
    sort: tuple[Named, ...]
    order: tuple[Order, ...]
    type: DataType


@dataclass(frozen=True)
class Select:
    """A bound SELECT over history. Conditions and terms may name columns of the event.

    With `calls` or `groups` its rows are groups: `having`, `outputs` and `sort` then name columns `_g…` and `_a…`.
    `recalled`: the RECALLs of a CONTEXT, which come first; the select runs for each of their rows.
    """

    sources: tuple[Source, ...]
    where: Expr | None
    subqueries: tuple[Subquery, ...]
    grouped: bool
    groups: tuple[Named, ...]
    calls: tuple[Named, ...]
    having: Expr | None
    outputs: tuple[Named, ...]
    sort: tuple[Named, ...] = ()  # terms of ORDER BY, as columns of their own
    order: tuple[Order, ...] = ()
    limit: int | None = None
    distinct: bool = False
    parameters: frozenset[str] = frozenset()  # columns of the event that it names
    recalled: tuple[Recalled, ...] = ()
    windows: tuple[Windowed, ...] = ()  # window functions in its terms

    @property
    def of_event(self) -> frozenset[str]:
        """Columns of the event that it needs: those that it names, without the recalled ones."""
        named = self.parameters.union(*(recall.select.parameters for recall in self.recalled))
        return named - {column.name for recall in self.recalled for column in recall.columns}

    def selects(self) -> Iterator[Select]:
        """This select, and all inside of it."""
        yield self
        for source in self.sources:
            if source.select is not None:
                yield from source.select.selects()
        for subquery in self.subqueries:
            yield from subquery.select.selects()
        for recall in self.recalled:
            yield from recall.select.selects()

    def own_expressions(self) -> Iterator[Expr]:
        terms = (*self.groups, *self.calls, *self.outputs, *self.sort)
        parts = [self.where, self.having, *(s.on for s in self.sources), *(a.operand for a in self.subqueries)]
        yield from (named.expr for named in terms)
        yield from (part for part in parts if part is not None)
        for window in self.windows:
            yield from (*window.args, *window.partition, *(term.expr for term in window.sort))

    @property
    def numbers(self) -> frozenset[int]:
        """The streams that it reads, by number."""
        return frozenset(s.number for q in self.selects() for s in q.sources if s.is_stream and s.number is not None)

    def whole(self) -> str:
        """Why answers over parts of history do not merge to one over all of it; empty if they do."""
        streams = [source for source in self.sources if source.is_stream]
        if len(streams) > 1:
            return "it joins streams, whose events may lie in different chunks"
        if streams and not self.sources[0].is_stream:
            return "its stream follows a relation in FROM"
        if any(source.select is not None for source in self.sources) or self.subqueries:
            return "it has a select inside"
        if not streams:
            return "it reads no stream"
        if self.limit is not None:
            return "it has a LIMIT"
        if self.windows:
            return f"{self.windows[0].function} OVER rows depends on all of them"
        return self._undivided()

    def in_parts(self) -> bool:
        """Whether its aggregates merge from those of parts."""
        return not self._undivided()

    def _undivided(self) -> str:
        for call in self.calls:
            assert isinstance(call.expr, AggregateCall)
            if call.expr.distinct:
                return f"{call.expr.function}(DISTINCT …) of a whole is not that of its parts"
            if not aggregate_named(call.expr.function).parts(integral=False):
                return f"{call.expr.function} of a whole is not that of its parts"
        return ""


@dataclass(frozen=True)
class Pace:
    """How often revisions are reported, after how many chunks a task waits for feedback, and when it is dropped."""

    report_every: int | None = None
    pause_every: int | None = None
    drop_after: int | None = None


@dataclass(frozen=True)
class Recalled:
    """One RECALL: its columns are `alias.name`. `last`: how far back it looks, in microseconds."""

    alias: str
    select: Select
    last: int | None = None

    @property
    def columns(self) -> tuple[Field, ...]:
        return tuple(Field(f"{self.alias}.{o.name}", o.expr.type) for o in self.select.outputs)

    @property
    def numbers(self) -> frozenset[int]:
        return self.select.numbers

    def expressions(self) -> Iterator[Expr]:
        for select in self.select.selects():
            yield from select.own_expressions()

    @property
    def identity(self) -> tuple[str, ...] | None:
        """Columns that identify a row in the next revision; None if rows are inserted and deleted, never updated."""
        if not self.select.grouped:
            return None
        groups = {g.name for g in self.select.groups}
        keys = [o for o in self.select.outputs if isinstance(o.expr, ColumnRef) and o.expr.name in groups]
        return tuple(f"{self.alias}.{o.name}" for o in keys)

    def label(self) -> str:
        back = f" last {format_duration(self.last)}" if self.last is not None else ""
        terms = {term.name: term.expr for term in (*self.select.groups, *self.select.calls)}

        def spelled(expr: Expr) -> Expr:
            return terms.get(expr.name, expr) if isinstance(expr, ColumnRef) else expr

        shown = (show_named(o.name, o.expr.rewrite(spelled)) for o in self.select.outputs)
        return f"{self.alias}{back}: {', '.join(shown)}"


@dataclass(frozen=True)
class Nearby:
    """A stream whose events around a past event are shown: its number among the `histories`, and its attributes."""

    stream: str
    number: int
    attributes: tuple[Named, ...]


@dataclass(frozen=True)
class Similar:
    """One RECALL SIMILAR: of the past events, number `past` among the `histories`, the `count` whose contexts are most
    like the event's. `shown`: attributes of a past event; `before` and `after`: how far around it `nearby` reaches."""

    alias: str
    columns: tuple[Field, ...]
    count: int
    past: int
    shown: tuple[Named, ...]
    contexts: tuple[Select, ...]
    bandwidths: tuple[tuple[str, float], ...] = ()
    returned: tuple[tuple[str, Select], ...] = ()
    nearby: tuple[Nearby, ...] = ()
    before: int = 0
    after: int = 0
    last: int | None = None

    @property
    def numbers(self) -> frozenset[int]:
        """The streams that it reads, without those of the past events."""
        return frozenset(n.number for n in self.nearby).union(*(select.numbers for select in self.selects()))

    def selects(self) -> tuple[Select, ...]:
        """The selects that run for an event: what is compared, and what is shown."""
        return (*self.contexts, *(select for _, select in self.returned))

    def expressions(self) -> Iterator[Expr]:
        yield from (named.expr for named in self.shown)
        yield from (named.expr for stream in self.nearby for named in stream.attributes)
        for written in self.selects():
            for select in written.selects():
                yield from select.own_expressions()

    @property
    def identity(self) -> tuple[str, ...] | None:
        """A row is identified by its rank, which another past event may take."""
        return (self.columns[0].name,)

    def label(self) -> str:
        back = f" last {format_duration(self.last)}" if self.last is not None else ""
        compared = "; ".join(", ".join(show_named(o.name, o.expr) for o in select.outputs) for select in self.contexts)
        return f"{self.alias}{back}: {self.count} similar by {compared}"


@dataclass(frozen=True)
class Recall(Node):
    """Every row of `input` is an event that is joined with history. Its rows have the user's columns and those of
    revisions: the answer for an event, again whenever more of history is read, or only the last (`final`)."""

    input: Node
    histories: tuple[Node, ...]  # streams and relations that the selects read
    recalls: tuple[Recalled | Similar, ...]
    event_id: tuple[Expr, ...]
    condition: Expr | None
    outputs: tuple[Named, ...]
    revision_columns: tuple[Field, ...]
    final: bool = False
    pace: Pace = field(default_factory=Pace)
    present: tuple[Node, ...] = ()  # relations and windows that a revision is joined with, as they are at that moment
    on: tuple[Expr, ...] = ()  # the condition of each

    @property
    def columns(self) -> tuple[Field, ...]:
        return (*(Field(o.name, o.expr.type) for o in self.outputs), *self.revision_columns)

    @property
    def awaited(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def timed(self) -> tuple[Node, ...]:
        return (self.input, *self.present)

    @property
    def depth(self) -> int:
        # The number of the revision, and the row's place in it.
        return self.input.depth + 2

    def expressions(self) -> tuple[Expr, ...]:
        own = [self.condition] if self.condition is not None else []
        return (*self.event_id, *own, *(o.expr for o in self.outputs), *self.on)

    def needs(self, wanted: frozenset[str]) -> frozenset[str]:
        terms = [*self.expressions(), *(expr for recall in self.recalls for expr in recall.expressions())]
        return frozenset[str]().union(*(term.columns() for term in terms))

    def label(self) -> str:
        recalls = "; ".join(recall.label() for recall in self.recalls)
        where = f" where {show(self.condition)}" if self.condition is not None else ""
        columns = ", ".join(show_named(o.name, o.expr) for o in self.outputs)
        joins = "".join(f" join the present on {show(on)}" for on in self.on)
        return f"Recall{' final' if self.final else ''} [{recalls}]{joins}{where} as [{columns}]"


@dataclass(frozen=True)
class Retained(Node):
    """A window that is read at one moment (ANALYSIS PRESENT), and not with every event.

    Rows of the input that a window holds at a watermark: those younger than `span` microseconds, and of those with
    equal `keys` the last `most`, or the first (`oldest`). None: no such bound."""

    input: Node
    span: int | None = None
    keys: tuple[Expr, ...] = ()
    most: int | None = None
    oldest: bool = False

    @property
    def bounded(self) -> bool:
        return self.span is not None or self.most is not None

    def label(self) -> str:
        return f"Retained: {held_in(self)}"


def held_in(node: Retained) -> str:
    """What the window holds, as text for EXPLAIN."""
    if node.span is not None:
        return f"the events of the last {format_duration(node.span)}"
    if node.most is None:
        return "every event"
    count = "event" if node.most == 1 else f"{node.most} events"
    by = f" for each value of [{', '.join(map(show, node.keys))}]" if node.keys else ""
    return f"the {'first' if node.oldest else 'last'} {count}{by}"
