"""The contexts in which the batch driver runs plans, from the files and tables that they read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from presage.errors import error
from presage.execution.local import Files
from presage.execution.spark.archive import count_events, last_event, read_archive
from presage.execution.spark.batch import NO_EVENTS, BatchContext
from presage.plan.nodes import Extent, Node, Scan

ROWS_PER_TASK = 50_000  # below this a task costs more than it saves


@dataclass(frozen=True)
class Contexts:
    """How an engine runs plans: its session, the operators of all capabilities, and the rows that a task may hold in
    memory."""

    session: Callable[[], SparkSession]
    operators: Mapping[type[Node], Callable[..., DataFrame]]
    rows_in_memory: int
    rows_per_chunk: int | None = None

    def __post_init__(self) -> None:
        if self.rows_per_chunk is not None and self.rows_per_chunk < 1:
            raise error("BAD_VALUE", what="rows_per_chunk", found=self.rows_per_chunk, expected="at least 1")

    def of(
        self,
        files: Files,
        relations: Mapping[str, pa.Table],
        upper: int | None = None,
        exact: bool = False,
        timed: Collection[Extent] | None = None,
    ) -> BatchContext:
        """`exact`: read the time of the last event, instead of the files' statistics. `timed`: the scans whose last
        event is the final watermark; None: all."""
        spark = self.session()

        def read(scan: Scan) -> DataFrame | None:
            return read_archive(spark, files[scan.extent]) if files[scan.extent].paths else None

        times = {extent: last_event(spark, f) if exact else f.max_time for extent, f in files.items()}
        last = max((t for t in times.values() if t is not None), default=NO_EVENTS)
        own = [t for extent, t in times.items() if t is not None and (timed is None or extent in timed)]
        watermark = upper if upper is not None else max(own, default=NO_EVENTS)
        rows = count_events(files.values())
        return BatchContext(
            spark,
            read,
            relations,
            operators=self.operators,
            watermark=watermark,
            inner_watermark=max(last, watermark),
            partitions=self.partitions(rows),
            rows_in_memory=self.rows_in_memory,
            estimated_rows=rows,
            files=lambda scan: files[scan.extent],
            rows_per_chunk=self.rows_per_chunk,
        )

    def partitions(self, rows: int) -> int:
        """The partitions of a shuffle: as many as the session is set to, fewer for few rows."""
        most = int(self.session().conf.get("spark.sql.shuffle.partitions") or 1)
        return max(1, min(most, -(-rows // ROWS_PER_TASK)))
