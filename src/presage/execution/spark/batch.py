"""The batch driver: compiles a plan to one DataFrame. Stateless nodes are Catalyst; capabilities bring the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from presage.errors import error
from presage.execution.spark.expressions import compile_expression, quoted
from presage.execution.spark.types import frame_of, to_spark
from presage.execution.steps import relation_rows
from presage.plan import nodes
from presage.plan.expr import Expr, InRelation, conjunction, conjuncts
from presage.plan.nodes import SEQ, TIME, Field, Node, order_columns
from presage.plan.streams_ahead import streams_ahead
from presage.storage import FileSet

ROWS_PER_TASK = 50_000  # below this a task costs more than it saves


@dataclass(frozen=True)
class BatchContext:
    """What a plan needs to run. `watermark` is the statement's final one, `inner_watermark` that of derived streams.

    `session` starts the session on first use: history may be read without one. `read` gives the archived events of a
    scan, with TIME as a timestamp; `operators` maps the nodes of capabilities to the functions that run them.
    """

    session: Callable[[], SparkSession]
    read: Callable[[nodes.Scan], DataFrame | None]
    relations: Mapping[str, pa.Table]
    operators: Mapping[type[Node], Callable[..., DataFrame]]
    watermark: int
    inner_watermark: int
    rows_in_memory: int
    estimated_rows: int = 0
    # The files of a scan, for kernels that run over files.
    files: Callable[[nodes.Scan], FileSet] | None = None
    # Rows of history that are read at once; None: it decides.
    rows_per_chunk: int | None = None
    # The statement's upper bound, and whether rows depend on where exactly the final watermark is.
    upper: int | None = None
    exact: bool = False
    # By identity of a derived stream: its rows, of which the last event had to be known.
    ready: Mapping[int, DataFrame] = field(default_factory=dict)

    @property
    def spark(self) -> SparkSession:
        return self.session()

    @property
    def partitions(self) -> int:
        """The partitions of a shuffle: as many as the session is set to, fewer for few rows."""
        most = int(self.spark.conf.get("spark.sql.shuffle.partitions") or 1)
        return max(1, min(most, -(-self.estimated_rows // ROWS_PER_TASK)))

    def inner(self, upper: int | None) -> BatchContext:
        """The context of the statement behind a derived stream, which ends at its own upper bound."""
        return replace(self, watermark=self.inner_watermark if upper is None else upper, upper=upper, ready={})

    def at_end_of(self, plan: Node) -> BatchContext:
        """The context of a statement with this plan: see `StepContext.at_end_of`. A job for each derived stream."""
        if not self.exact or self.upper is not None:
            return self
        ready = {id(stream): run(stream, self) for stream in streams_ahead(plan)}
        lasts = [frame.agg(F.max(TIME)).collect()[0][0] for frame in ready.values()]
        clock = max([self.watermark, *(last for last in lasts if last is not None)])
        return replace(self, watermark=clock, ready=ready)


@dataclass(frozen=True)
class SparkOperators:
    """What capabilities do on Spark. `runners` run their nodes. `prepare` gives the context in which a plan runs, with
    what must be computed before. `histories` open the history that a node of a deployed statement reads: they take the
    node, and a function that gives the context of nodes over the current archive."""

    runners: Mapping[type[Node], Callable[..., DataFrame]] = field(default_factory=dict)
    prepare: Callable[[Node, BatchContext], BatchContext] = lambda plan, context: context
    histories: Mapping[type[Node], Callable[..., Any]] = field(default_factory=dict)


def run(node: Node, context: BatchContext) -> DataFrame:
    """The rows of a node: TIME, SEQ, its order columns, its columns."""
    if id(node) in context.ready:
        return context.ready[id(node)]
    operator = OPERATORS.get(type(node)) or context.operators.get(type(node))
    if operator is None:
        raise error("INTERNAL", what=f"no operator for the plan node {type(node).__name__}")
    return operator(node, context)


def run_root(node: Node, context: BatchContext) -> DataFrame:
    """The rows of a whole query; a Stamp at the root is its own, not that of a derived stream."""
    if isinstance(node, nodes.Stamp):
        return _stamped(run(node.input, context.at_end_of(node.input)), node)
    return run(node, context.at_end_of(node))


def column(expr: Expr, context: BatchContext) -> Column:
    """An expression of the plan as a Catalyst column."""
    names = {e.relation for e in expr.walk() if isinstance(e, InRelation)}
    return compile_expression(expr, {n: context.relations[n] for n in names}, frame=context.spark.createDataFrame)


def ordering(node: Node) -> list[Column]:
    return [F.col(TIME), F.col(SEQ), *(F.col(o) for o in node.order)]


def struct_type(fields: list[Field] | tuple[Field, ...], order: tuple[str, ...] = ()) -> StructType:
    """The Spark schema of a node's rows."""
    own = [StructField(name, LongType(), False) for name in (TIME, SEQ, *order)]
    return StructType(own + [StructField(f.name, to_spark(f.type), True) for f in fields])


