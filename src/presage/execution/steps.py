"""The step driver: a logical plan and the events of one step in, rows and the next state out. On Arrow, without Spark.

A standing statement's plan runs here, batch by batch, with the kernels of the batch driver. Rooms bring the operators
of their own nodes. A node yields rows and a clock: no row that it yields later has a time before that clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from presage.columnar.cancellation import check_cancelled
from presage.columnar.evaluate import Evaluator
from presage.columnar.join import join_rows
from presage.columnar.key_hashes import shards_of
from presage.columnar.processing_order import sorted_table
from presage.errors import error
from presage.execution.stage import Kernel
from presage.execution.watermark_buffer import HoldKernel, RetimeKernel
from presage.model.arrow import to_arrow
from presage.model.operator_state import State
from presage.plan.expr import Expr, InRelation, conjunction, conjuncts
from presage.plan.nodes import (
    SEQ,
    TIME,
    Field,
    Filter,
    Merge,
    Named,
    Node,
    Project,
    RelationJoin,
    RelationScan,
    Retime,
    Scan,
    Stamp,
    order_columns,
)

MOMENT = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class Rows:
    """What a node yields in one step: TIME, SEQ, its order columns, its columns."""

    table: pa.Table
    clock: int


@dataclass
class Book:
    """The states of a plan's kernels, by the place of the node; `changed` are those that this step wrote."""

    states: dict[str, State] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)

    def put(self, place: str, state: State) -> None:
        self.states[place] = state
        self.changed.add(place)


@dataclass(frozen=True)
class StepContext:
    """What a plan needs for one step. `clock` is the statement's, `inner_clock` that of the statements behind derived
    streams, which end at their own upper bounds; `end`: no more input will come.

    `read` gives the events that a scan releases in this step, TIME as integer; `ahead` those that are there and lie
    beyond the clock, None if nobody looks at them. `places` numbers the plan's nodes; `compiled` keeps what a room
    makes of a node from step to step. `shard` of `shards`: the part of the keys to do.
    """

    read: Callable[[Scan], pa.Table]
    evaluator: Evaluator
    relations: Mapping[str, pa.Table]
    operators: Mapping[type[Node], Callable[..., Rows]]
    places: Mapping[int, int]
    book: Book
    clock: int
    inner_clock: int
    upper: int | None = None
    end: bool = False
    shard: int = 0
    shards: int = 1
    compiled: dict[Any, Any] = field(default_factory=dict)
    # What RECALL asks of the archive, and what users have said of its events.
    histories: Callable[[Any], Any] | None = None
    said: Sequence[Any] = ()
    # Lets a thread read history while batches go on; without it, the step waits.
    later: Callable[[Callable[[], Any]], Any] | None = None
    # Rows of a scan that a filter above it keeps, where an index of many statements has found them already.
    matched: Mapping[int, np.ndarray] = field(default_factory=dict)
    ahead: Callable[[Scan], pa.Table] | None = None

    def foresight(self) -> StepContext | None:
        """For the step that would follow, and be the last, if nothing came but what is there; nothing of it is kept."""
        if self.ahead is None or self.end:
            return None
        return replace(self, read=self.ahead, ahead=None, book=Book(dict(self.book.states)), matched={}, end=True)

    def inner(self, upper: int | None) -> StepContext:
        """For the statement behind a derived stream."""
        if self.end:
            # Its clock goes on to its own bound, as in a bounded query.
            return replace(self, clock=self.inner_clock if upper is None else upper, upper=upper)
        # Not when it is reached: where the bound is included, events of that very time may still come.
        ended = upper is not None and self.inner_clock > upper
        clock = self.inner_clock if upper is None else min(self.inner_clock, upper)
        return replace(self, clock=clock, upper=upper, end=ended)

    def once(self, node: Node, make: Callable[[], Any]) -> Any:
        """What `make` gives for a node, made in the first step and kept."""
        place = self.places[id(node)]
        if place not in self.compiled:
            self.compiled[place] = make()
        return self.compiled[place]

    def step(
        self,
        node: Node,
        kernel: Kernel,
        rows: pa.Table,
        sort: Sequence[str],
        clock: int,
        part: str = "",
        keys: Sequence[str] = (),
    ) -> pa.Table:
        """Let a kernel of a node take in the rows."""
        rows = self.share(rows, sort, keys)
        place = f"{self.places[id(node)]}{part}"
        state = self.book.states.get(place)
        if self.end and rows.num_rows:
            # A statement that ends may bring an event past its clock: time is known up to it.
            clock = max(clock, int(rows[TIME][-1].as_py()))
        after, made = kernel.step(state or kernel.initial(), rows, clock, self.end)
        self.book.put(place, after)
        return made

    def share(self, rows: pa.Table, sort: Sequence[str], keys: Sequence[str]) -> pa.Table:
        """The rows whose keys are to be done here, in order."""
        if self.shards > 1:
            rows = rows.filter(pa.array(shards_of(rows, keys, self.shards) == self.shard))
        return sorted_table(rows, sort)

    def hold(self, node: Node, rows: Rows, clock: int, part: str) -> Rows:
        """The rows that are due at a clock which is behind their own; the others wait."""
        place = f"{self.places[id(node)]}{part}"
        waiting = place in self.book.states and self.book.states[place].rows()
        if not waiting and (not rows.table.num_rows or rows.table[TIME].to_numpy().max() <= clock):
            return Rows(rows.table, clock)
        state = self.book.states.get(place) or HoldKernel().initial()
        after, due = HoldKernel().step(state, rows.table, clock, self.end)
        self.book.put(place, after)
        return Rows(due, clock)


