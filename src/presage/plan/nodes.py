"""Logical plan nodes: the base, and the stateless nodes. Capabilities add nodes of their own.

Every node yields rows with its `columns` and, hidden from the user, the order of events: TIME (microseconds), SEQ
(arrival) and `order`, further columns that distinguish the rows of one event.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Flag, auto
from functools import cached_property, reduce
from operator import or_

from presage.model.time import ALL_TIME, TimeRange, format_timestamp
from presage.model.types import TIMESTAMP, DataType
from presage.plan.display import show, show_named
from presage.plan.expr import ColumnRef, Expr, conjunction, conjuncts, field_names

TIME = "_t"
SEQ = "_seq"
# The time that a row shows, where it is not the time at which the row is emitted (see Stamp).
SHOWN_TIME = "_at"
# Names of internal columns: order, groups of OUTPUT, keys of a shuffle, parts of a Retime.
_OWN = re.compile(r"_(t|seq|at|o\d+|g\d+|key\d+|new|before)", re.IGNORECASE)


# Of a scan: stream, event time, the offsets between which the events arrived, and whether statements emit them.
Extent = tuple[str, TimeRange, int | None, int | None, bool]


def is_own_name(name: str) -> bool:
    return _OWN.fullmatch(name) is not None


def order_columns(depth: int) -> tuple[str, ...]:
    return tuple(f"_o{i}" for i in range(depth))


class Trait(Flag):
    """What planning and deployed statements ask of the nodes of a plan."""

    NONE = 0
    READS_HISTORY = auto()  # it searches history, chunk by chunk
    REVISES = auto()  # its rows depend on when history is read
    LAGS = auto()  # its rows may be emitted after the watermark has passed their time
    LOOKS_BACK = auto()  # it processes past events before its first event
    KEEPS_PAIRS = auto()  # its state holds pairs of events that were joined when they arrived
    PASSES_COLUMNS = auto()  # its rows have all columns of its input
    RUNS_AHEAD = auto()  # its last rows may be later than the last event of the log


def traits_of(plan: Node) -> Trait:
    """The traits of all nodes of a plan."""
    return reduce(or_, (node.traits for node in plan.walk()), Trait.NONE)


def apart(plan: Node) -> Node:
    """A copy of the plan in which every node is an object of its own, to be known by its identity."""
    return replace(plan.map_inputs(apart))


@dataclass(frozen=True)
class Field:
    """A column of a node, by its plan name: `alias.attribute` for attributes, a leading `_` for internal ones."""

    name: str
    type: DataType


@dataclass(frozen=True)
class Named:
    """An expression under a name."""

    name: str
    expr: Expr


@dataclass(frozen=True)
class Node:
    """Base of logical nodes."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        found: list[Node] = []
        for name in field_names(type(self)):
            value = getattr(self, name)
            if isinstance(value, Node):
                found.append(value)
            elif isinstance(value, tuple):
                found.extend(v for v in value if isinstance(v, Node))
        return tuple(found)

    @property
    def columns(self) -> tuple[Field, ...]:
        """Columns that the node yields; most nodes pass on those of their only input."""
        return self.inputs[0].columns

    @property
    def depth(self) -> int:
        """The number of order columns beyond TIME and SEQ; a node that makes several rows of one adds one."""
        return self.inputs[0].depth

    @cached_property
    def order(self) -> tuple[str, ...]:
        return order_columns(self.depth)

    def expressions(self) -> tuple[Expr, ...]:
        """The expressions of this node itself."""
        found: list[Expr] = []
        for name in field_names(type(self)):
            _collect(getattr(self, name), found)
        return tuple(found)

    def kernel_terms(self) -> tuple[Expr, ...]:
        """Terms over several rows, which the kernel computes; they do not refer to columns of the input."""
        return ()

    def map_expressions(self, change: Callable[[Expr], Expr]) -> Node:
        """The same node with its own expressions changed; itself if nothing changed."""
        updates: dict[str, object] = {}
        for name in field_names(type(self)):
            value = getattr(self, name)
            new = _map_expressions(value, change)
            if new is not value:
                updates[name] = new
        return replace(self, **updates) if updates else self

    def absorb(self, condition: Expr) -> Node | None:
        """This node with a filter moved from above it to below it; None where that would change rows."""
        return None

    def release(self) -> tuple[Node, Expr | None]:
        """This node without the condition that it applies itself, and that condition; None if it has none."""
        return self, None

    def needs(self, wanted: frozenset[str]) -> frozenset[str]:
        """Columns of the inputs that are used when `wanted` columns of this node are."""
        return wanted.union(*(e.columns() for e in self.expressions()))

    def narrowed(self, wanted: frozenset[str]) -> Node:
        """This node without those of its own columns that are not wanted."""
        return self

    def map_terms(self, whole: Callable[[Expr], Expr], part: Callable[[Expr], Expr]) -> Node:
        """This node with its constants replaced, for statements that differ in constants alone. `whole` also replaces
        an expression that is a constant itself. Terms over several events stay as they are."""
        prepared = getattr(self, "prepared", None)
        return self if prepared is None else replace(self, prepared=_map_expressions(prepared, part))  # type: ignore[call-arg]

    @property
    def traits(self) -> Trait:
        return Trait.NONE

    @property
    def side_streams(self) -> frozenset[str]:
        """Streams that it reads beside its input, and for whose watermarks a deployed statement waits."""
        return frozenset()

    def label(self) -> str:
        """One line for EXPLAIN."""
        return type(self).__name__

    def column_names(self) -> frozenset[str]:
        return frozenset(c.name for c in self.columns)

    def walk(self) -> Iterator[Node]:
        yield self
        for node in self.inputs:
            yield from node.walk()

    @property
    def awaited(self) -> tuple[Node, ...]:
        """Inputs whose watermark decides when rows are emitted; not those that are only looked up."""
        return self.inputs

    def walk_awaited(self) -> Iterator[Node]:
        yield self
        for node in self.awaited:
            yield from node.walk_awaited()

    @property
    def timed(self) -> tuple[Node, ...]:
        """Inputs whose last events are the final watermark of a bounded query; not history."""
        return self.inputs

    def walk_timed(self) -> Iterator[Node]:
        yield self
        for node in self.timed:
            yield from node.walk_timed()

    def map_inputs(self, change: Callable[[Node], Node]) -> Node:
        """The same node over changed inputs; itself if nothing changed."""
        updates: dict[str, object] = {}
        for name in field_names(type(self)):
            value = getattr(self, name)
            if isinstance(value, Node):
                new: object = change(value)
                if new is not value:
                    updates[name] = new
            elif isinstance(value, tuple) and any(isinstance(v, Node) for v in value):
                items = tuple(change(v) if isinstance(v, Node) else v for v in value)
                if any(a is not b for a, b in zip(items, value, strict=True)):
                    updates[name] = items
        return replace(self, **updates) if updates else self

    def is_own_time(self, column: str) -> bool:
        """Whether the column always holds the row's own TIME."""
        return False

    def rewrite(self, change: Callable[[Node], Node]) -> Node:
        """Bottom-up rewriting of the whole plan."""
        return change(self.map_inputs(lambda node: node.rewrite(change)))


