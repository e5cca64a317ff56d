"""Runs the nodes of the windows room step by step on Arrow tables: the same stages and kernels as `windows.spark`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from presage.columnar.matching import matching_rows
from presage.columnar.steps import (
    Rows,
    StepContext,
    aligned,
    evaluated,
    padded_order,
    run,
    schema_of,
    with_columns,
)
from presage.model.arrow import to_arrow
from presage.plan.nodes import SEQ, TIME, Field, Filter, Named, Node, Retime, order_columns
from presage.windows.compile import (
    AggregateStage,
    JoinStage,
    compile_aggregate,
    compile_join,
    fields_of,
    identity_of,
)
from presage.windows.kernel import spec
from presage.windows.kernel.aggregate import AggregateKernel
from presage.windows.kernel.changelog import ChangelogAggregateKernel
from presage.windows.kernel.distinct import DistinctKernel
from presage.windows.kernel.join import JoinKernel, JoinSource, Link
from presage.windows.kernel.output import OutputKernel
from presage.windows.nodes import Aggregate, Distinct, Output, RelationJoin, Windowed, WindowJoin, source_of

# A column that is always there, for rows that carry nothing of their event.
ANY = "_any"


def _run_windowed(node: Windowed, context: StepContext) -> Rows:
    """A sliding window that nobody looks into: its events as they come."""
    return run(node.input, context)


def _run_aggregate(node: Aggregate, context: StepContext) -> Rows:
    join, _ = source_of(node)
    stage: AggregateStage = context.once(node, lambda: compile_aggregate(node))
    if join is not None:
        return _run_join_aggregate(node, join, stage, context)
    rows = run(stage.input, context)
    order = stage.input.order
    table, carry = rows.table, stage.carry
    if not carry and node.row_per != "batch":
        table, carry = table.append_column(ANY, pa.array(np.ones(table.num_rows, np.bool_))), (ANY,)
    prepared = _prepared(stage.prepared, rows.table, context)
    table = with_columns(table.select([TIME, SEQ, *order, *carry]), prepared)
    kernel = AggregateKernel(
        stage.window, stage.group_by, stage.grouped, stage.aggregates, carry, order, stage.partition, stage.apart
    )
    made = context.step(node, kernel, table, (TIME, SEQ, *order), rows.clock, keys=stage.partition)
    ordinal = (spec.ORDINAL,) if stage.window.is_batch else ()
    return Rows(_renamed(made, node, ordinal, stage.outputs), rows.clock)


def _run_join_aggregate(node: Aggregate, join: WindowJoin, stage: AggregateStage, context: StepContext) -> Rows:
    """Aggregates over the tuples that are in a join now: the join hands on who enters and who leaves."""
    joined = _join_rows(join, context, changelog=True)
    table = joined.table
    below = node.input
    while isinstance(below, Filter):
        table = table.filter(pa.array(context.evaluator.mask(below.condition, table)))
        below = below.input
    identity = identity_of(join)
    order = order_columns(join.depth - 1)
    carry = stage.carry
    prepared = _prepared(stage.prepared, table, context)
    if not carry:
        table, carry = table.append_column(ANY, pa.array(np.ones(table.num_rows, np.bool_))), (ANY,)
    columns = {name: table[name] for name in (TIME, SEQ, *order)}
    columns[spec.ORDINAL] = table[join.order[-1]]
    columns |= {name: table[name] for name in (spec.CHANGE, *identity, *carry)}
    kernel = ChangelogAggregateKernel(stage.group_by, stage.grouped, stage.aggregates, carry, order, identity)
    sort = (TIME, SEQ, *order, spec.ORDINAL)
    made = context.step(node, kernel, pa.table({**columns, **prepared}), sort, joined.clock)
    return Rows(_renamed(made, node, (spec.ORDINAL,), stage.outputs), joined.clock)


def _run_join(node: WindowJoin, context: StepContext) -> Rows:
    rows = _join_rows(node, context, changelog=False)
    return Rows(rows.table.select([TIME, SEQ, *node.order, *(c.name for c in node.columns)]), rows.clock)


@dataclass(frozen=True)
class _Join:
    """What stays the same from step to step."""

    stage: JoinStage
    kernel: JoinKernel
    schema: pa.Schema


def _join_rows(node: WindowJoin, context: StepContext, changelog: bool) -> Rows:
    """Tuples of the join with TIME, SEQ, order, the members' identity and columns, and CHANGE for a changelog."""
    join: _Join = context.once(node, lambda: _compile_join(node, context, changelog))
    stage = join.stage
    depth = node.depth - 1
    order = order_columns(depth)
    streams = [number for number, source in enumerate(stage.sources) if not source.static]
    parts = [run(stage.sources[number].input, context) for number in streams]
    tables, clock = aligned(node, parts, context)
    tables = [
        _source_table(number, stage, table, depth, context) for number, table in zip(streams, tables, strict=True)
    ]
    events = pa.concat_tables([join.schema.empty_table(), *tables], promote_options="default")
    keys = tuple(f"_key{i}" for i in range(len(stage.sources[streams[0]].partition)))
    made = context.step(node, join.kernel, events, (TIME, SEQ, *order), clock, keys=keys)
    shown = {c.name: made[f"{n}:{c.name}"] for n, s in enumerate(node.sources) for c in s.columns}
    extra = {i: made[i] for i in identity_of(node)} | ({spec.CHANGE: made[spec.CHANGE]} if changelog else {})
    places = {name: made[name] for name in (TIME, SEQ, *order)} | {node.order[-1]: made[spec.ORDINAL]}
    rows = pa.table({**places, **extra, **shown})
    if stage.residual is not None and rows.num_rows:
        rows = rows.filter(pa.array(context.evaluator.mask(stage.residual, rows)))
    return Rows(rows, clock)


