"""The batch driver: a logical plan becomes one DataFrame. Stateless nodes are Catalyst; rooms bring the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from presage.errors import error
from presage.log import FileSet
from presage.model.types import LONG
from presage.plan.expr import Expr, InRelation
from presage.plan.nodes import (
    SEQ,
    TIME,
    Field,
    Filter,
    Merge,
    Node,
    Project,
    RelationScan,
    Retime,
    Scan,
    Stamp,
    order_columns,
)
from presage.spark.expressions import compile_expression, quoted
from presage.spark.kernels import Kernel, run_kernel
from presage.spark.tables import frame_of
from presage.spark.types import to_spark

NO_EVENTS = -(2**62)


@dataclass(frozen=True)
class BatchContext:
    """What a plan needs to run. `clock` is where the statement's time stops, `inner_clock` that of derived streams.

    `read` gives the archived events that a scan speaks of with TIME as a timestamp; `relations` holds Arrow
    tables; `operators` maps a room's node to the function that runs it.
    """

    spark: SparkSession
    read: Callable[[Scan], DataFrame | None]
    relations: Mapping[str, pa.Table]
    operators: Mapping[type[Node], Callable[..., DataFrame]]
    clock: int
    inner_clock: int
    partitions: int
    rows_in_memory: int
    estimated_rows: int = 0
    # The files of a scan, for kernels that read old chunks themselves.
    files: Callable[[Scan], FileSet] | None = None
    # Of history, that a recall reads in one go; None for as many as it finds right.
    rows_per_chunk: int | None = None

    def inner(self, upper: int | None) -> BatchContext:
        """For the statement behind a derived stream: it ends at its own upper bound, else when time ends."""
        return replace(self, clock=self.inner_clock if upper is None else upper)


def run(node: Node, context: BatchContext) -> DataFrame:
    """The rows of a node: TIME, SEQ, its order columns, its columns."""
    operator = OPERATORS.get(type(node)) or context.operators.get(type(node))
    if operator is None:
        raise error("INTERNAL", what=f"no operator for the plan node {type(node).__name__}")
    return operator(node, context)


def run_root(node: Node, context: BatchContext) -> DataFrame:
    """The rows of a whole query; its own Stamp does not begin an inner statement."""
    if isinstance(node, Stamp):
        return _stamped(run(node.input, context), node)
    return run(node, context)


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


def run_stateful(
    frame: DataFrame,
    kernel: Kernel,
    fields: list[Field],
    order: tuple[str, ...],
    sort: tuple[str, ...],
    keys: tuple[str, ...],
    context: BatchContext,
    even_empty: bool = False,
) -> DataFrame:
    """The rows of a room's kernel over a frame: TIME, SEQ, `order` and `fields`. See `run_kernel`."""
    own = [Field(name, LONG) for name in (TIME, SEQ, *order)]
    in_memory = context.estimated_rows <= context.rows_in_memory * (context.partitions if keys else 1)
    return run_kernel(
        frame, kernel, [*own, *fields], sort, keys, context.partitions, context.clock, in_memory, even_empty
    )


def _run_scan(node: Scan, context: BatchContext) -> DataFrame:
    frame = context.read(node)
    if frame is None:
        return context.spark.createDataFrame([], struct_type(node.columns))
    # The condition stands on the stored column, where Parquet's statistics can use it.
    if node.time.low is not None:
        frame = frame.where(F.col(TIME) >= F.timestamp_micros(F.lit(node.time.low)))
    if node.time.high is not None:
        frame = frame.where(F.col(TIME) < F.timestamp_micros(F.lit(node.time.high)))
    chosen = [quoted(a).alias(f.name) for a, f in zip(node.attributes, node.fields, strict=True)]
    return frame.select(F.unix_micros(F.col(TIME)).alias(TIME), F.col(SEQ), *chosen)


def _run_filter(node: Filter, context: BatchContext) -> DataFrame:
    return run(node.input, context).where(column(node.condition, context))


def _run_project(node: Project, context: BatchContext) -> DataFrame:
    outputs = [column(o.expr, context).alias(o.name) for o in node.outputs]
    return run(node.input, context).select(*ordering(node), *outputs)


def _run_merge(node: Merge, context: BatchContext) -> DataFrame:
    parts = []
    for rank, source in zip(node.ranks, node.sources, strict=True):
        order = padded_order(source, node.depth - 1)
        places = [F.lit(rank).cast("long"), *order]
        named = [place.alias(name) for place, name in zip(places, node.order, strict=True)]
        columns = [quoted(f.name) for f in node.fields]
        parts.append(run(source, context).select(F.col(TIME), F.col(SEQ), *named, *columns))
    if not parts:
        return context.spark.createDataFrame([], struct_type(node.columns, node.order))
    return reduce(DataFrame.unionAll, parts)


def padded_order(node: Node, depth: int) -> list[Column]:
    """The node's order columns, and zeros up to `depth`."""
    zeros = order_columns(depth)[node.depth :]
    return [*(F.col(o) for o in node.order), *(F.lit(0).cast("long").alias(z) for z in zeros)]


def _stamped(frame: DataFrame, node: Stamp) -> DataFrame:
    stamped = frame.select("*", F.timestamp_micros(F.col(node.shown)).alias("at"))
    return stamped if node.shown == TIME else stamped.drop(node.shown)


def _run_stamp(node: Stamp, context: BatchContext) -> DataFrame:
    return _stamped(run(node.input, context.inner(node.upper)), node)


def _run_retime(node: Retime, context: BatchContext) -> DataFrame:
    """Rows become events at their own time; one that is too far before the greatest so far is late and dropped."""
    frame = run(node.input, context.inner(node.upper)).where(quoted(node.column).isNotNull())
    new = F.unix_micros(quoted(node.column))
    # One partition, and said so: Spark warns of a window that names none.
    before = Window.partitionBy(F.lit(0)).orderBy(*ordering(node.input)).rowsBetween(Window.unboundedPreceding, -1)
    frame = frame.withColumn("_new", new).withColumn("_before", F.max("_new").over(before))
    frame = frame.where(F.col("_before").isNull() | (F.col("_new") >= F.col("_before") - F.lit(node.max_delay)))
    shifted = [F.col(old).alias(name) for old, name in zip((TIME, *node.input.order), node.order, strict=True)]
    columns = [quoted(c.name) for c in node.columns]
    return frame.select(F.col("_new").alias(TIME), F.col(SEQ), *shifted, *columns)


def _run_relation(node: RelationScan, context: BatchContext) -> DataFrame:
    """The relation's rows with their number as `_row`."""
    table = context.relations[node.relation]
    chosen = {f.name: table[a] for f, a in zip(node.fields, node.attributes, strict=True)}
    chosen["_row"] = pa.array(range(table.num_rows), pa.int64())
    return frame_of(context.spark, pa.table(chosen))


OPERATORS: dict[type[Node], Callable[..., DataFrame]] = {
    Scan: _run_scan,
    RelationScan: _run_relation,
    Filter: _run_filter,
    Project: _run_project,
    Merge: _run_merge,
    Stamp: _run_stamp,
    Retime: _run_retime,
}