def _collect(value: object, found: list[Expr]) -> None:
    if isinstance(value, Expr):
        found.append(value)
    elif isinstance(value, Named):
        found.append(value.expr)
    elif isinstance(value, tuple):
        for item in value:
            _collect(item, found)


def _map_expressions(value: object, change: Callable[[Expr], Expr]) -> object:
    if isinstance(value, Expr):
        return change(value)
    if isinstance(value, Named):
        new = change(value.expr)
        return value if new is value.expr else Named(value.name, new)
    if isinstance(value, tuple):
        items = tuple(_map_expressions(v, change) for v in value)
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    return value


@dataclass(frozen=True)
class Scan(Node):
    """Events of one stream in a range of event time, as columns `alias.attribute`."""

    stream: str
    alias: str
    fields: tuple[Field, ...]
    attributes: tuple[str, ...]  # names in the archive, parallel to `fields`
    time: TimeRange = ALL_TIME
    event_time: str | None = None  # the attribute that holds the event's own time
    after: int | None = None  # only events that arrived after this offset
    until: int | None = None  # and not after this one
    # The rows that deployed statements emit for a derived stream: SEQ is the event that caused the row, the order
    # columns are the statement's number and the row's place among those of its event.
    made: bool = False

    @cached_property
    def extent(self) -> Extent:
        """The events that are read; scans of equal extent differ in names and attributes only."""
        return self.stream, self.time, self.after, self.until, self.made

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.fields

    @property
    def depth(self) -> int:
        return 2 if self.made else 0

    def narrowed(self, wanted: frozenset[str]) -> Node:
        return _without_others(self, wanted)

    def is_own_time(self, column: str) -> bool:
        found = zip(self.fields, self.attributes, strict=True)
        return any(field.name == column and name == self.event_time for field, name in found)

    def label(self) -> str:
        bounds = " as statements make it" if self.made else ""
        if self.time != ALL_TIME:
            low = format_timestamp(self.time.low) if self.time.low is not None else ""
            high = format_timestamp(self.time.high) if self.time.high is not None else ""
            bounds += f" within [{low}, {high})"
        if self.after is not None:
            bounds += f" after position {self.after}"
        if self.until is not None:
            bounds += f" up to position {self.until}"
        return f"Scan {self.stream} as {self.alias} [{', '.join(self.attributes)}]{bounds}"