def _compile_join(node: WindowJoin, context: StepContext, changelog: bool) -> _Join:
    stage = compile_join(node)
    order = order_columns(node.depth - 1)
    sources = []
    fields: list[pa.Field] = [pa.field(name, pa.int64()) for name in (TIME, SEQ, *order)]
    fields.append(pa.field(spec.SOURCE, pa.int8()))
    keyed = False
    for number, source in enumerate(stage.sources):
        own = [*source.input.columns, *fields_of(source.prepared)]
        # A kernel's column belongs to one source, so names are numbered.
        kept = [f for f in own if f.name != spec.PASS]
        columns = tuple(f"{number}:{f.name}" for f in kept)
        static = _static_table(source.input, source.prepared, number, context) if source.static else None
        by, group = (tuple(f"{number}:{c}" for c in part) for part in (source.window.by, source.window.group))
        sources.append(JoinSource(replace(source.window, by=by, group=group), columns, static))
        if source.static:
            continue
        if not keyed:
            types = {n.name: to_arrow(n.expr.type) for n in source.prepared}
            fields += [pa.field(f"_key{i}", types[p]) for i, p in enumerate(source.partition)]
            keyed = True
        fields += [pa.field(f"{number}:{f.name}", to_arrow(f.type)) for f in kept]
    if stage.has_pass:
        fields.append(pa.field(spec.PASS, pa.bool_()))
    links = tuple(
        Link(left, tuple(f"{left}:{c}" for c in lc), right, tuple(f"{right}:{c}" for c in rc))
        for left, lc, right, rc in stage.links
    )
    return _Join(stage, JoinKernel(tuple(sources), links, changelog, order), pa.schema(fields))


def _source_table(number: int, stage: JoinStage, table: pa.Table, depth: int, context: StepContext) -> pa.Table:
    """One stream of a join as rows of the kernel's common input."""
    source = stage.sources[number]
    prepared = _prepared(source.prepared, table, context)
    passing = prepared.pop(spec.PASS, None)
    columns: dict[str, pa.Array | pa.ChunkedArray] = {TIME: table[TIME], SEQ: table[SEQ]}
    columns |= dict(zip(order_columns(depth), padded_order(table, source.input, depth), strict=True))
    columns[spec.SOURCE] = pa.array(np.full(table.num_rows, number, np.int8))
    columns |= {f"_key{i}": prepared[p] for i, p in enumerate(source.partition)}
    columns |= {f"{number}:{c.name}": table[c.name] for c in source.input.columns}
    columns |= {f"{number}:{name}": array for name, array in prepared.items()}
    if stage.has_pass:
        columns[spec.PASS] = passing if passing is not None else pa.array(np.ones(table.num_rows, np.bool_))
    return pa.table(columns)


