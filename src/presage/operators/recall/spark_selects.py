"""Selects of history as DataFrames: a batch of events is joined as a set.

Events are a small table: their number, the columns that the select names, and the bounds of their history in time and
arrival. No text of the user ever becomes SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from presage.execution.spark.batch import BatchContext, column
from presage.model.types import DOUBLE, INT, LONG, STRING, is_orderable
from presage.operators.recall.answers import ARRIVED, WHEN
from presage.operators.recall.history_chunks import Chunk
from presage.operators.recall.nodes import Nearby, Select, Source, Subquery, Windowed
from presage.operators.recall.questions import BEFORE, EVENT, EVER, HIGH, LOW
from presage.operators.recall.spark_aggregates import argument, definition, groups_frame, may_overflow, parts_frame
from presage.plan.expr import AggregateCall, ColumnRef, Comparison, Constant, Expr, conjuncts
from presage.plan.nodes import SEQ, TIME

TOO_LARGE = "a sum OVER rows leaves the range of LONG"
# The rows of a stream or relation, by its number.
Rows = Callable[[int], DataFrame]
# If events look for no more values than this, rows of history are filtered by them before the join.
MOST_VALUES = 100
# Types whose values are equal as literals exactly when they are in a join.
PLAIN_TYPES = (STRING, INT, LONG)


@dataclass(frozen=True)
class Asking:
    """The input of a select: the questions as a table and as a frame, and the rows of a chunk of history."""

    questions: pa.Table
    events: DataFrame
    rows: Rows
    chunk: Chunk
    context: BatchContext


def select_rows(select: Select, asking: Asking) -> DataFrame:
    """EVENT and the outputs, then the terms of its order, of a select without groups: as c0, c1 …; WHEN and ARRIVED if
    it reads a stream."""
    frame = joined(select, asking)
    for window in select.windows:
        frame = frame.withColumn(window.name, _over(window, frame, asking.context))
    terms = (*select.outputs, *select.sort)
    timed = [WHEN, ARRIVED] if WHEN in frame.columns else []
    return frame.select(EVENT, *timed, *(column(o.expr, asking.context).alias(f"c{i}") for i, o in enumerate(terms)))


def select_parts(select: Select, asking: Asking) -> DataFrame:
    """EVENT, the groups as g0 …, and the partial columns of the aggregates as p0 …, in their order. A group may have
    several rows."""
    return parts_frame(select, joined(select, asking), asking.context)


def select_groups(select: Select, asking: Asking) -> DataFrame:
    """EVENT, the event's columns that it names, the groups, the aggregates, and the answers of late subqueries. A sum
    that leaves the range of LONG is null, and flagged."""
    made = groups_frame(select, joined(select, asking), asking.context)
    # Without groups an aggregate of nothing is a row, too.
    made = asking.events.drop(LOW, HIGH, BEFORE).join(made, EVENT, "inner" if select.groups else "left")
    calls = [(c.name, c.expr) for c in select.calls if isinstance(c.expr, AggregateCall)]
    of_nothing = {name: value for name, call in calls if (value := definition(call).of_nothing) is not None}
    made = made.fillna(cast("dict[str, Any]", of_nothing)) if of_nothing else made
    for subquery in select.subqueries:
        made = _answered(subquery, made, asking) if subquery.late else made
    return made


def whole_select(select: Select, asking: Asking) -> DataFrame:
    """EVENT and the outputs as c0 …, after groups, HAVING, DISTINCT, ORDER BY and LIMIT: a select inside another."""
    terms = (*select.outputs, *select.sort)
    if not select.grouped:
        frame = select_rows(select, asking)
        ties = [name for name in (WHEN, ARRIVED) if name in frame.columns]
    else:
        made = select_groups(select, asking)
        if select.having is not None:
            made = made.where(column(select.having, asking.context))
        ties = [g.name for g in select.groups]
        shown = [column(o.expr, asking.context).alias(f"c{i}") for i, o in enumerate(terms)]
        frame = made.select(EVENT, *ties, *shown)
    if select.distinct:
        frame, ties = frame.drop(*ties).distinct(), []
    if select.limit is not None:
        # The order is that of `presage.operators.recall.answers`.
        count = len(select.outputs)
        order = [_directed(F.col(f"c{count + i}"), o.descending, o.nulls_first) for i, o in enumerate(select.order)]
        order += [F.col(name).asc() for name in ties]
        order += [F.col(f"c{i}").asc() for i, o in enumerate(select.outputs) if is_orderable(o.expr.type)]
        within = Window.partitionBy(EVENT).orderBy(*(order or [F.lit(0)]))
        frame = frame.withColumn("_n", F.row_number().over(within)).where(F.col("_n") <= select.limit).drop("_n")
    return frame.select(EVENT, *(f"c{i}" for i in range(len(select.outputs))))


def near_rows(stream: Nearby, width: int, asking: Asking) -> DataFrame:
    """As `select_rows`, of the events in the last `width` microseconds of each span."""
    return select_rows(
        Select((Source("", stream.number, window=width),), None, (), False, (), (), None, stream.attributes), asking
    )


# -- joining -----------------------------------------------------------------------------------------


def joined(select: Select, asking: Asking) -> DataFrame:
    """The rows of FROM and WHERE for every event."""
    pending = conjuncts(select.where)
    subqueries = {each.name for each in select.subqueries}
    frame = F.broadcast(asking.events)
    known = set(asking.events.columns)
    timed = False
    for source in select.sources:
        rows, columns = _source(source, asking)
        conditions = list(conjuncts(source.on))
        if not source.outer:
            ready = [c for c in pending if c.columns() <= known | columns and not c.columns() & subqueries]
            conditions += ready
            pending = [c for c in pending if c not in ready]
        tests = [column(c, asking.context) for c in conditions]
        if source.is_stream:
            rows = _looked_up(rows, columns, conditions, asking)
            frame, bounds = _bounded(source, frame, asking if tests else None)
            tests += bounds
        elif source.select is not None:
            tests.append(F.col(EVENT) == F.col(f"{EVENT}_{source.alias}"))
        frame = frame.join(rows, _all(tests), "left" if source.outer else "inner")
        if source.is_stream and not timed:
            frame, timed = frame.withColumnsRenamed({"_rt": WHEN, "_rs": ARRIVED}), True
        frame = frame.drop("_rt", "_rs", "_slice", "_rslice")
        known |= columns
    for subquery in select.subqueries:
        frame = frame if subquery.late else _answered(subquery, frame, asking)
    rest = [column(c, asking.context) for c in pending]
    return frame.where(_all(rest)) if rest else frame


def _source(source: Source, asking: Asking) -> tuple[DataFrame, set[str]]:
    if source.select is not None:
        made = whole_select(source.select, asking)
        names = {f"c{i}": f"{source.alias}.{o.name}" for i, o in enumerate(source.select.outputs)}
        return made.withColumnsRenamed({EVENT: f"{EVENT}_{source.alias}", **names}), set(names.values())
    assert source.number is not None
    rows = asking.rows(source.number)
    if source.relation:
        return F.broadcast(rows.drop("_row")), set(rows.columns)
    columns = set(rows.columns) - {TIME, SEQ}
    return rows.withColumnsRenamed({TIME: "_rt", SEQ: "_rs"}), columns


def _looked_up(rows: DataFrame, columns: set[str], conditions: Sequence[Expr], asking: Asking) -> DataFrame:
    """Only rows with a value that some event looks for: a filter on files is faster than a join."""
    for condition in conditions:
        if not (isinstance(condition, Comparison) and condition.op == "="):
            continue
        for mine, other in ((condition.left, condition.right), (condition.right, condition.left)):
            if not (isinstance(mine, ColumnRef) and isinstance(other, ColumnRef) and mine.name in columns):
                continue
            if other.name not in asking.questions.column_names or not mine.type == other.type in PLAIN_TYPES:
                continue
            values = asking.questions[other.name].unique().drop_null()
            if len(values) <= MOST_VALUES:
                rows = rows.where(column(mine, asking.context).isin(values.to_pylist()))
    return rows


def _bounded(source: Source, frame: DataFrame, asking: Asking | None) -> tuple[DataFrame, list[Column]]:
    """Conditions for rows in the history of each event; a window is joined by equality of slices of its width.

    With `asking`, conditions that all rows of the chunk satisfy are left out: then times and arrivals are not read."""
    # Events before the chunk have no questions to it.
    some = asking is not None and asking.questions.num_rows > 0
    asked, chunk = (asking.questions, asking.chunk) if asking is not None and some else (None, None)
    tests = []
    if asked is None or chunk is None or source.window is not None or pc.min(asked[HIGH]).as_py() < chunk.high:
        tests.append(F.col("_rt") < F.col(HIGH))
    if asked is None or pc.min(asked[BEFORE]).as_py() < EVER:
        tests.append(F.col("_rs") < F.col(BEFORE))
    if source.window is None:
        if asked is None or chunk is None or pc.max(asked[LOW]).as_py() > chunk.low:
            tests.append(F.col("_rt") >= F.col(LOW))
        return frame, tests
    width = F.lit(source.window)
    last = F.col(HIGH) - F.lit(1)
    if source.outer:
        # An event is in two slices, and in one of them it would have no partner.
        return frame, [*tests, F.col("_rt") > last - width]
    slices = F.array_distinct(F.array(_slice(last, width), _slice(last - width, width)))
    tests += [F.col("_rt") > last - width, F.col("_slice") == _slice(F.col("_rt"), width)]
    return frame.withColumn("_slice", F.explode(slices)), tests


def _slice(time: Column, width: Column) -> Column:
    return time - F.pmod(time, width)


def _answered(subquery: Subquery, frame: DataFrame, asking: Asking) -> DataFrame:
    """The frame with the answer of a subquery as a column."""
    key = f"{EVENT}{subquery.name}"
    found = whole_select(subquery.select, asking).withColumnRenamed(EVENT, key)
    if subquery.kind == "value":
        made = found.withColumnRenamed("c0", subquery.name)
    elif subquery.kind == "exists":
        made = found.groupBy(key).agg(F.count(F.lit(1)).alias("_rows"))
    else:
        made = found.groupBy(key).agg(
            F.collect_set("c0").alias("_values"),
            F.max(F.col("c0").isNull()).alias("_null"),
            F.count(F.lit(1)).alias("_rows"),
        )
    frame = frame.join(made, F.col(EVENT) == F.col(key), "left").drop(key)
    if subquery.kind == "value":
        return frame
    some = F.coalesce(F.col("_rows"), F.lit(0)) > 0
    if subquery.kind == "exists":
        return frame.withColumn(subquery.name, some).drop("_rows")
    assert subquery.operand is not None
    operand = column(subquery.operand, asking.context)
    # As in SQL: unknown if the value, or one of those it is compared with, is null and none is equal.
    unknown = operand.isNull() | F.col("_null")
    inside = F.coalesce(F.array_contains(F.col("_values"), operand), F.lit(False))
    among = F.when(~some, F.lit(False)).when(inside, F.lit(True)).when(unknown, F.lit(None)).otherwise(F.lit(False))
    return frame.withColumn(subquery.name, among).drop("_values", "_null", "_rows")


def _all(tests: list[Column]) -> Column:
    return reduce(lambda a, b: a & b, tests) if tests else F.lit(True)


def _directed(at: Column, descending: bool, nulls_first: bool) -> Column:
    if descending:
        return at.desc_nulls_first() if nulls_first else at.desc_nulls_last()
    return at.asc_nulls_first() if nulls_first else at.asc_nulls_last()


# -- window functions --------------------------------------------------------------------------------


def _over(window: Windowed, frame: DataFrame, context: BatchContext) -> Column:
    """The value of a window function for each row, within the rows of its event."""
    order = [
        _directed(column(term.expr, context), how.descending, how.nulls_first)
        for term, how in zip(window.sort, window.order, strict=True)
    ]
    if window.function in ("row_number", "ntile", "lag", "lead") and WHEN in frame.columns:
        # Equal rows have one order, independent of the chunks.
        order += [F.col(WHEN).asc(), F.col(ARRIVED).asc()]
    within = Window.partitionBy(EVENT, *(column(part, context) for part in window.partition))
    within = within.orderBy(*order) if order else within
    return _windowed(window, within, context)


def _windowed(window: Windowed, within: WindowSpec, context: BatchContext) -> Column:
    first = window.args[0] if window.args else None
    if isinstance(first, AggregateCall):
        value = argument(first, context)
        if not may_overflow(first):
            made: Column = definition(first).over(first, value)
            return made.over(within)
        total = definition(first).wide(first, value).over(within)
        return F.when(
            total.isNotNull(), F.coalesce(total.try_cast("long"), F.raise_error(F.lit(TOO_LARGE)).cast("long"))
        )
    if window.function in ("lag", "lead"):
        count = _count_of(window.args[1]) if len(window.args) > 1 else 1
        shift = F.lag if window.function == "lag" else F.lead
        moved = shift(column(window.args[0], context), count).over(within)
        if len(window.args) < 3:
            return moved
        # A null in a row is not a missing row.
        there = shift(F.lit(True), count).over(within)
        return F.when(there, moved).otherwise(column(window.args[2], context))
    if first is not None:
        return F.ntile(_count_of(first)).over(within).cast("long")
    ranked: Column = getattr(F, window.function)().over(within)  # one of RANKINGS, named as in Spark
    return ranked.cast("double" if window.type == DOUBLE else "long")


def _count_of(expr: Expr) -> int:
    assert isinstance(expr, Constant)
    assert isinstance(expr.value, int)
    return expr.value
