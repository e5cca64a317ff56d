"""Runs the nodes of the windows room on Spark: Catalyst prepares the columns, a kernel does the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from presage.model import types as t
from presage.plan.expr import Expr, InRelation, conjunction, conjuncts
from presage.plan.nodes import SEQ, TIME, Field, Filter, Named, Node, order_columns
from presage.spark.batch import BatchContext, column, ordering, padded_order, run, run_stateful
from presage.spark.expressions import quoted
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
# A source's own order columns, kept beside the tuple's, tell its members apart.
IDENTITY_TYPE = t.LONG


def _run_windowed(node: Windowed, context: BatchContext) -> DataFrame:
    """A sliding window that nobody looks into: its events as they come."""
    return run(node.input, context)


def _run_aggregate(node: Aggregate, context: BatchContext) -> DataFrame:
    join, _ = source_of(node)
    stage = compile_aggregate(node)
    if join is not None:
        return _run_join_aggregate(node, join, stage, context)
    frame = run(stage.input, context)
    order = stage.input.order
    carry = stage.carry
    if not carry and node.row_per != "batch":
        carry = (ANY,)
        frame = frame.withColumn(ANY, F.lit(True))
    prepared = _prepared(stage.prepared, context)
    frame = frame.select(*ordering(stage.input), *(quoted(c) for c in carry), *prepared)
    kernel = AggregateKernel(
        stage.window, stage.group_by, stage.grouped, stage.aggregates, carry, order, stage.partition, stage.apart
    )
    made = _kernel_fields(carry, stage)
    ordinal = (spec.ORDINAL,) if stage.window.is_batch else ()
    rows = run_stateful(frame, kernel, made, (*order, *ordinal), (TIME, SEQ, *order), stage.partition, context)
    return _renamed(rows, node, ordinal, stage.outputs)


def _run_join_aggregate(node: Aggregate, join: WindowJoin, stage: AggregateStage, context: BatchContext) -> DataFrame:
    """Aggregates over the tuples that are in a join now: the join hands on who enters and who leaves."""
    joined = _join_frame(join, context, changelog=True)
    conditions: list[Expr] = []
    below = node.input
    while isinstance(below, Filter):
        conditions.append(below.condition)
        below = below.input
    for condition in conditions:
        joined = joined.where(column(condition, context))
    identity = identity_of(join)
    order = order_columns(join.depth - 1)
    carry = stage.carry
    if not carry:
        carry = (ANY,)
        joined = joined.withColumn(ANY, F.lit(True))
    frame = joined.select(
        *ordering(join)[:-1],
        F.col(join.order[-1]).alias(spec.ORDINAL),
        F.col(spec.CHANGE),
        *(F.col(i) for i in identity),
        *(quoted(c) for c in carry),
        *_prepared(stage.prepared, context),
    )
    kernel = ChangelogAggregateKernel(stage.group_by, stage.grouped, stage.aggregates, carry, order, identity)
    made = _kernel_fields(carry, stage)
    rows = run_stateful(
        frame, kernel, made, (*order, spec.ORDINAL), (TIME, SEQ, *order, spec.ORDINAL), stage.partition, context
    )
    return _renamed(rows, node, (spec.ORDINAL,), stage.outputs)


def _run_join(node: WindowJoin, context: BatchContext) -> DataFrame:
    frame = _join_frame(node, context, changelog=False)
    return frame.select(*ordering(node), *(quoted(c.name) for c in node.columns))


def _join_frame(node: WindowJoin, context: BatchContext, changelog: bool) -> DataFrame:
    """Tuples of the join with TIME, SEQ, order, the members' identity and columns, and CHANGE for a changelog."""
    stage = compile_join(node)
    depth = node.depth - 1
    order = order_columns(depth)
    parts, sources = [], []
    for number, source in enumerate(stage.sources):
        own = [*source.input.columns, *fields_of(source.prepared)]
        # A kernel's column belongs to one source, so names are numbered.
        columns = tuple(f"{number}:{f.name}" for f in own if f.name != spec.PASS)
        static = _static_table(source.input, source.prepared, number, context) if source.static else None
        window = _renumbered(source.window, number)
        sources.append(JoinSource(window, columns, static))
        if not source.static:
            parts.append(_source_frame(number, stage, depth, context))
    frame = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)
    links = tuple(
        Link(left, tuple(f"{left}:{c}" for c in lc), right, tuple(f"{right}:{c}" for c in rc))
        for left, lc, right, rc in stage.links
    )
    kernel = JoinKernel(tuple(sources), links, changelog, order)
    made = _join_fields(node, stage, changelog)
    keys = tuple(f"_key{i}" for i in range(len(stage.sources[_first_stream(stage)].partition)))
    rows = run_stateful(frame, kernel, made, (*order, spec.ORDINAL), (TIME, SEQ, *order), keys, context)
    shown = [quoted(f"{n}:{c.name}").alias(c.name) for n, s in enumerate(node.sources) for c in s.columns]
    extra = [F.col(i) for i in identity_of(node)] + ([F.col(spec.CHANGE)] if changelog else [])
    rows = rows.select(*ordering(node)[:-1], F.col(spec.ORDINAL).alias(node.order[-1]), *extra, *shown)
    return rows.where(column(stage.residual, context)) if stage.residual is not None else rows


