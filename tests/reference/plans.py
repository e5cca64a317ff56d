"""The slow, obvious interpreter of logical plans: a plan and a world of events in, its rows as dicts out, in order.

Written from the language's description. Each node is evaluated on its own over all rows of its inputs; windows, joins,
DISTINCT and OUTPUT go through the twins of their kernels. A partition that a rule found is taken at its word: every key
is evaluated alone, as if on a machine of its own, so that a wrong key gives wrong rows here too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from presage.model.time import TimeRange
from presage.model.types import BOOLEAN
from presage.operators.windows.kernel import spec
from presage.operators.windows.kernel.join import JoinSource
from presage.operators.windows.nodes import (
    Aggregate,
    Distinct,
    Output,
    WindowDef,
    Windowed,
    WindowJoin,
)
from presage.plan.expr import AggregateCall, Constant, Expr, InRelation
from presage.plan.nodes import (
    SEQ,
    TIME,
    Filter,
    Merge,
    Node,
    Project,
    RelationJoin,
    RelationScan,
    Retime,
    Scan,
    Stamp,
    order_columns,
)
from reference.distinct_rows import deep, distinct_rows
from reference.expressions import equal
from reference.expressions import evaluate as value_of
from reference.output_rate import output_rows
from reference.window_aggregates import apply, batch_rows, by_key, changelog_rows, sliding_rows
from reference.window_joins import join_windows

Row = dict[str, Any]
BEFORE_ALL = -(2**62)


@dataclass(frozen=True)
class World:
    """`streams`: events with `_t`, `_seq` and attributes; `relations`: rows by attribute, in their order."""

    streams: Mapping[str, list[Row]]
    relations: Mapping[str, list[Row]] = field(default_factory=dict)


def evaluate(node: Node, world: World, clock: int | None = None, silence: int = BEFORE_ALL) -> list[Row]:
    """The rows of a whole query. Its clock stops at `clock`, the upper bound of WITHIN, else at the last event.

    `silence`: that nothing more comes is known up to this time, so a clock without bound goes on to it.
    """
    times = [e[TIME] for n in node.walk() if isinstance(n, Scan) for e in world.streams[n.stream] if read_by(n, e)]
    last = max([silence, *times])
    own = last if clock is None else clock
    interpreter = _Interpreter(world, own, max(last, own))
    if isinstance(node, Stamp):
        return [{**row, "at": row[TIME]} for row in interpreter.statement(node.input, clock)]
    return interpreter.statement(node, clock)


def inside(event: Row, time: TimeRange) -> bool:
    return (time.low is None or event[TIME] >= time.low) and (time.high is None or event[TIME] < time.high)


def read_by(scan: Scan, event: Row) -> bool:
    """Whether a scan sees an event: by its time, and by its arrival where the scan begins or ends at a position."""
    arrived = (scan.after or 0) < event[SEQ] <= (2**62 if scan.until is None else scan.until)
    return arrived and inside(event, scan.time)


@dataclass(frozen=True)
class _Interpreter:
    """`clock` is that of the statement at hand, `inner` that of the statements whose derived streams it reads."""

    world: World
    clock: int
    inner: int

    def rows(self, node: Node) -> list[Row]:
        """The node's rows in order; no two may claim the same place."""
        made = EVALUATORS[type(node)](self, node)
        placed = {place(row, node.order): row for row in made}
        assert len(placed) == len(made), f"rows of {node.label()} share a place"
        return [placed[p] for p in sorted(placed)]

    def value(self, expr: Expr, row: Row) -> Any:
        def settle(x: Expr) -> Expr:
            return Constant(BOOLEAN, self.is_member(x, row)) if isinstance(x, InRelation) else x

        return value_of(expr.rewrite(settle) if speaks_of_relations(expr) else expr, row)

    def is_member(self, expr: InRelation, row: Row) -> bool:
        terms = [(name, self.value(arg, row)) for name, arg in zip(expr.attributes, expr.args, strict=True)]
        return any(all(equal(r[name], value) for name, value in terms) for r in self.world.relations[expr.relation])

    def holds(self, conditions: Iterable[Expr], row: Row) -> bool:
        return all(self.value(c, row) is True for c in conditions)

    def statement(self, node: Node, upper: int | None) -> list[Row]:
        """The rows of a statement, which ends at its upper bound, or at the last event of all that it reads: a derived
        stream may bring one past the last one of the archive, which nothing else in the statement needs to see."""
        if upper is not None:
            return self.rows(node)
        times = [row[TIME] for stream in derived(node) for row in self.rows(stream)]
        return _Interpreter(self.world, max([self.clock, *times]), self.inner).rows(node)

    def other(self, node: Node, upper: int | None) -> list[Row]:
        """The rows of another statement, which ends at its own upper bound or goes on as long as time is known."""
        clock = self.inner if upper is None else upper
        return _Interpreter(self.world, clock, self.inner).statement(node, upper)

    def clock_after(self, rows: list[Row]) -> int:
        """The end of input may close a window whose end is later: time is known up to it."""
        return max([self.clock, *(r[TIME] for r in rows)])

    # -- stateless ----------------------------------------------------------------------------------

    def scan(self, node: Scan) -> list[Row]:
        return [
            {TIME: e[TIME], SEQ: e[SEQ], **{f.name: e[a] for f, a in zip(node.fields, node.attributes, strict=True)}}
            for e in self.world.streams[node.stream]
            if read_by(node, e)
        ]

    def relation(self, node: RelationScan) -> list[Row]:
        """In their order, without a place: a relation has no time."""
        rows = self.world.relations[node.relation]
        return [{f.name: r[a] for f, a in zip(node.fields, node.attributes, strict=True)} for r in rows]

    def merge(self, node: Merge) -> list[Row]:
        made = []
        for rank, source in zip(node.ranks, node.sources, strict=True):
            for row in self.rows(source):
                places = (rank, *(row.get(o, 0) for o in order_columns(node.depth - 1)))
                order = dict(zip(node.order, places, strict=True))
                made.append({TIME: row[TIME], SEQ: row[SEQ], **order, **{f.name: row[f.name] for f in node.fields}})
        return made

    def filter(self, node: Filter) -> list[Row]:
        return [row for row in self.rows(node.input) if self.holds([node.condition], row)]

    def project(self, node: Project) -> list[Row]:
        rows = self.rows(node.input)
        return [
            {**place_of(row, node.order), **{o.name: self.value(o.expr, row) for o in node.outputs}} for row in rows
        ]

    def stamp(self, node: Stamp) -> list[Row]:
        return [{**row, "at": row[TIME]} for row in self.other(node.input, node.upper)]

    def retime(self, node: Retime) -> list[Row]:
        made: list[Row] = []
        greatest = BEFORE_ALL
        for row in self.other(node.input, node.upper):
            time = row[node.column]
            if time is None:
                continue
            if time >= greatest - node.max_delay:
                order = (row[TIME], *(row[o] for o in node.input.order))
                values = {c.name: row[c.name] for c in node.columns}
                made.append({TIME: time, SEQ: row[SEQ], **dict(zip(node.order, order, strict=True)), **values})
            greatest = max(greatest, time)
        return made

    # -- windows ------------------------------------------------------------------------------------

    def windowed(self, node: Windowed) -> list[Row]:
        """A window that nobody looks into."""
        assert node.window.kind in ("keepall", "time", "length", "unique", "lastevent"), (
            "this window drops or delays rows"
        )
        return self.rows(node.input)

    def aggregate(self, node: Aggregate) -> list[Row]:
        conditions, below = peel(node.input)
        if isinstance(below, WindowJoin):
            changes = [c for c in self.tuples(below, changelog=True) if self.holds(conditions, c)]
            parts = self.split(changes, node.partition)
            return [row for part in parts for row in self.aggregate_join(node, below, part)]
        window = below.window if isinstance(below, Windowed) else WindowDef("none")
        source = below.input if isinstance(below, Windowed) else below
        events = self.rows(source)
        clock = self.clock_after(events)
        parts = self.split(events, node.partition)
        return [row for part in parts for row in self.aggregate_window(node, window, conditions, part, clock)]

    def aggregate_window(
        self, node: Aggregate, window: WindowDef, conditions: list[Expr], events: list[Row], clock: int
    ) -> list[Row]:
        order = order_columns(node.input.depth)
        prepared = [{**e, **self.arguments(node, e), spec.PASS: self.holds(conditions, e)} for e in events]
        kernel_window = self.prepare_window(window, prepared)
        groups, calls = names_of(node)
        if window.is_batch:
            carry = node.carry or (() if node.row_per == "batch" else (TIME,))
            made = batch_rows(
                kernel_window, groups, bool(groups) or node.row_per == "window", calls, carry, order, prepared, clock
            )
            columns = [
                TIME,
                SEQ,
                *node.order,
                *("" if not node.carry else c for c in carry),
                *(c.output for c in calls),
            ]
        else:
            made = sliding_rows(kernel_window, groups, calls, node.carry, order, prepared)
            columns = [TIME, SEQ, *order, *node.carry, *(c.output for c in calls)]
        return [without(dict(zip(columns, row, strict=True)), "") for row in made]

    def aggregate_join(self, node: Aggregate, join: WindowJoin, changes: list[Row]) -> list[Row]:
        prepared = [{**c, **self.arguments(node, c)} for c in changes]
        groups, calls = names_of(node)
        order = order_columns(join.depth - 1)
        if node.at_end:
            return self.aggregate_held(node, prepared)
        # A row is as early as the first tuple of its group in the step; that tuple's ordinal is its place.
        made = changelog_rows(groups, bool(groups), calls, node.carry, order, ("_id",), prepared)
        columns = [TIME, SEQ, *order, node.order[-1], *node.carry, *(c.output for c in calls)]
        return [dict(zip(columns, row, strict=True)) for row in made]

    def aggregate_held(self, node: Aggregate, changes: list[Row]) -> list[Row]:
        """OUTPUT SNAPSHOT: what has entered and not left, at the end of input."""
        groups, calls = names_of(node)
        held: dict[str, Row] = {}
        for change in changes:
            if change[spec.CHANGE] > 0:
                held[change["_id"]] = change
            else:
                del held[change["_id"]]
        live = list(held.values())
        parts = by_key(live, groups) if groups or node.row_per == "batch" else [[row] for row in live]
        clock = self.clock_after(changes)
        rows = []
        for number, part in enumerate(parts):
            members = part if groups or node.row_per == "batch" else live
            place = {TIME: clock, SEQ: spec.ENDED, **dict.fromkeys(node.order, 0), node.order[-1]: number}
            values = {call.output: apply(call, members) for call in calls}
            rows.append({**place, **{name: part[-1][name] for name in node.carry}, **values})
        return rows

    def arguments(self, node: Aggregate, row: Row) -> Row:
        calls = {f"_x{i}": a.expr.arg for i, a in enumerate(node.aggregates) if isinstance(a.expr, AggregateCall)}
        values = {name: self.value(arg, row) for name, arg in calls.items() if arg is not None}
        return {**values, **{g.name: self.value(g.expr, row) for g in node.group_by}}

    def prepare_window(self, window: WindowDef, rows: list[Row]) -> spec.Window:
        """The window over columns, which are added to the rows."""
        by = tuple(f"_by{i}" for i in range(len(window.by)))
        group = tuple(f"_in{i}" for i in range(len(window.group)))
        for row in rows:
            added = {n: self.value(x, row) for n, x in zip((*by, *group), (*window.by, *window.group), strict=True)}
            row.update(added)
        return spec.Window(window.kind, window.size, by, group, "", window.offset, window.slide)

    def split(self, rows: list[Row], key: Sequence[Expr]) -> list[list[Row]]:
        parts: dict[Any, list[Row]] = {}
        for row in rows:
            parts.setdefault(tuple(deep(self.value(k, row)) for k in key), []).append(row)
        return list(parts.values())

    # -- joins --------------------------------------------------------------------------------------

    def join(self, node: WindowJoin) -> list[Row]:
        columns = [TIME, SEQ, *node.order, *(c.name for c in node.columns)]
        return [{c: row[c] for c in columns} for row in self.tuples(node, changelog=False)]

    def tuples(self, node: WindowJoin, changelog: bool) -> list[Row]:
        """The tuples of the join, or their coming and going; `_id` tells them apart."""
        order = order_columns(node.depth - 1)
        sources: list[JoinSource] = []
        events: list[Row] = []
        for number, source in enumerate(node.sources):
            identity = f"_id{number}"
            columns = (*(c.name for c in source.columns), identity)
            if isinstance(source, RelationScan):
                rows = [{**r, identity: i} for i, r in enumerate(self.relation(source))]
                sources.append(JoinSource(spec.Window("none"), columns, _Static(rows)))  # type: ignore[arg-type]
                continue
            conditions, below = peel(source)
            window = below.window if isinstance(below, Windowed) else WindowDef("none")
            rows = self.rows(below.input if isinstance(below, Windowed) else below)
            rows = [
                {**r, identity: i, spec.PASS: self.holds(conditions, r), spec.SOURCE: number}
                for i, r in enumerate(rows)
            ]
            for row in rows:
                row.update({o: row.get(o, 0) for o in order})
            sources.append(JoinSource(self.prepare_window(window, rows), columns))
            events += rows
        clock = self.clock_after(events)
        keys = node.partition or tuple(() for _ in node.sources)
        parts: dict[Any, list[Row]] = {}
        for event in sorted(events, key=lambda e: place(e, order)):
            key = tuple(deep(self.value(k, event)) for k in keys[event[spec.SOURCE]])
            parts.setdefault(key, []).append(event)
        made = [r for part in parts.values() for r in join_windows(tuple(sources), (), changelog, order, part, clock)]
        conditions = [] if node.condition is None else [node.condition]
        made = [self.named(row, node) for row in made if self.holds(conditions, row)]
        if not changelog:
            return made
        # Leaving tuples of several partitions may share a place: their order means nothing.
        assert all(a[spec.CHANGE] < 0 for a in shared_places(made, node.order)), "tuples of one step share a place"
        return sorted(made, key=lambda r: (place(r, node.order), r[spec.CHANGE]))

    def named(self, row: Row, node: WindowJoin) -> Row:
        identity = tuple(row[f"_id{i}"] for i in range(len(node.sources)))
        return {**row, node.order[-1]: row[spec.ORDINAL], "_id": str(identity)}

    def relation_join(self, node: RelationJoin) -> list[Row]:
        conditions = [] if node.condition is None else [node.condition]
        made = [
            {**row, **other, node.order[-1]: number}
            for row in self.rows(node.input)
            for number, other in enumerate(self.relation(node.relation))
        ]
        return [row for row in made if self.holds(conditions, row)]

    # -- rates --------------------------------------------------------------------------------------

    def distinct(self, node: Distinct) -> list[Row]:
        columns = (TIME, SEQ, *node.order, *(c.name for c in node.columns))
        return distinct_rows(node.by, columns, self.rows(node.input))

    def output(self, node: Output) -> list[Row]:
        rows = self.rows(node.input)
        columns = tuple(c.name for c in node.columns)
        order, ordinal = order_columns(node.input.depth), node.order[-1]
        clock = self.clock_after(rows)
        return output_rows(node.mode, node.every, node.by, columns, order, ordinal, rows, clock, True)