def run(node: Node, context: StepContext) -> Rows:
    """The rows of a node in this step."""
    check_cancelled()
    operator = OPERATORS.get(type(node)) or context.operators.get(type(node))
    if operator is None:
        raise error("INTERNAL", what=f"no operator for the plan node {type(node).__name__}")
    return operator(node, context)


def run_root(node: Node, context: StepContext) -> Rows:
    """The rows of a whole statement; its own Stamp does not begin an inner one."""
    if isinstance(node, Stamp):
        rows = run(node.input, context)
        return Rows(_stamped(rows.table, node), rows.clock)
    return run(node, context)


def schema_of(fields: Sequence[Field], order: Sequence[str] = ()) -> pa.Schema:
    """The Arrow schema of a node's rows."""
    own = [(name, pa.int64()) for name in (TIME, SEQ, *order)]
    return pa.schema([*own, *((f.name, to_arrow(f.type)) for f in fields)])


def aligned(node: Node, parts: Sequence[Rows], context: StepContext) -> tuple[list[pa.Table], int]:
    """Rows of several inputs up to the clock that all of them have reached."""
    clock = min((part.clock for part in parts), default=context.clock)
    return [context.hold(node, part, clock, f"h{i}").table for i, part in enumerate(parts)], clock


def with_columns(table: pa.Table, named: Mapping[str, pa.Array]) -> pa.Table:
    for name, array in named.items():
        table = table.append_column(name, array)
    return table


def full(value: int, rows: int) -> pa.Array:
    return pa.array(np.full(rows, value, np.int64))


def evaluated(exprs: Mapping[str, Expr], table: pa.Table, context: StepContext) -> dict[str, pa.Array]:
    """Expressions by name -> columns by name."""
    return dict(zip(exprs, context.evaluator.columns(list(exprs.values()), table), strict=True))


def prepared_columns(named: Sequence[Named], table: pa.Table, context: StepContext) -> dict[str, pa.Array]:
    """What a kernel wants to know of single rows, by name and in exactly its type."""
    made = evaluated({n.name: n.expr for n in named}, table, context)
    return {n.name: made[n.name].cast(to_arrow(n.expr.type)) for n in named}


def united(parts: Sequence[pa.Table]) -> pa.Table:
    """Rows of several sources as one table; columns that a source does not have are null in its rows."""
    types = {f.name: f.type for part in parts for f in part.schema}

    def column(part: pa.Table, name: str) -> pa.Array | pa.ChunkedArray:
        return part[name] if name in part.column_names else pa.nulls(part.num_rows, types[name])

    return pa.concat_tables([pa.table({name: column(part, name) for name in types}) for part in parts])


def _run_scan(node: Scan, context: StepContext) -> Rows:
    return Rows(context.read(node), context.clock)


def relation_rows(node: RelationScan, relations: Mapping[str, pa.Table]) -> pa.Table:
    """The rows of a relation under the names of the plan, and their number as `_row`."""
    table = relations[node.relation]
    chosen = {f.name: table[a] for f, a in zip(node.fields, node.attributes, strict=True)}
    chosen["_row"] = pa.array(range(table.num_rows), pa.int64())
    return pa.table(chosen).combine_chunks()


def _run_relation(node: RelationScan, context: StepContext) -> Rows:
    """The relation's rows with their number as `_row`."""
    return Rows(relation_rows(node, context.relations), context.clock)


def _run_relation_join(node: RelationJoin, context: StepContext) -> Rows:
    """Each row beside the rows of the relation that satisfy the condition."""
    rows = run(node.input, context)
    relation = run(node.relation, context).table
    left, right = join_rows(node.condition, rows.table, relation, context.evaluator)
    ours, theirs = rows.table.take(pa.array(left)), relation.take(pa.array(right))
    columns = {name: ours[name] for name in (TIME, SEQ, *node.input.order)}
    columns[node.order[-1]] = theirs["_row"]
    columns |= {c.name: ours[c.name] for c in node.input.columns}
    columns |= {c.name: theirs[c.name] for c in node.relation.columns}
    schema = schema_of(node.columns, node.order)
    return Rows(pa.table(columns).select(schema.names).cast(schema), rows.clock)


