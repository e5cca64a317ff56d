"""A bounded query on Spark: its rows as an Arrow table, or as a DataFrame in the order of emission."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from presage.execution.local import Files
from presage.execution.spark.archive import time_span
from presage.execution.spark.batch import BatchContext, run_root
from presage.execution.spark.contexts import Contexts
from presage.execution.spark.failures import explained
from presage.plan.nodes import SEQ, TIME, Extent, Node, order_columns


@dataclass(frozen=True)
class SparkRun:
    """`upper`: the final watermark of the plan, if not the time of its last event. `exact`: rows depend on where
    exactly that is. `timed`: the scans whose last event counts for it."""

    plan: Node
    columns: Sequence[str]
    contexts: Contexts
    files: Files
    relations: Mapping[str, pa.Table]
    upper: int | None
    exact: bool
    timed: Collection[Extent]

    def rows(self) -> pa.Table:
        """TIME, SEQ, order and columns of the plan's rows, not sorted."""
        with explained():
            return self._rows.toArrow()

    def frame(self) -> DataFrame:
        """The columns, sorted."""
        # Numbered columns: Spark does not distinguish names that differ only in case.
        numbers = {name: f"c{i}" for i, name in enumerate(self._rows.columns)}
        rows = self._rows.toDF(*numbers.values())
        low, high = time_span(self.files.values())
        slices = self._context.partitions
        if slices > 1 and high > low:
            # Slices of time as partitions, in order: Spark's own sort would run the query twice to find the ranges.
            # Timers may fire after the last event, so the outer slices are open.
            width = -(-(high - low + 1) // slices)
            slice_of = F.floor((F.col(numbers[TIME]) - F.lit(low)) / F.lit(width))
            last = F.lit(slices - 1)
            rows = rows.repartitionById(slices, F.greatest(F.lit(0), F.least(slice_of, last)).cast("int"))
        else:
            rows = rows.coalesce(1)
        order = (TIME, SEQ, *order_columns(self.plan.depth))
        rows = rows.sortWithinPartitions(*(numbers[name] for name in order))
        return rows.select(*(numbers[name] for name in self.columns)).toDF(*self.columns)

    @cached_property
    def _context(self) -> BatchContext:
        return self.contexts.of(self.files, self.relations, self.upper, self.exact, self.timed)

    @cached_property
    def _rows(self) -> DataFrame:
        with explained():
            return run_root(self.plan, self.contexts.operators.prepare(self.plan, self._context))
