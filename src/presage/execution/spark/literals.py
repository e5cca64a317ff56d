"""Catalyst constants of a given type from Python values. TIMESTAMP is microseconds as int, or a datetime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from pyspark.sql import Column
from pyspark.sql import functions as F

from presage.execution.spark import utc_time as clock
from presage.execution.spark.types import to_spark
from presage.model import types as t
from presage.model.time import to_micros
from presage.model.types import ArrayOf, DataType, MapOf, StructOf


def literal(value: object, data_type: DataType) -> Column:
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
        return clock.from_micros(clock.whole(micros))
    if data_type == t.DOUBLE:
        return F.lit(float(cast(float, value)))
    return F.lit(value).cast(spark_type)
