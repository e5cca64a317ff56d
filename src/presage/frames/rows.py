"""Rows between a DataFrame and the kernel: the columns that it reads, and the columns of the result.

All of it is Catalyst's. On the way columns go by their place: names may hold dots or differ only in case.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark
from pyspark.sql.pandas.types import to_arrow_schema, to_arrow_type

from presage.errors import error
from presage.execution.spark.expressions import compile_expression
from presage.execution.spark.types import to_spark
from presage.frames.planning import FramePlan, Output
from presage.plan.nodes import TIME

# The time of a row without one: before all others, as nulls are, and far enough from both ends of a LONG.
NO_TIME = -(1 << 61)


def kernel_rows(frame: DataFrame, plan: FramePlan, *further: Column) -> DataFrame:
    """TIME, further columns, what is prepared and what is carried."""
    places = plan.columns.places
    types = {place: to_spark(kind) for place, _, kind in plan.columns.known}

    def column(name: str) -> Column:
        place = places[name]
        given = F.col(f"c{place}")
        # Narrower numbers widen to types of the language.
        return given if plan.columns.schema[place].dataType == types[place] else given.cast(types[place])

    prepared = {n.name: compile_expression(n.expr, {}, column) for n in plan.input.prepared}
    time = F.unix_micros(prepared[plan.order[0][0]]) if plan.timed else F.lit(0)
    carried = [F.col(place).alias(name) for name, place in plan.input.carried]
    return frame.toDF(*(f"c{i}" for i in range(len(frame.columns)))).select(
        F.coalesce(time.cast("long"), F.lit(NO_TIME)).alias(TIME),
        *further,
        *(made.alias(name) for name, made in prepared.items()),
        *carried,
    )


def made_schema(plan: FramePlan) -> spark.StructType:
    """The kernel's columns."""
    made = [spark.StructField(f.name, to_spark(f.type)) for f in plan.stage.made]
    kept = [spark.StructField(name, plan.columns.schema[place].dataType) for name, place in plan.carried]
    return spark.StructType([*made, *kept])


def arrow_schema(schema: spark.StructType) -> pa.Schema:
    """The schema of rows on their way to and from the kernel: instants in UTC, whatever the session's zone."""
    for field in schema.fields:
        try:
            to_arrow_type(field.dataType, timezone="UTC")
        except PySparkTypeError:
            raise error(
                "DATA_SHAPE",
                what="ALL ROWS PER MATCH",
                fix="drop the column before: df.drop(…)",
                found=f"a column of Spark's type {field.dataType.simpleString().upper()} cannot be carried along",
            ) from None
    return to_arrow_schema(schema, timezone="UTC")


def result_rows(made: DataFrame, plan: FramePlan) -> DataFrame:
    """The columns of the result by their names."""
    columns = [_shown(output, plan) for output in plan.outputs]
    chosen = made.select(*(column.alias(f"c{i}") for i, column in enumerate(columns)))
    return chosen.toDF(*(output.name for output in plan.outputs))


def _shown(output: Output, plan: FramePlan) -> Column:
    if output.expr is None:
        return F.col(output.column)
    made = compile_expression(output.expr, {}, F.col)
    return made if output.place is None else made.cast(plan.columns.schema[output.place].dataType)


def sorting(order: Sequence[tuple[str, bool]]) -> list[Column]:
    """Nulls first ascending, last descending, as the language has it."""
    return [F.col(n).asc_nulls_first() if up else F.col(n).desc_nulls_last() for n, up in order]
