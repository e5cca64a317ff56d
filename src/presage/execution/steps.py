"""The step driver: runs a plan over the events of one step, on Arrow tables and without Spark.

Deployed statements run here, batch by batch, with the kernels of the batch driver. Capabilities bring the functions
that run their nodes. A node yields rows and a watermark: none of its later rows has an earlier time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
from presage.plan import nodes
from presage.plan.expr import Expr, InRelation, conjunction, conjuncts
from presage.plan.nodes import SEQ, TIME, Field, Named, Node, order_columns
from presage.plan.streams_ahead import streams_ahead

MOMENT = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class Rows:
    """What a node yields in one step: TIME, SEQ, its order columns, its columns."""

    table: pa.Table
    watermark: int


@dataclass
class OperatorStates:
    """The states of a plan's kernels, by the place of the node; `changed` are the places that this step wrote."""

    by_place: dict[str, State] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)

    def put(self, place: str, state: State) -> None:
        self.by_place[place] = state
        self.changed.add(place)

    def written(self) -> dict[str, State]:
        return {place: self.by_place[place] for place in self.changed}


@dataclass(frozen=True)
class StepContext:
    """What a plan needs for one step. `watermark` is the statement's, `inner_watermark` that of the statements behind
    derived streams, which end at their own upper bounds. `end`: no more input follows.

    `read` gives the events of a scan in this step, TIME as integer; `ahead` those that have arrived ahead of the
    watermark, None if no operator uses them. `places` numbers the plan's nodes; `compiled` caches what is compiled for
    a node. `shard` of `shards`: the keys of this step.
    """

    read: Callable[[nodes.Scan], pa.Table]
    evaluator: Evaluator
    relations: Mapping[str, pa.Table]
    operators: Mapping[type[Node], Callable[..., Rows]]
    places: Mapping[int, int]
    states: OperatorStates
    watermark: int
    inner_watermark: int
    upper: int | None = None
    end: bool = False
    shard: int = 0
    shards: int = 1
    compiled: dict[Any, Any] = field(default_factory=dict)
    # The history that nodes search, and commands of users on open events.
    histories: Callable[[Any], Any] | None = None
    commands: Sequence[Any] = ()
    # Reads history in a thread while batches continue; without it, the step waits.
    read_later: Callable[[Callable[[], Any]], Any] | None = None
    # By place of a filter above a scan: the rows that pass it, as the predicate index of all statements found them.
    matched: Mapping[int, np.ndarray] = field(default_factory=dict)
    ahead: Callable[[nodes.Scan], pa.Table] | None = None
    # Of a bounded run, whose only step is its last: the keys of a stage are divided among so many threads.
    threads: int = 1
    # By place of a derived stream: its rows in the last step of the statement, which had to know its last event.
    ready: Mapping[int, Rows] = field(default_factory=dict)

    def speculative(self) -> StepContext | None:
        """The context of a speculative final step over the events ahead of the watermark; its states are discarded."""
        if self.ahead is None or self.end:
            return None
        states = OperatorStates(dict(self.states.by_place))
        return replace(self, read=self.ahead, ahead=None, states=states, matched={}, end=True)

    def inner(self, upper: int | None) -> StepContext:
        """The context of the statement behind a derived stream."""
        if self.end:
            # Its watermark advances to its own bound, as in a bounded query.
            return replace(self, watermark=self.inner_watermark if upper is None else upper, upper=upper)
        # Greater, not equal: where the bound is included, events of exactly that time may still arrive.
        ended = upper is not None and self.inner_watermark > upper
        watermark = self.inner_watermark if upper is None else min(self.inner_watermark, upper)
        return replace(self, watermark=watermark, upper=upper, end=ended)

    def at_end_of(self, plan: Node) -> StepContext:
        """The context of a statement with this plan. In its last step the clock stops at the last event of all streams
        that it reads, whether or not a filter drops it; for derived streams that are their rows."""
        if not self.end or self.upper is not None:
            return self
        made = {self.places[id(stream)]: run(stream, self).table for stream in streams_ahead(plan)}
        clock = max([self.watermark, *(int(pc.max(rows[TIME]).as_py()) for rows in made.values() if rows.num_rows)])
        return replace(self, watermark=clock, ready={place: Rows(rows, clock) for place, rows in made.items()})

    def once(self, node: Node, make: Callable[[], Any]) -> Any:
        """The result of `make` for a node, cached from the first step on."""
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
        watermark: int,
        part: str = "",
        keys: Sequence[str] = (),
    ) -> pa.Table:
        """Step a kernel of a node over the rows."""
        rows = self.share(rows, sort, keys)
        if self.end and rows.num_rows:
            # The last step may hold an event ahead of the watermark, which then advances to it.
            watermark = max(watermark, int(rows[TIME][-1].as_py()))
        return self.step_at(f"{self.places[id(node)]}{part}", kernel, rows, watermark, self.end)

    def step_at(self, place: str, kernel: Kernel, rows: pa.Table, watermark: int, end: bool) -> pa.Table:
        after, made = kernel.step(self.states.by_place.get(place) or kernel.initial(), rows, watermark, end)
        self.states.put(place, after)
        return made

    def share(self, rows: pa.Table, sort: Sequence[str], keys: Sequence[str]) -> pa.Table:
        """The rows of this shard, in order."""
        if self.shards > 1:
            rows = rows.filter(pa.array(shards_of(rows, keys, self.shards) == self.shard))
        return sorted_table(rows, sort)

    def hold(self, node: Node, rows: Rows, watermark: int, part: str) -> Rows:
        """The rows up to a watermark behind their own; later rows are buffered."""
        place = f"{self.places[id(node)]}{part}"
        buffered = place in self.states.by_place and self.states.by_place[place].rows()
        if not buffered and (not rows.table.num_rows or rows.table[TIME].to_numpy().max() <= watermark):
            return Rows(rows.table, watermark)
        return Rows(self.step_at(place, HoldKernel(), rows.table, watermark, self.end), watermark)