@dataclass(frozen=True)
class RelationScan(Node):
    """Rows of a relation, as columns `alias.attribute`; it has no time and triggers no row."""

    relation: str
    alias: str
    fields: tuple[Field, ...]
    attributes: tuple[str, ...]

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.fields

    @property
    def depth(self) -> int:
        return 0

    def narrowed(self, wanted: frozenset[str]) -> Node:
        return _without_others(self, wanted)

    def label(self) -> str:
        return f"Relation {self.relation} as {self.alias} [{', '.join(self.attributes)}]"


def _without_others(node: Scan | RelationScan, wanted: frozenset[str]) -> Node:
    kept = [(f, a) for f, a in zip(node.fields, node.attributes, strict=True) if f.name in wanted]
    return replace(node, fields=tuple(f for f, _ in kept), attributes=tuple(a for _, a in kept))


@dataclass(frozen=True)
class RelationJoin(Node):
    """Every row of the input joined with the rows of a relation that satisfy `condition`: stateless, native."""

    input: Node
    relation: RelationScan
    condition: Expr | None

    @property
    def columns(self) -> tuple[Field, ...]:
        return (*self.input.columns, *self.relation.columns)

    def release(self) -> tuple[Node, Expr | None]:
        return replace(self, condition=None), self.condition

    def absorb(self, condition: Expr) -> Node:
        if condition.columns() <= self.input.column_names():
            return replace(self, input=Filter(self.input, condition))
        return replace(self, condition=conjunction([*conjuncts(self.condition), condition]))

    def is_own_time(self, column: str) -> bool:
        return column in self.input.column_names() and self.input.is_own_time(column)

    def label(self) -> str:
        return f"RelationJoin{' on ' + show(self.condition) if self.condition is not None else ''}"

    @property
    def depth(self) -> int:
        return self.input.depth + 1


@dataclass(frozen=True)
class Merge(Node):
    """Events of several inputs with the same columns as one stream: FROM a type that streams inherit, or that
    statements fill.

    `ranks` is parallel to `sources`: 0 for archived events, another number for each statement. Rows of statements come
    after the event that caused them, in the order of the ranks; two items of FROM see a row at the same moment only if
    it is the same row.
    """

    sources: tuple[Node, ...]
    alias: str
    fields: tuple[Field, ...]
    ranks: tuple[int, ...]

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.fields

    @property
    def depth(self) -> int:
        # The rank, then the order of the deepest input; that of the others is padded with zeros.
        return max((s.depth for s in self.sources), default=0) + 1

    def absorb(self, condition: Expr) -> Node:
        return replace(self, sources=tuple(Filter(s, condition) for s in self.sources))

    def narrowed(self, wanted: frozenset[str]) -> Node:
        return replace(self, fields=tuple(f for f in self.fields if f.name in wanted))

    def is_own_time(self, column: str) -> bool:
        return all(source.is_own_time(column) for source in self.sources)

    def label(self) -> str:
        return f"Merge [{', '.join(f.name for f in self.fields)}]"


