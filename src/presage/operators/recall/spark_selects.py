"""Selects of history as DataFrames: each batch of events is joined as a set.

Events come as a small table: their number, the columns that the select names, and between which times and before which
arrival the history of each lies. No text of the user's ever becomes SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from presage.execution.spark.batch import BatchContext, column
from presage.functions.aggregates import aggregate_named
from presage.functions.catalyst.sorted_doubles import whole_sum
from presage.model.types import DOUBLE, INT, LONG, STRING, is_orderable
from presage.operators.recall.answers import ARRIVED, WHEN
from presage.operators.recall.history_chunks import Chunk
from presage.operators.recall.nodes import Asked, Select, Source, Windowed
from presage.operators.recall.questions import BEFORE, EVENT, EVER, HIGH, LOW
from presage.operators.recall.spark_aggregates import groups_frame, is_count, is_whole_sum, parts_frame
from presage.plan.expr import AggregateCall, ColumnRef, Comparison, Constant, Expr, conjuncts
from presage.plan.nodes import SEQ, TIME

TOO_LARGE = "a sum OVER rows leaves the range of LONG"
# The rows of a stream or relation, by its number.
Rows = Callable[[int], DataFrame]


# Rows of history are first looked up among so many values, if events ask for no more, and then joined.
MOST_VALUES = 100
# Types whose values are equal as literals just when they are in a join.
PLAIN_TYPES = (STRING, INT, LONG)


@dataclass(frozen=True)
class Asking:
    """What a select is asked with: the questions as a table and as a frame, and the rows of a span of history."""

    questions: pa.Table
    events: DataFrame
    rows: Rows
    unit: Chunk
    context: BatchContext


def select_rows(select: Select, asking: Asking) -> DataFrame:
    """EVENT and the outputs, then the terms of its order, for a select without groups: as c0, c1 …; WHEN and ARRIVED
    where it reads a stream."""
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
    """EVENT, what it names of the event, the groups, the aggregates, and the answers of selects beside them. A sum
    that leaves the range of LONG is null, and the column of its name and BEYOND says so."""
    made = groups_frame(select, joined(select, asking), asking.context)
    # Without groups an aggregate of nothing is a row, too.
    made = asking.events.drop(LOW, HIGH, BEFORE).join(made, EVENT, "inner" if select.groups else "left")
    counts: dict[str, bool | float | int | str] = {c.name: 0 for c in select.calls if is_count(c.expr)}
    made = made.fillna(counts) if counts else made
    for question in select.asked:
        made = _answered(question, made, asking) if question.late else made
    return made


def whole_select(select: Select, asking: Asking) -> DataFrame:
    """EVENT and the outputs as c0 …, with groups, HAVING, DISTINCT, ORDER BY and LIMIT done: of a select in another."""
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
        # In the order of `presage.operators.recall.answers`.
        count = len(select.outputs)
        order = [_direction(f"c{count + i}", o.descending, o.nulls_first) for i, o in enumerate(select.order)]
        order += [F.col(name).asc() for name in ties]
        order += [F.col(f"c{i}").asc() for i, o in enumerate(select.outputs) if is_orderable(o.expr.type)]
        within = Window.partitionBy(EVENT).orderBy(*(order or [F.lit(0)]))
        frame = frame.withColumn("_n", F.row_number().over(within)).where(F.col("_n") <= select.limit).drop("_n")
    return frame.select(EVENT, *(f"c{i}" for i in range(len(select.outputs))))


# -- joining -----------------------------------------------------------------------------------------


def joined(select: Select, asking: Asking) -> DataFrame:
    """The rows of FROM and WHERE for every event."""
    pending = conjuncts(select.where)
    asked = {a.name for a in select.asked}
    frame = F.broadcast(asking.events)
    known = set(asking.events.columns)
    timed = False
    for source in select.sources:
        rows, columns = _source(source, asking)
        conditions = list(conjuncts(source.on))
        if not source.outer:
            ready = [c for c in pending if c.columns() <= known | columns and not c.columns() & asked]
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
    for question in select.asked:
        frame = frame if question.late else _answered(question, frame, asking)
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
    """Only rows that have a value which some event asks for: sooner found in a file than by a join."""
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
    """Only events of the history of each; with a window, slices of time as wide as that are joined by equality.

    With `asking`, what the whole span satisfies is not asked: then times and arrivals need not be read."""
    # Events before all of the span ask nothing of it.
    some = asking is not None and asking.questions.num_rows > 0
    asked, unit = (asking.questions, asking.unit) if asking is not None and some else (None, None)
    tests = []
    if asked is None or unit is None or source.window is not None or pc.min(asked[HIGH]).as_py() < unit.high:
        tests.append(F.col("_rt") < F.col(HIGH))
    if asked is None or pc.min(asked[BEFORE]).as_py() < EVER:
        tests.append(F.col("_rs") < F.col(BEFORE))
    if source.window is None:
        if asked is None or unit is None or pc.max(asked[LOW]).as_py() > unit.low:
            tests.append(F.col("_rt") >= F.col(LOW))
        return frame, tests
    width = F.lit(source.window)
    last = F.col(HIGH) - F.lit(1)
    if source.outer:
        # An event in two slices would be without a partner in one of them.
        return frame, [*tests, F.col("_rt") > last - width]
    slices = F.array_distinct(F.array(_slice(last, width), _slice(last - width, width)))
    tests += [F.col("_rt") > last - width, F.col("_slice") == _slice(F.col("_rt"), width)]
    return frame.withColumn("_slice", F.explode(slices)), tests


def _slice(time: Column, width: Column) -> Column:
    return time - F.pmod(time, width)


def _answered(question: Asked, frame: DataFrame, asking: Asking) -> DataFrame:
    """The frame with the answer of a select in a term as a column."""
    key = f"{EVENT}{question.name}"
    found = whole_select(question.select, asking).withColumnRenamed(EVENT, key)
    if question.kind == "value":
        made = found.withColumnRenamed("c0", question.name)
    elif question.kind == "exists":
        made = found.groupBy(key).agg(F.count(F.lit(1)).alias("_rows"))
    else:
        made = found.groupBy(key).agg(
            F.collect_set("c0").alias("_values"),
            F.max(F.col("c0").isNull()).alias("_null"),
            F.count(F.lit(1)).alias("_rows"),
        )
    frame = frame.join(made, F.col(EVENT) == F.col(key), "left").drop(key)
    if question.kind == "value":
        return frame
    some = F.coalesce(F.col("_rows"), F.lit(0)) > 0
    if question.kind == "exists":
        return frame.withColumn(question.name, some).drop("_rows")
    assert question.operand is not None
    operand = column(question.operand, asking.context)
    # As SQL has it: unknown where the value, or one of those it is compared with, is null and none is equal.
    unknown = operand.isNull() | F.col("_null")
    inside = F.coalesce(F.array_contains(F.col("_values"), operand), F.lit(False))
    among = F.when(~some, F.lit(False)).when(inside, F.lit(True)).when(unknown, F.lit(None)).otherwise(F.lit(False))
    return frame.withColumn(question.name, among).drop("_values", "_null", "_rows")


def _all(tests: list[Column]) -> Column:
    return reduce(lambda a, b: a & b, tests) if tests else F.lit(True)


def _direction(name: str, descending: bool, nulls_first: bool) -> Column:
    return _directed(F.col(name), descending, nulls_first)


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
        # Equal rows have one order, whatever the chunks.
        order += [F.col(WHEN).asc(), F.col(ARRIVED).asc()]
    within = Window.partitionBy(EVENT, *(column(part, context) for part in window.partition))
    within = within.orderBy(*order) if order else within
    return _windowed(window, within, context)


def _windowed(window: Windowed, within: WindowSpec, context: BatchContext) -> Column:
    first = window.args[0] if window.args else None
    if isinstance(first, AggregateCall):
        value = F.lit(1) if first.arg is None else column(first.arg, context)
        if not is_whole_sum(first):
            made: Column = aggregate_named(first.function).over(value)
            return made.over(within)
        total = whole_sum(first, value).over(within)
        return F.when(
            total.isNotNull(), F.coalesce(total.try_cast("long"), F.raise_error(F.lit(TOO_LARGE)).cast("long"))
        )
    if window.function in ("lag", "lead"):
        count = _count_of(window.args[1]) if len(window.args) > 1 else 1
        moved = (F.lag if window.function == "lag" else F.lead)(column(window.args[0], context), count).over(within)
        if len(window.args) < 3:
            return moved
        # A null that is there is no missing row.
        there = (F.lag if window.function == "lag" else F.lead)(F.lit(True), count).over(within)
        return F.when(there, moved).otherwise(column(window.args[2], context))
    if first is not None:
        return F.ntile(_count_of(first)).over(within).cast("long")
    made = {
        "row_number": F.row_number,
        "rank": F.rank,
        "dense_rank": F.dense_rank,
        "percent_rank": F.percent_rank,
        "cume_dist": F.cume_dist,
    }[window.function]().over(within)
    return made.cast("double" if window.type == DOUBLE else "long")


def _count_of(expr: Expr) -> int:
    assert isinstance(expr, Constant)
    assert isinstance(expr.value, int)
    return expr.value
