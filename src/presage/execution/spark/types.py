"""Conversion to Spark: of types, of Arrow tables; and back. A type without counterpart is an error with the cast."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s
from pyspark.sql.pandas.types import from_arrow_schema

from presage.errors import PresageError, error
from presage.model import types as t
from presage.model.types import ArrayOf, DataType, DecimalOf, MapOf, StructOf

_TO_SPARK: dict[DataType, s.DataType] = {
    t.STRING: s.StringType(),
    t.INT: s.IntegerType(),
    t.LONG: s.LongType(),
    t.DOUBLE: s.DoubleType(),
    t.BOOLEAN: s.BooleanType(),
    t.TIMESTAMP: s.TimestampType(),
    t.DATE: s.DateType(),
    t.BYTES: s.BinaryType(),
    t.NULL: s.NullType(),
}
# Narrower numbers widen without loss.
_FROM_SPARK: dict[type[s.DataType], DataType] = {
    **{type(spark): ours for ours, spark in _TO_SPARK.items()},
    s.ByteType: t.INT,
    s.ShortType: t.INT,
    s.FloatType: t.DOUBLE,
    s.VarcharType: t.STRING,
    s.CharType: t.STRING,
}
# The cast for a type that the language does not have.
_CASTS: dict[type[s.DataType], str] = {s.TimestampNTZType: "TIMESTAMP"}


def to_spark(data_type: DataType) -> s.DataType:
    if isinstance(data_type, ArrayOf):
        return s.ArrayType(to_spark(data_type.element))
    if isinstance(data_type, MapOf):
        return s.MapType(to_spark(data_type.key), to_spark(data_type.value))
    if isinstance(data_type, StructOf):
        return s.StructType([s.StructField(name, to_spark(field)) for name, field in data_type.fields])
    if isinstance(data_type, DecimalOf):
        return s.DecimalType(data_type.precision, data_type.scale)
    return _TO_SPARK[data_type]


def from_spark(data_type: s.DataType, column: str) -> DataType:
    """The language's type of a column, or an error that names the column."""
    if isinstance(data_type, s.ArrayType):
        return ArrayOf(from_spark(data_type.elementType, f"{column}[ ]"))
    if isinstance(data_type, s.MapType):
        return MapOf(from_spark(data_type.keyType, f"{column}[ ]"), from_spark(data_type.valueType, f"{column}[ ]"))
    if isinstance(data_type, s.StructType):
        return StructOf(tuple((f.name, from_spark(f.dataType, f"{column}.{f.name}")) for f in data_type.fields))
    if isinstance(data_type, s.DecimalType):
        return DecimalOf(data_type.precision, data_type.scale)
    if type(data_type) not in _FROM_SPARK:
        raise _refused(data_type, column)
    return _FROM_SPARK[type(data_type)]


def _refused(data_type: s.DataType, column: str) -> PresageError:
    target = _CASTS.get(type(data_type))
    top = column.split(".")[0].split("[")[0]
    return error(
        "DATA_SHAPE",
        what=f"column '{column}'",
        found=f"Spark's type {data_type.simpleString().upper()} has no counterpart",
        fix=f"cast it before: df.withColumn({top!r}, …) with CAST(… AS {target})" if target else "leave the column out",
    )


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """A DataFrame of an Arrow table. In one chunk: PySpark 4.3 takes a table whose first chunk is empty for empty.
    Without rows by its schema: over Connect PySpark loses the columns of an empty table."""
    if not table.num_rows:
        return spark.createDataFrame([], from_arrow_schema(table.schema))
    return spark.createDataFrame(table.combine_chunks())