@dataclass(frozen=True)
class Filter(Node):
    input: Node
    condition: Expr

    def map_terms(self, whole: Callable[[Expr], Expr], part: Callable[[Expr], Expr]) -> Node:
        return self.map_expressions(whole)

    @property
    def traits(self) -> Trait:
        return Trait.PASSES_COLUMNS

    def is_own_time(self, column: str) -> bool:
        return self.input.is_own_time(column)

    def label(self) -> str:
        return f"Filter {show(self.condition)}"


@dataclass(frozen=True)
class Project(Node):
    """New columns from old ones; time and order pass through."""

    input: Node
    outputs: tuple[Named, ...]

    def map_terms(self, whole: Callable[[Expr], Expr], part: Callable[[Expr], Expr]) -> Node:
        return self.map_expressions(whole)

    @property
    def columns(self) -> tuple[Field, ...]:
        return tuple(Field(o.name, o.expr.type) for o in self.outputs)

    def absorb(self, condition: Expr) -> Node:
        by_name = {o.name: o.expr for o in self.outputs}

        def inline(e: Expr) -> Expr:
            return by_name.get(e.name, e) if isinstance(e, ColumnRef) else e

        return replace(self, input=Filter(self.input, condition.rewrite(inline)))

    def needs(self, wanted: frozenset[str]) -> frozenset[str]:
        return frozenset[str]().union(*(o.expr.columns() for o in self.outputs))

    def narrowed(self, wanted: frozenset[str]) -> Node:
        return replace(self, outputs=tuple(o for o in self.outputs if o.name in wanted))

    def is_own_time(self, column: str) -> bool:
        expr = next(o.expr for o in self.outputs if o.name == column)
        return isinstance(expr, ColumnRef) and self.input.is_own_time(expr.name)

    def label(self) -> str:
        return f"Project [{', '.join(show_named(o.name, o.expr) for o in self.outputs)}]"


@dataclass(frozen=True)
class Retime(Node):
    """Rows of a statement become events at the time in `column`; a row more than `max_delay` before the greatest time
    so far is late, and dropped. The statement's watermark stops at `upper`, if it has an upper bound."""

    input: Node
    column: str
    max_delay: int = 0
    upper: int | None = None

    @property
    def depth(self) -> int:
        # The time of emission becomes the first order column: it is the arrival order of the new events.
        return self.input.depth + 1

    @property
    def traits(self) -> Trait:
        return Trait.RUNS_AHEAD

    def needs(self, wanted: frozenset[str]) -> frozenset[str]:
        return wanted | {self.column}

    def label(self) -> str:
        return f"Retime by {self.column}"


@dataclass(frozen=True)
class Stamp(Node):
    """Adds the column `at`: the event time at which the row was emitted. `upper`: as in Retime. `shown`: the column
    with this time if it is not TIME: a match that only the end of input completes has the time of its last event.

    A filter moves below it, into the statement of a derived stream, only where rows are not numbered (two items of FROM
    that read the same rows must number them alike) and what it drops does not decide where the query's clock stops.
    """

    input: Node
    upper: int | None = None
    shown: str = TIME

    @property
    def traits(self) -> Trait:
        return Trait.PASSES_COLUMNS | (Trait.NONE if self.upper is None else Trait.RUNS_AHEAD)

    @property
    def columns(self) -> tuple[Field, ...]:
        return (*(c for c in self.input.columns if c.name != self.shown), Field("at", TIMESTAMP))

    def needs(self, wanted: frozenset[str]) -> frozenset[str]:
        return wanted | ({self.shown} - {TIME})

    def absorb(self, condition: Expr) -> Node | None:
        # The emission time is known here, not in every node below.
        if self.input.depth or condition.columns() & {"at", TIME} or Trait.RUNS_AHEAD in traits_of(self):
            return None
        return replace(self, input=Filter(self.input, condition))

    def is_own_time(self, column: str) -> bool:
        return column == "at" or self.input.is_own_time(column)

    def label(self) -> str:
        return "Stamp [at]"
