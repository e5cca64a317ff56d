"""A streaming source of the numbers 1, 2, … up to a count, each in a micro-batch of its own.

It runs in a process of Spark, and its classes are pickled by value: files of `spark.submit.pyFiles` are on the workers'
path, but Spark 4.3 drops them for a streaming source on the driver. So this module imports nothing of Presage.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

SOURCE = "presage_positions"
NUMBER = "number"


def register(spark: SparkSession) -> None:
    """Register `SOURCE` with a session."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    spark.dataSource.register(PositionsSource)


class PositionsSource(DataSource):
    """Option: `count`."""

    @classmethod
    def name(cls) -> str:
        return SOURCE

    def schema(self) -> str:
        return f"{NUMBER} bigint"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 (Spark's name)
        return PositionsReader(int(self.options["count"]))


class PositionsReader(DataSourceStreamReader):
    def __init__(self, count: int) -> None:
        self._count = count

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {NUMBER: 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        return {NUMBER: min(self._count, start[NUMBER] + 1)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [InputPartition(end[NUMBER])] if end != start else []

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        yield (partition.value,)

    def commit(self, end: dict[str, int]) -> None:
        """Nothing to do."""
