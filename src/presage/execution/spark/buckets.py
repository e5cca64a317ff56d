"""A kernel over files of the archive: each task reads the rows of its own keys. No shuffle, no crossing to the JVM.

That pays while there are few files beside the old ones, or few tasks: a row costs ten times as much to cross from the
JVM to Python as to be read from a file.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from presage.execution.keyed_files import work_on_files
from presage.execution.spark.batch import BatchContext
from presage.execution.spark.kernel_runs import OUTPUT_ROWS
from presage.execution.spark.types import to_spark
from presage.execution.stage import Kernel, Stage

# More tasks than this would read the same files too often.
MOST_READERS = 8


def run_on_buckets(stage: Stage, kernel: Kernel, context: BatchContext) -> DataFrame | None:
    """The kernel's rows, or None where the files do not allow it."""
    if context.files is None:
        return None
    found = work_on_files(stage, kernel, context.files, context.relations, context.clock)
    if found is None or not found.files.paths:
        return None
    job, keys = found, stage.keys
    most = context.partitions if keys else 1
    if context.estimated_rows > context.rows_in_memory * most:
        return None
    parts = job.by_bucket()
    if parts is None and (most == 1 or (job.divided and most <= MOST_READERS)):
        parts = job.by_share(most)
    if parts is None:
        return None
    dealt = parts
    # A task costs more than a bucket: as many of them as there are cores to use.
    tasks = max(1, min(len(dealt), context.partitions))
    schema = StructType([StructField(f"c{i}", to_spark(f.type), True) for i, f in enumerate(stage.fields)])

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part in (p for task in batch.column(0).to_pylist() for p in dealt[task::tasks]):
                rows = job.rows(part)
                if rows is not None:
                    yield from rows.rename_columns(schema.names).to_batches(max_chunksize=OUTPUT_ROWS)

    return context.spark.range(0, tasks, 1, tasks).mapInArrow(work, schema).toDF(*(f.name for f in stage.fields))
