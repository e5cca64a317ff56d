"""Aggregates of a select in Spark: by Catalyst where the order of rows does not matter, else by exact sums.

Spark adds doubles in the order of the rows, which depends on files and partitions. So a select that adds doubles is
aggregated in Python workers, with `presage.operators.recall.partial`: first within each partition, then per event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from presage.errors import unsupported
from presage.execution.spark.arithmetic import plain_zero
from presage.execution.spark.batch import BatchContext, column
from presage.functions.aggregates import AggregateFunction, aggregate_named
from presage.functions.aggregates.parts import COUNT, GREATEST_VALUE, HIGH, LEAST, LOW, SEQ, TIME, TRUE, VALUE
from presage.model.arrow import to_arrow
from presage.operators.recall.answers import ARRIVED, WHEN, aggregates_of
from presage.operators.recall.finish import BEYOND, finish_in_range
from presage.operators.recall.nodes import Select
from presage.operators.recall.partial import Aggregate, merge_parts, parts_of
from presage.operators.recall.questions import EVENT, EVER
from presage.plan.expr import AggregateCall

ROWS_AT_ONCE = 1_000_000  # that a worker holds before it computes their parts
OUTPUT_ROWS = 100_000


def parts_frame(select: Select, frame: DataFrame, context: BatchContext) -> DataFrame:
    """EVENT, the groups as g0 …, and the partial columns of the aggregates as p0 …, in their order: several rows of a
    group if doubles are added, else one. `frame` has the rows of FROM and WHERE."""
    aggregates = aggregates_of(select)
    groups = [column(g.expr, context).alias(f"g{i}") for i, g in enumerate(select.groups)]
    if any(aggregate.adds_doubles for aggregate in aggregates):
        return _parts_by_workers(select, aggregates, frame.select(EVENT, *groups, *_rows(select, frame, context)))
    parts = [
        _part(aggregate, kind, argument(call, context))
        for call, aggregate in zip(_calls(select).values(), aggregates, strict=True)
        for kind in aggregate.kinds
    ]
    named = [part.alias(f"p{i}") for i, part in enumerate(parts)]
    return frame.groupBy(EVENT, *groups).agg(*(named or [F.count(F.lit(1)).alias("rows")]))


def groups_frame(select: Select, frame: DataFrame, context: BatchContext) -> DataFrame:
    """EVENT, the groups and the aggregates, by name. A sum that leaves the range of LONG is null, and flagged."""
    if select.in_parts() and any(a.by_parts for a in aggregates_of(select)):
        return _groups_by_workers(select, parts_frame(select, frame, context))
    groups = [column(g.expr, context).alias(g.name) for g in select.groups]
    calls = [_aggregate(call, context).alias(name) for name, call in _calls(select).items()]
    for name, call in _calls(select).items():
        if may_overflow(call):
            total = definition(call).wide(call, argument(call, context))
            calls.append((total.isNotNull() & total.try_cast("long").isNull()).alias(name + BEYOND))
    return frame.groupBy(EVENT, *groups).agg(*(calls or [F.count(F.lit(1)).alias("_rows")])).drop("_rows")


# -- in workers --------------------------------------------------------------------------------------


def _rows(select: Select, frame: DataFrame, context: BatchContext) -> list[Column]:
    """What workers need of each row: arguments as x0 …, and its time and arrival."""
    calls = enumerate(_calls(select).values())
    args = [argument(call, context).alias(f"x{i}") for i, call in calls if call.arg is not None]
    # A row of an outer join without an event comes first.
    first, nowhere = F.lit(-EVER), F.lit(0).cast("long")
    places = (F.coalesce(F.col(name), first) if name in frame.columns else nowhere for name in (WHEN, ARRIVED))
    return [*args, *(place.alias(name) for place, name in zip(places, (WHEN, ARRIVED), strict=True))]


def _parts_by_workers(select: Select, aggregates: Sequence[Aggregate], rows: DataFrame) -> DataFrame:
    keys = [EVENT, *(f"g{i}" for i in range(len(select.groups)))]
    args = [None if call.arg is None else f"x{i}" for i, call in enumerate(_calls(select).values())]
    named = list(zip(aggregates, args, strict=True))
    columns = _part_types(aggregates)
    schema = _schema(select, [(f"p{i}", kind) for i, kind in enumerate(columns.values())])

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tables, held = list[pa.Table](), list[pa.RecordBatch]()
        for batch in batches:
            held.append(batch)
            if sum(b.num_rows for b in held) >= ROWS_AT_ONCE:
                tables.append(parts_of(pa.Table.from_batches(held), keys, named, WHEN, ARRIVED))
                held = []
        if held:
            tables.append(parts_of(pa.Table.from_batches(held), keys, named, WHEN, ARRIVED))
        if tables:
            parts = merge_parts(tables, keys, aggregates) if len(tables) > 1 else tables[0]
            yield from _shaped(parts.select([*keys, *columns]), schema)

    return rows.mapInArrow(work, schema[1])


def _groups_by_workers(select: Select, parts: DataFrame) -> DataFrame:
    aggregates = aggregates_of(select)
    keys = [EVENT, *(f"g{i}" for i in range(len(select.groups)))]
    columns = list(_part_types(aggregates))
    sums = [a for a in aggregates if a.definition.may_overflow(a.result_type)]
    values = [(f"a{i}", to_arrow(a.result_type)) for i, a in enumerate(aggregates)]
    schema = _schema(select, [*values, *((f"b{i}", pa.bool_()) for i in range(len(sums)))])

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = [batch.rename_columns([*keys, *columns]) for batch in batches]
        if held:
            yield from _shaped(finish_in_range(pa.Table.from_batches(held), keys, aggregates), schema)

    finished = parts.repartition(F.col(EVENT)).mapInArrow(work, schema[1])
    names = [g.name for g in select.groups] + [a.output for a in aggregates] + [a.output + BEYOND for a in sums]
    return finished.toDF(EVENT, *names)


def _part_types(aggregates: Sequence[Aggregate]) -> dict[str, pa.DataType]:
    return {name: kind for aggregate in aggregates for name, kind in aggregate.partial_columns().items()}


def _schema(select: Select, further: Sequence[tuple[str, pa.DataType]]) -> tuple[pa.Schema, StructType]:
    """The schema of EVENT, the groups and further columns, for Arrow and for Spark."""
    groups = [(f"g{i}", to_arrow(g.expr.type)) for i, g in enumerate(select.groups)]
    arrow = pa.schema([(EVENT, pa.int64()), *groups, *further])
    return arrow, from_arrow_schema(arrow)


def _shaped(table: pa.Table, schema: tuple[pa.Schema, StructType]) -> Iterator[pa.RecordBatch]:
    # Spark takes columns by position and does not check their types.
    yield from table.rename_columns(schema[0].names).cast(schema[0]).to_batches(max_chunksize=OUTPUT_ROWS)


# -- by Catalyst -------------------------------------------------------------------------------------


def _calls(select: Select) -> dict[str, AggregateCall]:
    return {call.name: call.expr for call in select.calls if isinstance(call.expr, AggregateCall)}


def argument(call: AggregateCall, context: BatchContext) -> Column:
    if call.arg is None:
        return F.lit(1)
    value = column(call.arg, context)
    # Which of 0.0 and -0.0 is least would depend on their order.
    compared = {LEAST, GREATEST_VALUE}.intersection(definition(call).parts(integral=False))
    return plain_zero(value, call.arg.type) if compared else value


def definition(call: AggregateCall) -> AggregateFunction:
    return aggregate_named(call.function)


def may_overflow(call: AggregateCall) -> bool:
    return definition(call).may_overflow(call.type)


def _aggregate(call: AggregateCall, context: BatchContext) -> Column:
    """An aggregate over all rows of a group."""
    place = F.struct(F.col(WHEN), F.col(ARRIVED))
    made: Column | None = definition(call).catalyst(call, argument(call, context), place)
    if made is None:
        raise unsupported(call.span, f"the aggregate {call.function}", "in RECALL", "")
    return made


def _part(aggregate: Aggregate, kind: str, value: Column) -> Column:
    """A partial column of an aggregate (`presage.operators.recall.partial`)."""
    if kind in (TIME, SEQ, VALUE):
        place = F.struct(F.col(WHEN), F.col(ARRIVED))
        whole = F.struct(F.col(WHEN).alias(TIME), F.col(ARRIVED).alias(SEQ), value.alias(VALUE))
        return (F.max_by if aggregate.definition.newest else F.min_by)(whole, place)[kind]
    whole_number = value.cast("long")
    columns: dict[str, Callable[[], Column]] = {
        COUNT: lambda: F.count(value),
        TRUE: lambda: F.count_if(value),
        HIGH: lambda: F.coalesce(F.sum(F.shiftright(whole_number, 32)), F.lit(0)),
        LOW: lambda: F.coalesce(F.sum(whole_number.bitwiseAND(F.lit(0xFFFFFFFF))), F.lit(0)),
        LEAST: lambda: F.min(value),
        GREATEST_VALUE: lambda: F.max(value),
    }
    return columns[kind]()
