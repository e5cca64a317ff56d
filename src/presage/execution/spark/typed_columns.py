"""Catalyst columns of the language's types: constants from Python values, and casts.

A cast gives NULL where a value cannot be converted, in any session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import cast

from pyspark.sql import Column
from pyspark.sql import functions as F

from presage.execution.spark import utc_time
from presage.execution.spark.types import to_spark
from presage.model import types as t
from presage.model.time import EPOCH_DAY, to_micros
from presage.model.types import ArrayOf, DataType, DecimalOf, MapOf, StructOf


def literal(value: object, data_type: DataType) -> Column:
    """A constant. TIMESTAMP is microseconds as int, or a datetime; DATE days as int."""
    spark_type = to_spark(data_type)
    if value is None:
        return F.lit(None).cast(spark_type)
    if isinstance(data_type, ArrayOf):
        elements = [literal(v, data_type.element) for v in cast(Sequence[object], value)]
        return F.array(*elements).cast(spark_type)
    if isinstance(data_type, MapOf):
        pairs = cast(Mapping[object, object], value).items()
        parts = [part for k, v in pairs for part in (literal(k, data_type.key), literal(v, data_type.value))]
        return F.create_map(*parts).cast(spark_type)
    if isinstance(data_type, StructOf):
        values = value.values() if isinstance(value, Mapping) else cast(Sequence[object], value)
        fields = zip(data_type.fields, values, strict=True)
        return F.struct(*[literal(v, field).alias(name) for (name, field), v in fields])
    if data_type == t.TIMESTAMP:
        micros = to_micros(value) if isinstance(value, datetime) else cast(int, value)
        return utc_time.from_micros(utc_time.whole(micros))
    if data_type == t.DATE:
        days = value.toordinal() - EPOCH_DAY if isinstance(value, date) else cast(int, value)
        return F.date_from_unix_date(F.lit(days))
    if data_type == t.DOUBLE:
        return F.lit(float(cast(float, value)))
    return F.lit(value).cast(spark_type)


# As the evaluator reads a number in a text.
_NUMBER = r"^[\x00-\x20]*[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,3})?[\x00-\x20]*\z"
_DAYS: dict[tuple[DataType, DataType], Callable[[Column], Column]] = {
    (t.DATE, t.TIMESTAMP): utc_time.midnight,
    (t.TIMESTAMP, t.DATE): utc_time.date_of,
    (t.STRING, t.DATE): utc_time.date_from_text,
    (t.BYTES, t.STRING): F.try_validate_utf8,
}


def _text_to_decimal(column: Column, target: DecimalOf) -> Column:
    return F.when(F.rlike(column, F.lit(_NUMBER)), column).try_cast(to_spark(target))


def cast_column(column: Column, source: DataType, target: DataType) -> Column:
    if source == target:
        return column
    if isinstance(target, DecimalOf) and source == t.STRING:
        return _text_to_decimal(column, target)
    if isinstance(source, DecimalOf) and target == t.INT:
        # Spark compares with the range as doubles; by way of LONG it is exact.
        return column.try_cast(to_spark(t.LONG)).try_cast(to_spark(t.INT))
    if (source, target) in _DAYS:
        return _DAYS[source, target](column)
    if t.common_type(source, target) == target:
        # Widening cannot fail, and Catalyst looks through a plain cast when it prunes and pushes filters.
        return column.cast(to_spark(target))
    if (source, target) == (t.STRING, t.TIMESTAMP):
        return utc_time.from_text(column)
    if (source, target) == (t.TIMESTAMP, t.STRING):
        return utc_time.to_text(column)
    return column.try_cast(to_spark(target))