def _run_filter(node: Filter, context: StepContext) -> Rows:
    rows = run(node.input, context)
    found = context.matched.get(context.places[id(node)]) if context.matched else None
    if found is not None:
        return Rows(rows.table.take(pa.array(found)), rows.clock)
    if not rows.table.num_rows:
        return rows
    table = rows.table
    for condition in context.once(node, lambda: _cheapest_first(node.condition)):
        keep = context.evaluator.mask(condition, table)
        table = table if keep.all() else table.filter(pa.array(keep))
    return Rows(table, rows.clock)


def _cheapest_first(condition: Expr) -> list[Expr]:
    """The parts of a condition, so that what fails a comparison is not looked up in a relation."""
    asked: dict[int, list[Expr]] = {}
    for part in conjuncts(condition):
        keys = [len(e.args) for e in part.walk() if isinstance(e, InRelation)]
        asked.setdefault(max(keys) + 1 if keys else 0, []).append(part)
    if len(asked) < 2:
        return [condition]
    return [both for _, parts in sorted(asked.items()) if (both := conjunction(parts)) is not None]


def _run_project(node: Project, context: StepContext) -> Rows:
    rows = run(node.input, context)
    made = evaluated({o.name: o.expr for o in node.outputs}, rows.table, context)
    return Rows(with_columns(rows.table.select([TIME, SEQ, *node.order]), made), rows.clock)


def _run_merge(node: Merge, context: StepContext) -> Rows:
    names = [f.name for f in node.fields]
    schema = schema_of(node.fields, node.order)
    parts = []
    for rank, source in zip(node.ranks, node.sources, strict=True):
        rows = run(source, context)
        parts.append(Rows(_ranked(rows.table, rank, source, node, names).cast(schema), rows.clock))
    tables, clock = aligned(node, parts, context)
    return Rows(pa.concat_tables([schema.empty_table(), *tables]), clock)


def _ranked(table: pa.Table, rank: int, source: Node, node: Merge, names: list[str]) -> pa.Table:
    order = padded_order(table, source, node.depth - 1)
    places = [full(rank, table.num_rows), *order]
    return pa.table([table[TIME], table[SEQ], *places, *(table[n] for n in names)], [TIME, SEQ, *node.order, *names])


def padded_order(table: pa.Table, node: Node, depth: int) -> list[pa.Array | pa.ChunkedArray]:
    """The node's order columns, and zeros up to `depth`."""
    zeros = order_columns(depth)[node.depth :]
    return [*(table[o] for o in node.order), *(full(0, table.num_rows) for _ in zeros)]


def _stamped(table: pa.Table, node: Stamp) -> pa.Table:
    stamped = table.append_column("at", table[node.shown].cast(MOMENT))
    return stamped if node.shown == TIME else stamped.drop_columns([node.shown])


def _run_stamp(node: Stamp, context: StepContext) -> Rows:
    inner = context.inner(node.upper)
    rows = run(node.input, inner)
    # Past its upper bound a statement makes no more rows, and holds nobody back.
    clock = context.clock if inner.end else min(context.clock, rows.clock)
    held = context.hold(node, rows, clock, "h")
    return Rows(_stamped(held.table, node), clock)


def _run_retime(node: Retime, context: StepContext) -> Rows:
    inner = context.inner(node.upper)
    rows = run(node.input, inner)
    pairs = tuple(zip((TIME, *node.input.order), node.order, strict=True))
    kernel = RetimeKernel(node.column, node.max_delay, pairs)
    sort = (TIME, SEQ, *node.input.order)
    place = str(context.places[id(node)])
    state = context.book.states.get(place) or kernel.initial()
    after, made = kernel.step(state, sorted_table(rows.table, sort), inner.clock, inner.end)
    context.book.put(place, after)
    made = made.select([TIME, SEQ, *node.order, *(c.name for c in node.columns)])
    if inner.end:
        return context.hold(node, Rows(made, context.clock), context.clock, "h")
    clock = kernel.clock_of(after)
    clock = clock if context.upper is None else min(clock, context.upper)
    return Rows(made, clock)


OPERATORS: dict[type[Node], Callable[..., Rows]] = {
    Scan: _run_scan,
    RelationScan: _run_relation,
    RelationJoin: _run_relation_join,
    Filter: _run_filter,
    Project: _run_project,
    Merge: _run_merge,
    Stamp: _run_stamp,
    Retime: _run_retime,
}
