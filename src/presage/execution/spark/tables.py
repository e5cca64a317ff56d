"""DataFrames from Arrow tables, in a classic session and over Spark Connect."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """In one chunk: PySpark 4.3 takes a table whose first chunk is empty for an empty one. Over Connect it loses the
    columns of a table without rows."""
    if not table.num_rows:
        return spark.createDataFrame([], from_arrow_schema(table.schema))
    return spark.createDataFrame(table.combine_chunks())