@dataclass(frozen=True)
class _Static:
    """A relation's rows, as the twin of joins asks for them."""

    rows: list[Row]

    def to_pylist(self) -> list[Row]:
        return self.rows


def speaks_of_relations(expr: Expr) -> bool:
    return any(isinstance(x, InRelation) for x in expr.walk())


def place(row: Row, order: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(row[name] for name in (TIME, SEQ, *order))


def place_of(row: Row, order: tuple[str, ...]) -> Row:
    return {name: row[name] for name in (TIME, SEQ, *order)}


def shared_places(rows: list[Row], order: tuple[str, ...]) -> list[Row]:
    places = [place(row, order) for row in rows]
    return [row for row, p in zip(rows, places, strict=True) if places.count(p) > 1]


def derived(node: Node) -> list[Node]:
    """The derived streams that a statement reads."""
    if isinstance(node, Stamp | Retime):
        return [node]
    return [stream for below in node.inputs for stream in derived(below)]


def peel(node: Node) -> tuple[list[Expr], Node]:
    """Conditions that stand above a window or a join, and what they stand on."""
    conditions: list[Expr] = []
    below = node
    while isinstance(below, Filter):
        conditions.insert(0, below.condition)
        below = below.input
    return (conditions, below) if isinstance(below, Windowed | WindowJoin) else ([], node)


def names_of(node: Aggregate) -> tuple[tuple[str, ...], tuple[spec.Aggregate, ...]]:
    calls = []
    for i, named in enumerate(node.aggregates):
        assert isinstance(named.expr, AggregateCall)
        column = None if named.expr.arg is None else f"_x{i}"
        call = named.expr
        calls.append(spec.Aggregate(call.function, column, named.name, call.distinct, constants=call.constants))
    return tuple(g.name for g in node.group_by), tuple(calls)


def without(row: Row, name: str) -> Row:
    return {n: v for n, v in row.items() if n != name}


EVALUATORS: dict[type[Node], Callable[[_Interpreter, Any], list[Row]]] = {
    Scan: _Interpreter.scan,
    Merge: _Interpreter.merge,
    Filter: _Interpreter.filter,
    Project: _Interpreter.project,
    Stamp: _Interpreter.stamp,
    Retime: _Interpreter.retime,
    Windowed: _Interpreter.windowed,
    Aggregate: _Interpreter.aggregate,
    WindowJoin: _Interpreter.join,
    RelationJoin: _Interpreter.relation_join,
    Distinct: _Interpreter.distinct,
    Output: _Interpreter.output,
}