def _static_table(node: Node, prepared: tuple[Named, ...], number: int, context: StepContext) -> pa.Table:
    """A relation with its prepared columns."""
    table = run(node, context).table
    columns: dict[str, pa.Array | pa.ChunkedArray] = {"_row": table["_row"]}
    columns |= {f"{number}:{c.name}": table[c.name] for c in node.columns}
    made = evaluated({p.name: p.expr for p in prepared}, table, context)
    return pa.table(columns | {f"{number}:{name}": array for name, array in made.items()})


def _run_relation_join(node: RelationJoin, context: StepContext) -> Rows:
    """Each row beside the rows of the relation that satisfy the condition."""
    rows = run(node.input, context)
    relation = run(node.relation, context).table
    left, right = matching_rows(node.condition, rows.table, relation, context.evaluator)
    ours, theirs = rows.table.take(pa.array(left)), relation.take(pa.array(right))
    columns = {name: ours[name] for name in (TIME, SEQ, *node.input.order)}
    columns[node.order[-1]] = theirs["_row"]
    columns |= {c.name: ours[c.name] for c in node.input.columns}
    columns |= {c.name: theirs[c.name] for c in node.relation.columns}
    schema = schema_of(node.columns, node.order)
    return Rows(pa.table(columns).select(schema.names).cast(schema), rows.clock)


def _run_distinct(node: Distinct, context: StepContext) -> Rows:
    rows = run(node.input, context)
    kernel = DistinctKernel(node.by, tuple(c.name for c in node.columns), node.order)
    keys = [name for name in node.by if name != spec.STATEMENT]
    made = context.step(node, kernel, rows.table, (TIME, SEQ, *node.order), rows.clock, keys=keys)
    return Rows(made, rows.clock)


def _run_output(node: Output, context: StepContext) -> Rows:
    below = node.input
    columns = tuple(c.name for c in node.columns)
    kernel = OutputKernel(node.mode, node.every, node.by, columns, below.order, ordinal=node.order[-1])
    rows = run(below, context)
    made = context.step(node, kernel, rows.table, (TIME, SEQ, *below.order), rows.clock)
    return Rows(made, rows.clock)


def _prepared(named: tuple[Named, ...], table: pa.Table, context: StepContext) -> dict[str, pa.Array]:
    columns = evaluated({n.name: n.expr for n in named if n.name != spec.PASS}, table, context)
    for n in named:
        if n.name == spec.PASS:
            columns[spec.PASS] = pa.array(context.evaluator.mask(n.expr, table))
    return columns


def _renamed(rows: pa.Table, node: Node, ordinal: tuple[str, ...], outputs: tuple[Field, ...]) -> pa.Table:
    """The kernel's ordinal becomes the node's last order column."""
    kept = node.order[: len(node.order) - len(ordinal)]
    columns = {name: rows[name] for name in (TIME, SEQ, *kept)}
    if ordinal:
        columns[node.order[-1]] = rows[ordinal[0]]
    return pa.table({**columns, **{f.name: rows[f.name] for f in outputs}})


def has_timers(plan: Node) -> bool:
    """Whether time alone can make this plan yield rows: by a timer, or because rows wait for their time."""
    return has_batches(plan) or any(isinstance(node, Output | Retime) for node in plan.walk())


def has_batches(plan: Node) -> bool:
    """Whether a window closes when its time is over."""
    return any(isinstance(node, Windowed) and node.window.kind == "time_batch" for node in plan.walk())


STATEFUL = (Aggregate, WindowJoin, Distinct, Output)


def spreads(node: Node) -> bool:
    """Whether the keys of a node can be dealt with apart from each other."""
    if isinstance(node, Aggregate):
        return bool(node.partition) and source_of(node)[0] is None
    if isinstance(node, WindowJoin):
        return any(node.partition)
    return isinstance(node, Distinct)


OPERATORS: Mapping[type[Node], Callable[..., Rows]] = {
    Windowed: _run_windowed,
    Aggregate: _run_aggregate,
    WindowJoin: _run_join,
    RelationJoin: _run_relation_join,
    Distinct: _run_distinct,
    Output: _run_output,
}
