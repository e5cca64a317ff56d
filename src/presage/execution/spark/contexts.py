"""The contexts in which the batch driver runs plans, from the files and tables that they read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from presage.execution.local import Files, final_watermarks
from presage.execution.spark.archive import count_events, last_event, read_archive
from presage.execution.spark.batch import BatchContext, SparkOperators
from presage.plan.nodes import Extent, Scan


@dataclass(frozen=True)
class Contexts:
    """How an engine runs plans: its session, the operators of all capabilities, and the rows that a task may hold in
    memory."""

    session: Callable[[], SparkSession]
    operators: SparkOperators
    rows_in_memory: int
    rows_per_chunk: int | None = None

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

        def read(scan: Scan) -> DataFrame | None:
            return read_archive(self.session(), files[scan.extent]) if files[scan.extent].paths else None

        last = partial(last_event, self.session) if exact else attrgetter("max_time")
        watermark, inner = final_watermarks(files, upper, files.keys() if timed is None else timed, last)
        return BatchContext(
            self.session,
            read,
            relations,
            operators=self.operators.runners,
            watermark=watermark,
            inner_watermark=inner,
            rows_in_memory=self.rows_in_memory,
            estimated_rows=count_events(files.values()),
            files=lambda scan: files[scan.extent],
            rows_per_chunk=self.rows_per_chunk,
            upper=upper,
            exact=exact,
        )