def run(node: Node, context: StepContext) -> Rows:
    """The rows of a node in this step."""
    check_cancelled()
    if context.ready and (ready := context.ready.get(context.places.get(id(node), -1))):
        return ready
    operator = OPERATORS.get(type(node)) or context.operators.get(type(node))
    if operator is None:
        raise error("INTERNAL", what=f"no operator for the plan node {type(node).__name__}")
    return operator(node, context)


def run_root(node: Node, context: StepContext) -> Rows:
    """The rows of a whole statement; a Stamp at the root is its own, not that of a derived stream."""
    if isinstance(node, nodes.Stamp):
        rows = run(node.input, context.at_end_of(node.input))
        return Rows(_stamped(rows.table, node), rows.watermark)
    return run(node, context.at_end_of(node))


def schema_of(fields: Sequence[Field], order: Sequence[str] = ()) -> pa.Schema:
    """The Arrow schema of a node's rows."""
    own = [(name, pa.int64()) for name in (TIME, SEQ, *order)]
    return pa.schema([*own, *((f.name, to_arrow(f.type)) for f in fields)])


def aligned(node: Node, parts: Sequence[Rows], context: StepContext) -> tuple[list[pa.Table], int]:
    """The rows of several inputs up to the least of their watermarks."""
    watermark = min((part.watermark for part in parts), default=context.watermark)
    return [context.hold(node, part, watermark, f"h{i}").table for i, part in enumerate(parts)], watermark


def with_columns(table: pa.Table, named: Mapping[str, pa.Array]) -> pa.Table:
    for name, array in named.items():
        table = table.append_column(name, array)
    return table


def full(value: int, rows: int) -> pa.Array:
    return pa.array(np.full(rows, value, np.int64))


def evaluated(exprs: Mapping[str, Expr], table: pa.Table, context: StepContext) -> dict[str, pa.Array]:
    """The columns of expressions, by name."""
    return dict(zip(exprs, context.evaluator.columns(list(exprs.values()), table), strict=True))


def prepared_columns(named: Sequence[Named], table: pa.Table, context: StepContext) -> dict[str, pa.Array]:
    """The prepared columns of a kernel's input, cast to the types of their expressions."""
    made = evaluated({n.name: n.expr for n in named}, table, context)
    return {n.name: made[n.name].cast(to_arrow(n.expr.type)) for n in named}


def united(parts: Sequence[pa.Table]) -> pa.Table:
    """Rows of several sources as one table; columns that a source does not have are null in its rows."""
    types = {f.name: f.type for part in parts for f in part.schema}

    def column(part: pa.Table, name: str) -> pa.Array | pa.ChunkedArray:
        return part[name] if name in part.column_names else pa.nulls(part.num_rows, types[name])

    return pa.concat_tables([pa.table({name: column(part, name) for name in types}) for part in parts])


def _run_scan(node: nodes.Scan, context: StepContext) -> Rows:
    return Rows(context.read(node), context.watermark)


def relation_rows(node: nodes.RelationScan, relations: Mapping[str, pa.Table]) -> pa.Table:
    """The rows of a relation under the names of the plan, and their number as `_row`."""
    table = relations[node.relation]
    chosen = {f.name: table[a] for f, a in zip(node.fields, node.attributes, strict=True)}
    chosen["_row"] = pa.array(range(table.num_rows), pa.int64())
    return pa.table(chosen).combine_chunks()


def _run_relation(node: nodes.RelationScan, context: StepContext) -> Rows:
    return Rows(relation_rows(node, context.relations), context.watermark)


def _run_relation_join(node: nodes.RelationJoin, context: StepContext) -> Rows:
    """Each row with the rows of the relation that satisfy the condition."""
    rows = run(node.input, context)
    relation = run(node.relation, context).table
    left, right = join_rows(node.condition, rows.table, relation, context.evaluator)
    ours, theirs = rows.table.take(pa.array(left)), relation.take(pa.array(right))
    columns = {name: ours[name] for name in (TIME, SEQ, *node.input.order)}
    columns[node.order[-1]] = theirs["_row"]
    columns |= {c.name: ours[c.name] for c in node.input.columns}
    columns |= {c.name: theirs[c.name] for c in node.relation.columns}
    schema = schema_of(node.columns, node.order)
    return Rows(pa.table(columns).select(schema.names).cast(schema), rows.watermark)