def _run_scan(node: nodes.Scan, context: BatchContext) -> DataFrame:
    frame = context.read(node)
    if frame is None:
        return context.spark.createDataFrame([], struct_type(node.columns))
    # The condition is on the stored column, so that Parquet's statistics apply.
    if node.time.low is not None:
        frame = frame.where(F.col(TIME) >= F.timestamp_micros(F.lit(node.time.low)))
    if node.time.high is not None:
        frame = frame.where(F.col(TIME) < F.timestamp_micros(F.lit(node.time.high)))
    chosen = [quoted(a).alias(f.name) for a, f in zip(node.attributes, node.fields, strict=True)]
    return frame.select(F.unix_micros(F.col(TIME)).alias(TIME), F.col(SEQ), *chosen)


def _run_filter(node: nodes.Filter, context: BatchContext) -> DataFrame:
    return run(node.input, context).where(column(node.condition, context))


def _run_project(node: nodes.Project, context: BatchContext) -> DataFrame:
    outputs = [column(o.expr, context).alias(o.name) for o in node.outputs]
    return run(node.input, context).select(*ordering(node), *outputs)


def _run_merge(node: nodes.Merge, context: BatchContext) -> DataFrame:
    parts = []
    for rank, source in zip(node.ranks, node.sources, strict=True):
        order = padded_order(source.depth, node.depth - 1)
        places = [F.lit(rank).cast("long"), *order]
        named = [place.alias(name) for place, name in zip(places, node.order, strict=True)]
        columns = [quoted(f.name) for f in node.fields]
        parts.append(run(source, context).select(F.col(TIME), F.col(SEQ), *named, *columns))
    if not parts:
        return context.spark.createDataFrame([], struct_type(node.columns, node.order))
    return reduce(DataFrame.unionAll, parts)


def padded_order(given: int, depth: int) -> list[Column]:
    """The first `given` of `depth` order columns, and zeros for the others."""
    names = order_columns(depth)
    return [*(F.col(name) for name in names[:given]), *(F.lit(0).cast("long").alias(name) for name in names[given:])]


def _stamped(frame: DataFrame, node: nodes.Stamp) -> DataFrame:
    stamped = frame.select("*", F.timestamp_micros(F.col(node.shown)).alias("at"))
    return stamped if node.shown == TIME else stamped.drop(node.shown)


def _run_stamp(node: nodes.Stamp, context: BatchContext) -> DataFrame:
    inner = context.inner(node.upper)
    return _stamped(run(node.input, inner.at_end_of(node.input)), node)


def _run_retime(node: nodes.Retime, context: BatchContext) -> DataFrame:
    """Rows become events at their own time; one that is too far before the greatest so far is late, and dropped."""
    inner = context.inner(node.upper)
    frame = run(node.input, inner.at_end_of(node.input)).where(quoted(node.column).isNotNull())
    new = F.unix_micros(quoted(node.column))
    # An explicit single partition: Spark warns of a window without one.
    before = Window.partitionBy(F.lit(0)).orderBy(*ordering(node.input)).rowsBetween(Window.unboundedPreceding, -1)
    frame = frame.withColumn("_new", new).withColumn("_before", F.max("_new").over(before))
    frame = frame.where(F.col("_before").isNull() | (F.col("_new") >= F.col("_before") - F.lit(node.max_delay)))
    shifted = [F.col(old).alias(name) for old, name in zip((TIME, *node.input.order), node.order, strict=True)]
    columns = [quoted(c.name) for c in node.columns]
    return frame.select(F.col("_new").alias(TIME), F.col(SEQ), *shifted, *columns)


def _run_relation(node: nodes.RelationScan, context: BatchContext) -> DataFrame:
    return frame_of(context.spark, relation_rows(node, context.relations))


def _run_relation_join(node: nodes.RelationJoin, context: BatchContext) -> DataFrame:
    left = run(node.input, context)
    right = F.broadcast(run(node.relation, context))
    # A membership condition on both sides is a join of its own, which Spark cannot do inside the condition of another.
    memberships = [c for c in conjuncts(node.condition) if any(isinstance(e, InRelation) for e in c.walk())]
    plain = conjunction([c for c in conjuncts(node.condition) if c not in memberships])
    joined = left.join(right, column(plain, context) if plain is not None else F.lit(True), "inner")
    if memberships:
        # A non-deterministic column keeps the optimizer from merging the two joins.
        joined = joined.withColumn("_row", F.col("_row") + F.monotonically_increasing_id() * 0)
    for condition in memberships:
        joined = joined.where(column(condition, context))
    order = [*ordering(node.input), F.col("_row").alias(node.order[-1])]
    return joined.select(*order, *(quoted(c.name) for c in node.columns))


OPERATORS: dict[type[Node], Callable[..., DataFrame]] = {
    nodes.Scan: _run_scan,
    nodes.RelationScan: _run_relation,
    nodes.RelationJoin: _run_relation_join,
    nodes.Filter: _run_filter,
    nodes.Project: _run_project,
    nodes.Merge: _run_merge,
    nodes.Stamp: _run_stamp,
    nodes.Retime: _run_retime,
}
