"""Casts of Catalyst columns; NULL where a value cannot be converted, in any session."""

from __future__ import annotations

from pyspark.sql import Column

from presage.execution.spark import utc_time as clock
from presage.execution.spark.types import to_spark
from presage.model import types as t
from presage.model.types import DataType


def cast_column(column: Column, source: DataType, target: DataType) -> Column:
    if source == target:
        return column
    if t.common_type(source, target) == target:
        # Widening cannot fail, and Catalyst looks through a plain cast when it prunes and pushes filters.
        return column.cast(to_spark(target))
    if (source, target) == (t.STRING, t.TIMESTAMP):
        return clock.from_text(column)
    if (source, target) == (t.TIMESTAMP, t.STRING):
        return clock.to_text(column)
    return column.try_cast(to_spark(target))