def _run_filter(node: nodes.Filter, context: StepContext) -> Rows:
    rows = run(node.input, context)
    matched = context.matched.get(context.places[id(node)]) if context.matched else None
    if matched is not None:
        return Rows(rows.table.take(pa.array(matched)), rows.watermark)
    if not rows.table.num_rows:
        return rows
    table = rows.table
    for condition in context.once(node, lambda: _cheapest_first(node.condition)):
        keep = context.evaluator.mask(condition, table)
        table = table if keep.all() else table.filter(pa.array(keep))
    return Rows(table, rows.watermark)


def _cheapest_first(condition: Expr) -> list[Expr]:
    """The parts of a condition: comparisons before lookups in relations."""
    by_cost: dict[int, list[Expr]] = {}
    for part in conjuncts(condition):
        keys = [len(e.args) for e in part.walk() if isinstance(e, InRelation)]
        by_cost.setdefault(max(keys) + 1 if keys else 0, []).append(part)
    if len(by_cost) < 2:
        return [condition]
    return [both for _, parts in sorted(by_cost.items()) if (both := conjunction(parts)) is not None]


def _run_project(node: nodes.Project, context: StepContext) -> Rows:
    rows = run(node.input, context)
    made = evaluated({o.name: o.expr for o in node.outputs}, rows.table, context)
    return Rows(with_columns(rows.table.select([TIME, SEQ, *node.order]), made), rows.watermark)


def _run_merge(node: nodes.Merge, context: StepContext) -> Rows:
    names = [f.name for f in node.fields]
    schema = schema_of(node.fields, node.order)
    parts = []
    for rank, source in zip(node.ranks, node.sources, strict=True):
        rows = run(source, context)
        parts.append(Rows(_ranked(rows.table, rank, source, node, names).cast(schema), rows.watermark))
    tables, watermark = aligned(node, parts, context)
    return Rows(pa.concat_tables([schema.empty_table(), *tables]), watermark)


def _ranked(table: pa.Table, rank: int, source: Node, node: nodes.Merge, names: list[str]) -> pa.Table:
    order = padded_order(table, source, node.depth - 1)
    places = [full(rank, table.num_rows), *order]
    return pa.table([table[TIME], table[SEQ], *places, *(table[n] for n in names)], [TIME, SEQ, *node.order, *names])


def padded_order(table: pa.Table, node: Node, depth: int) -> list[pa.Array | pa.ChunkedArray]:
    """The node's order columns, and zeros up to `depth`."""
    zeros = order_columns(depth)[node.depth :]
    return [*(table[o] for o in node.order), *(full(0, table.num_rows) for _ in zeros)]


def _stamped(table: pa.Table, node: nodes.Stamp) -> pa.Table:
    stamped = table.append_column("at", table[node.shown].cast(MOMENT))
    return stamped if node.shown == TIME else stamped.drop_columns([node.shown])


def _run_stamp(node: nodes.Stamp, context: StepContext) -> Rows:
    inner = context.inner(node.upper)
    rows = run(node.input, inner.at_end_of(node.input))
    # Past its upper bound a statement makes no more rows, and does not hold the watermark back.
    watermark = context.watermark if inner.end else min(context.watermark, rows.watermark)
    held = context.hold(node, rows, watermark, "h")
    return Rows(_stamped(held.table, node), watermark)


def _run_retime(node: nodes.Retime, context: StepContext) -> Rows:
    inner = context.inner(node.upper)
    rows = run(node.input, inner.at_end_of(node.input))
    pairs = tuple(zip((TIME, *node.input.order), node.order, strict=True))
    kernel = RetimeKernel(node.column, node.max_delay, pairs)
    place, ordered = str(context.places[id(node)]), sorted_table(rows.table, (TIME, SEQ, *node.input.order))
    made = context.step_at(place, kernel, ordered, inner.watermark, inner.end)
    made = made.select([TIME, SEQ, *node.order, *(c.name for c in node.columns)])
    if inner.end:
        return context.hold(node, Rows(made, context.watermark), context.watermark, "h")
    watermark = kernel.watermark_of(context.states.by_place[place])
    return Rows(made, watermark if context.upper is None else min(watermark, context.upper))


OPERATORS: dict[type[Node], Callable[..., Rows]] = {
    nodes.Scan: _run_scan,
    nodes.RelationScan: _run_relation,
    nodes.RelationJoin: _run_relation_join,
    nodes.Filter: _run_filter,
    nodes.Project: _run_project,
    nodes.Merge: _run_merge,
    nodes.Stamp: _run_stamp,
    nodes.Retime: _run_retime,
}
