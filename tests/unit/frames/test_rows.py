"""Types of Spark on their way through Arrow."""

from __future__ import annotations

import pytest
from pyspark.sql import types as spark

from presage.errors import PresageError
from presage.frames.rows import arrow_schema


def test_times_travel_in_utc() -> None:
    schema = arrow_schema(spark.StructType([spark.StructField("at", spark.TimestampType())]))
    assert schema.field("at").type.tz == "UTC"


def test_a_column_that_arrow_cannot_hold_is_named_with_what_to_do() -> None:
    with pytest.raises(PresageError, match="INTERVAL") as caught:
        arrow_schema(spark.StructType([spark.StructField("x", spark.CalendarIntervalType())]))
    assert "df.drop" in caught.value.fix
