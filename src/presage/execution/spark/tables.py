"""DataFrames from Arrow tables, in a classic session and over Spark Connect."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """In one piece: PySpark 4.3 takes a table that begins with an empty chunk, as files are read, for an empty one. And
    over Connect it does not know the columns of a table without rows."""
    if not table.num_rows:
        return spark.createDataFrame([], from_arrow_schema(table.schema))
    return spark.createDataFrame(table.combine_chunks())
