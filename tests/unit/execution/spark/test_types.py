"""Types of the language and of Spark, there and back."""

from __future__ import annotations

import pytest
from pyspark.sql import types as s

from presage.errors import PresageError
from presage.execution.spark.types import from_spark, to_spark
from presage.model.types import DOUBLE, INT, NULL, SCALARS, STRING, ArrayOf, DataType, DecimalOf, MapOf, StructOf

NESTED = [ArrayOf(STRING), MapOf(STRING, ArrayOf(INT)), StructOf((("a.b", DOUBLE), ("x", StructOf((("y", INT),)))))]


@pytest.mark.parametrize("data_type", [*SCALARS.values(), DecimalOf(38, 10), NULL, *NESTED], ids=str)
def test_every_type_comes_back(data_type: DataType) -> None:
    assert from_spark(to_spark(data_type), "c") == data_type


@pytest.mark.parametrize(("found", "expected"), [(s.ByteType(), INT), (s.ShortType(), INT), (s.FloatType(), DOUBLE)])
def test_narrow_numbers_widen(found: s.DataType, expected: DataType) -> None:
    assert from_spark(found, "c") == expected


def test_a_type_without_counterpart_is_refused_with_the_cast() -> None:
    found = s.StructType().add("price", s.TimestampNTZType())
    schema = s.StructType().add("ok", s.StringType()).add("where", found)
    with pytest.raises(PresageError) as caught:
        [from_spark(field.dataType, field.name) for field in schema.fields]
    assert caught.value.code == "DATA_SHAPE"
    assert "column 'where.price'" in caught.value.message
    assert "AS TIMESTAMP)" in caught.value.fix
    assert "'where'" in caught.value.fix


def test_other_types_are_to_be_left_out() -> None:
    with pytest.raises(PresageError) as caught:
        from_spark(s.ArrayType(s.VariantType()), "v")
    assert caught.value.fix == "leave the column out"
