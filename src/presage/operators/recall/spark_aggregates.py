"""Aggregates of a select in Spark: by Catalyst where the order of rows does not matter, else by exact sums.

Spark adds doubles in the order in which rows come, which depends on files and partitions. So a select that adds doubles
is aggregated in Python workers, with `presage.operators.recall.partial`: first within each partition, then per event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from presage.arrays.columns import with_nulls
from presage.errors import error
from presage.execution.spark.arithmetic import plain_zero
from presage.execution.spark.batch import BatchContext, column
from presage.functions.aggregates import aggregate_named
from presage.functions.aggregates.parts import COUNT, GREATEST_VALUE, HIGH, LEAST, LOW, SEQ, TIME, VALUE
from presage.functions.catalyst.sorted_doubles import whole_sum
from presage.model.arrow import to_arrow
from presage.model.types import LONG
from presage.operators.recall.answers import ARRIVED, WHEN, aggregates_of
from presage.operators.recall.finish import beyond, finish
from presage.operators.recall.nodes import Select
from presage.operators.recall.partial import Aggregate, merge_parts, parts_of
from presage.operators.recall.questions import EVENT
from presage.plan.expr import AggregateCall, Expr
from presage.plan.nodes import Named

# Behind the name of a sum: whether it has left the range of LONG.
BEYOND = "_beyond"
ROWS_AT_ONCE = 1_000_000  # that a worker holds before it makes parts of them
OUTPUT_ROWS = 100_000


def parts_frame(select: Select, frame: DataFrame, context: BatchContext) -> DataFrame:
    """EVENT, the groups as g0 …, and the partial columns of the aggregates as p0 …, in their order: several rows of a
    group, where doubles are added, else one. `frame` has the rows of FROM and WHERE."""
    aggregates = aggregates_of(select)
    groups = [column(g.expr, context).alias(f"g{i}") for i, g in enumerate(select.groups)]
    if any(aggregate.adds_doubles for aggregate in aggregates):
        return _parts_by_workers(select, aggregates, frame.select(EVENT, *groups, *_rows(select, frame, context)))
    made: list[Column] = []
    for call, aggregate in zip(select.calls, aggregates, strict=True):
        value = _argument(call, context)
        made += [_part(aggregate, kind, value) for kind in aggregate.kinds]
    named = [part.alias(f"p{i}") for i, part in enumerate(made)]
    return frame.groupBy(EVENT, *groups).agg(*(named or [F.count(F.lit(1)).alias("rows")]))


def groups_frame(select: Select, frame: DataFrame, context: BatchContext) -> DataFrame:
    """EVENT, the groups and the aggregates, by name. A sum that leaves the range of LONG is null, and the column of its
    name and BEYOND says so."""
    if select.in_parts() and any(a.by_parts for a in aggregates_of(select)):
        return _groups_by_workers(select, parts_frame(select, frame, context))
    groups = [column(g.expr, context).alias(g.name) for g in select.groups]
    calls = [_aggregate(c, context).alias(c.name) for c in select.calls]
    calls += [_beyond(c, context).alias(c.name + BEYOND) for c in select.calls if is_whole_sum(c.expr)]
    return frame.groupBy(EVENT, *groups).agg(*(calls or [F.count(F.lit(1)).alias("_rows")])).drop("_rows")


# -- in workers --------------------------------------------------------------------------------------


def _rows(select: Select, frame: DataFrame, context: BatchContext) -> list[Column]:
    """What workers need of each row: arguments as x0 …, and its time and arrival."""
    args = [_argument(call, context).alias(f"x{i}") for i, call in enumerate(select.calls) if not _is_star(call)]
    nowhere = F.lit(0).cast("long")
    return [*args, *(F.col(name) if name in frame.columns else nowhere.alias(name) for name in (WHEN, ARRIVED))]


def _parts_by_workers(select: Select, aggregates: Sequence[Aggregate], rows: DataFrame) -> DataFrame:
    keys = [EVENT, *(f"g{i}" for i in range(len(select.groups)))]
    args = [None if _is_star(call) else f"x{i}" for i, call in enumerate(select.calls)]
    named = list(zip(aggregates, args, strict=True))
    columns = _part_types(aggregates)
    schema = _schema(select, [(f"p{i}", kind) for i, kind in enumerate(columns.values())])

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made, held = list[pa.Table](), list[pa.RecordBatch]()
        for batch in batches:
            held.append(batch)
            if sum(b.num_rows for b in held) >= ROWS_AT_ONCE:
                made.append(parts_of(pa.Table.from_batches(held), keys, named, WHEN, ARRIVED))
                held = []
        if held:
            made.append(parts_of(pa.Table.from_batches(held), keys, named, WHEN, ARRIVED))
        if made:
            parts = merge_parts(made, keys, aggregates) if len(made) > 1 else made[0]
            yield from _shaped(parts.select([*keys, *columns]), schema)

    return rows.mapInArrow(work, schema[1])


def _groups_by_workers(select: Select, parts: DataFrame) -> DataFrame:
    aggregates = aggregates_of(select)
    keys = [EVENT, *(f"g{i}" for i in range(len(select.groups)))]
    columns = list(_part_types(aggregates))
    sums = [a for a, c in zip(aggregates, select.calls, strict=True) if is_whole_sum(c.expr)]
    values = [(f"a{i}", to_arrow(a.result_type)) for i, a in enumerate(aggregates)]
    schema = _schema(select, [*values, *((f"b{i}", pa.bool_()) for i in range(len(sums)))])

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = [batch.rename_columns([*keys, *columns]) for batch in batches]
        if held:
            yield from _shaped(_finished(pa.Table.from_batches(held), keys, aggregates, sums), schema)

    found = parts.repartition(F.col(EVENT)).mapInArrow(work, schema[1])
    names = [g.name for g in select.groups] + [a.output for a in aggregates] + [a.output + BEYOND for a in sums]
    return found.toDF(EVENT, *names)


def _finished(
    parts: pa.Table, keys: Sequence[str], aggregates: Sequence[Aggregate], sums: Sequence[Aggregate]
) -> pa.Table:
    """The values of each key; of sums that leave the range null, and beside all of them whether they do."""
    merged = merge_parts([parts], keys, aggregates)
    too_large = {aggregate.output: beyond(aggregate, merged) for aggregate in sums}
    for aggregate in sums:
        for kind in (COUNT, HIGH, LOW):
            name = aggregate.column(kind)
            kept = np.where(too_large[aggregate.output], 0, merged[name].to_numpy())
            merged = merged.set_column(merged.column_names.index(name), name, pa.array(kept))
    made = finish(merged, keys, aggregates)
    for name, flags in too_large.items():
        made = made.append_column(name + BEYOND, with_nulls(flags, np.ones(len(flags), np.bool_)))
    return made


def _part_types(aggregates: Sequence[Aggregate]) -> dict[str, pa.DataType]:
    return {name: kind for aggregate in aggregates for name, kind in aggregate.partial_columns().items()}


def _schema(select: Select, further: Sequence[tuple[str, pa.DataType]]) -> tuple[pa.Schema, StructType]:
    """Of EVENT, the groups and further columns, for Arrow and for Spark."""
    groups = [(f"g{i}", to_arrow(g.expr.type)) for i, g in enumerate(select.groups)]
    arrow = pa.schema([(EVENT, pa.int64()), *groups, *further])
    return arrow, from_arrow_schema(arrow)


def _shaped(table: pa.Table, schema: tuple[pa.Schema, StructType]) -> Iterator[pa.RecordBatch]:
    # Spark takes columns by position and does not check their types.
    yield from table.rename_columns(schema[0].names).cast(schema[0]).to_batches(max_chunksize=OUTPUT_ROWS)


def _is_star(call: Named) -> bool:
    return isinstance(call.expr, AggregateCall) and call.expr.arg is None


# -- by Catalyst -------------------------------------------------------------------------------------


def _argument(call: Named, context: BatchContext) -> Column:
    assert isinstance(call.expr, AggregateCall)
    return F.lit(1) if call.expr.arg is None else column(call.expr.arg, context)


def is_count(expr: Expr) -> bool:
    return isinstance(expr, AggregateCall) and expr.function == "count"


def is_whole_sum(expr: Expr) -> bool:
    return isinstance(expr, AggregateCall) and expr.function == "sum" and expr.type == LONG


def _beyond(call: Named, context: BatchContext) -> Column:
    assert isinstance(call.expr, AggregateCall)
    total = whole_sum(call.expr, _argument(call, context))
    return total.isNotNull() & total.try_cast("long").isNull()


def _aggregate(call: Named, context: BatchContext) -> Column:
    """An aggregate over all rows of a group."""
    expr, value = call.expr, _argument(call, context)
    assert isinstance(expr, AggregateCall)
    made: Column | None = aggregate_named(expr.function).catalyst(expr, value, F.struct(F.col(WHEN), F.col(ARRIVED)))
    if made is None:
        raise error("UNSUPPORTED", expr.span, what=f"the aggregate {expr.function}", where="in RECALL", fix="")
    return made


def _part(aggregate: Aggregate, kind: str, value: Column) -> Column:
    """A partial column of an aggregate (`presage.operators.recall.partial`)."""
    if kind in (TIME, SEQ, VALUE):
        place = F.struct(F.col(WHEN), F.col(ARRIVED))
        whole = F.struct(F.col(WHEN).alias(TIME), F.col(ARRIVED).alias(SEQ), value.alias(VALUE))
        return (F.max_by if aggregate_named(aggregate.function).newest else F.min_by)(whole, place)[kind]
    whole_number = value.cast("long")
    # Which of 0.0 and -0.0 is least would depend on their order.
    plain = value if aggregate.type is None else plain_zero(value, aggregate.type)
    made: dict[str, Callable[[], Column]] = {
        COUNT: lambda: F.count(value),
        HIGH: lambda: F.coalesce(F.sum(F.shiftright(whole_number, 32)), F.lit(0)),
        LOW: lambda: F.coalesce(F.sum(whole_number.bitwiseAND(F.lit(0xFFFFFFFF))), F.lit(0)),
        LEAST: lambda: F.min(plain),
        GREATEST_VALUE: lambda: F.max(plain),
    }
    return made[kind]()