def _source_frame(number: int, stage: JoinStage, depth: int, context: BatchContext) -> DataFrame:
    """One stream of a join as rows of the kernel's common input."""
    source = stage.sources[number]
    node = source.input
    columns: list[Column] = [quoted(c.name).alias(f"{number}:{c.name}") for c in node.columns]
    passing = F.lit(True)
    for named in source.prepared:
        if named.name == spec.PASS:
            passing = F.coalesce(column(named.expr, context), F.lit(False))
        else:
            columns.append(column(named.expr, context).alias(f"{number}:{named.name}"))
    by_name = {n.name: n.expr for n in source.prepared}
    keys = [column(by_name[p], context).alias(f"_key{i}") for i, p in enumerate(source.partition)]
    if stage.has_pass:
        columns.append(passing.alias(spec.PASS))
    return run(node, context).select(
        F.col(TIME), F.col(SEQ), *padded_order(node, depth), F.lit(number).cast("tinyint").alias(spec.SOURCE),
        *keys, *columns,
    )  # fmt: skip


def _first_stream(stage: JoinStage) -> int:
    return next(i for i, s in enumerate(stage.sources) if not s.static)


def _renumbered(window: spec.Window, number: int) -> spec.Window:
    by, group = (tuple(f"{number}:{c}" for c in part) for part in (window.by, window.group))
    return replace(window, by=by, group=group)


def _static_table(node: Node, prepared: tuple[Named, ...], number: int, context: BatchContext) -> pa.Table:
    """A relation with its prepared columns, on the driver: it travels to the workers with the kernel."""
    frame = run(node, context)
    columns = [quoted(c.name).alias(f"{number}:{c.name}") for c in node.columns]
    columns += [column(p.expr, context).alias(f"{number}:{p.name}") for p in prepared]
    # The number stays: a table without columns, of a relation that only multiplies rows, would have no rows either.
    return frame.orderBy("_row").select("_row", *columns).toArrow()


def _join_fields(node: WindowJoin, stage: JoinStage, changelog: bool) -> list[Field]:
    fields = []
    for number, source in enumerate(stage.sources):
        own = [*source.input.columns, *fields_of(source.prepared)]
        fields += [Field(f"{number}:{f.name}", f.type) for f in own if f.name != spec.PASS]
    fields += [Field(name, IDENTITY_TYPE) for name in identity_of(node)]
    return fields + ([Field(spec.CHANGE, t.INT)] if changelog else [])


def _run_relation_join(node: RelationJoin, context: BatchContext) -> DataFrame:
    left = run(node.input, context)
    right = F.broadcast(run(node.relation, context))
    # A relation that is asked about both sides is a join of its own, which Spark cannot do inside of another.
    asking = [c for c in conjuncts(node.condition) if any(isinstance(e, InRelation) for e in c.walk())]
    plain = conjunction([c for c in conjuncts(node.condition) if c not in asking])
    joined = left.join(right, column(plain, context) if plain is not None else F.lit(True), "inner")
    if asking:
        # The number of the row stands in the way of an optimizer that would put them together again.
        joined = joined.withColumn("_row", F.col("_row") + F.monotonically_increasing_id() * 0)
    for condition in asking:
        joined = joined.where(column(condition, context))
    order = [*ordering(node.input), F.col("_row").alias(node.order[-1])]
    return joined.select(*order, *(quoted(c.name) for c in node.columns))


def _run_distinct(node: Distinct, context: BatchContext) -> DataFrame:
    frame = run(node.input, context)
    columns = tuple(c.name for c in node.columns)
    kernel = DistinctKernel(node.by, columns, node.order)
    # Keys are renamed: `repartition` takes names, and a user's name may hold a dot.
    keys = tuple(f"_key{i}" for i in range(len(node.by)))
    frame = frame.select("*", *(quoted(b).alias(k) for b, k in zip(node.by, keys, strict=True)))
    return run_stateful(frame, kernel, list(node.columns), node.order, (TIME, SEQ, *node.order), keys, context)


def _run_output(node: Output, context: BatchContext) -> DataFrame:
    below = node.input
    columns = tuple(c.name for c in node.columns)
    kernel = OutputKernel(node.mode, node.every, node.by, columns, below.order, ordinal=node.order[-1])
    frame = run(below, context)
    return run_stateful(frame, kernel, list(node.columns), node.order, (TIME, SEQ, *below.order), (), context)


def _prepared(named: tuple[Named, ...], context: BatchContext) -> list[Column]:
    return [
        (F.coalesce(column(n.expr, context), F.lit(False)) if n.name == spec.PASS else column(n.expr, context)).alias(
            n.name
        )
        for n in named
    ]


def _kernel_fields(carry: tuple[str, ...], stage: AggregateStage) -> list[Field]:
    return ([Field(ANY, t.BOOLEAN)] if carry == (ANY,) else []) + list(stage.outputs)


def _renamed(rows: DataFrame, node: Node, ordinal: tuple[str, ...], outputs: tuple[Field, ...]) -> DataFrame:
    """The kernel's ordinal becomes the node's last order column."""
    kept = [F.col(o) for o in (node.order[: len(node.order) - len(ordinal)])]
    last = [F.col(o).alias(node.order[-1]) for o in ordinal]
    return rows.select(F.col(TIME), F.col(SEQ), *kept, *last, *(quoted(f.name) for f in outputs))


OPERATORS: dict[type[Node], Callable[..., DataFrame]] = {
    Windowed: _run_windowed,
    Aggregate: _run_aggregate,
    WindowJoin: _run_join,
    RelationJoin: _run_relation_join,
    Distinct: _run_distinct,
    Output: _run_output,
}
