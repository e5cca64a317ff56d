"""Kernels over the partitions of a DataFrame, as Arrow batches. Knows no particular kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from presage.columnar.processing_order import sorted_table
from presage.execution.spark.expressions import quoted
from presage.execution.spark.types import to_spark
from presage.execution.stage import Kernel
from presage.model.arrow import to_arrow
from presage.plan.nodes import Field

OUTPUT_ROWS = 100_000


def run_kernel(
    frame: DataFrame,
    kernel: Kernel,
    fields: Sequence[Field],
    sort: tuple[str, ...],
    keys: tuple[str, ...],
    partitions: int,
    watermark: int,
    in_memory: bool,
    even_empty: bool = False,
) -> DataFrame:
    """The kernel's rows. `sort` is the processing order, `keys` partition the rows (none: one partition). `even_empty`:
    without keys, the kernel also steps without any row, because the watermark alone may make it yield some.

    A partition that fits in memory is sorted in the worker, which is faster than Spark's sort; otherwise Spark sorts it
    and the kernel steps through it, batch by batch.
    """
    # Columns are numbered on the way: mapInArrow would parse a dot in a name as a field access.
    schema = StructType([StructField(f"c{i}", to_spark(f.type), True) for i, f in enumerate(fields)])
    arrow = pa.schema([(f.name, to_arrow(f.type)) for f in fields])
    names = frame.columns
    if partitions == 1:
        frame = frame.coalesce(1)  # little data: no shuffle at all
    else:
        frame = frame.repartition(partitions, *(quoted(k) for k in keys)) if keys else frame.repartition(1)
    if not in_memory:
        frame = frame.sortWithinPartitions(*sort)

    # With its schema, so that the kernel knows the types.
    empty = to_arrow_schema(frame.schema, timezone="UTC").empty_table() if even_empty and not keys else None

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        named = (batch.rename_columns(names) for batch in batches)
        steps = _whole(named, sort) if in_memory else _pieces(named, sort)
        for table in run_steps(kernel, steps, watermark, empty):
            # Spark takes columns by position and does not check their types.
            shaped = table.select(arrow.names).cast(arrow).rename_columns(schema.names)
            yield from shaped.to_batches(max_chunksize=OUTPUT_ROWS)

    numbered = frame.toDF(*(f"c{i}" for i in range(len(names))))
    return numbered.mapInArrow(work, schema).toDF(*arrow.names)


def run_steps(
    kernel: Kernel, steps: Iterator[pa.Table], watermark: int, empty: pa.Table | None = None
) -> Iterator[pa.Table]:
    """One kernel over tables in order; the last one ends the input. `empty`: the table if there is none."""
    state = kernel.initial()
    pending: pa.Table | None = None
    for table in steps:
        if pending is not None:
            state, rows = kernel.step(state, pending, _last_time(pending))
            yield rows
        pending = table
    if pending is None and empty is not None:
        _, rows = kernel.step(state, empty, watermark, end=True)
        yield rows
    if pending is not None:
        # A derived stream may have an event after the last one of the archive: the watermark advances to it.
        _, rows = kernel.step(state, pending, max(watermark, _last_time(pending)), end=True)
        yield rows


def _last_time(table: pa.Table) -> int:
    return int(table[0][table.num_rows - 1].as_py())


def _whole(batches: Iterator[pa.RecordBatch], sort: tuple[str, ...]) -> Iterator[pa.Table]:
    held = list(batches)
    if held:
        table = pa.Table.from_batches(held)
        if table.num_rows:
            yield sorted_table(table, sort)


def _pieces(batches: Iterator[pa.RecordBatch], sort: tuple[str, ...]) -> Iterator[pa.Table]:
    """Sorted batches as tables that never split rows of equal TIME and SEQ."""
    held: pa.Table | None = None
    for batch in batches:
        if batch.num_rows == 0:
            continue
        table = pa.Table.from_batches([batch])
        held = table if held is None else pa.concat_tables([held, table])
        last = [held[name][held.num_rows - 1].as_py() for name in sort[:2]]
        same = np.logical_and.reduce([held[n].to_numpy() == v for n, v in zip(sort[:2], last, strict=True)])
        cut = held.num_rows - int(same.sum())
        if cut:
            yield held.slice(0, cut)
            held = held.slice(cut)
    if held is not None:
        yield held
