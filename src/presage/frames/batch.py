"""A stage over a bounded DataFrame: Catalyst partitions the rows by key and sorts them, the kernel reads them in order.

Spark's own sort is slower than one in the worker, but needs no guess about what fits in memory; rows reach the kernel
piece by piece, and it keeps only those that can still matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from presage.execution.spark.kernel_runs import run_steps
from presage.frames.planning import FramePlan
from presage.frames.rows import NO_TIME, arrow_schema, kernel_rows, made_schema, result_rows, sorting
from presage.plan.nodes import SEQ, TIME

# Rows of one step of the kernel, and of one Arrow batch of the result.
PIECE, OUTPUT_ROWS = 200_000, 100_000
ARRIVAL, CLOCK = "_arrival", "_clock"


def run_batch(frame: DataFrame, plan: FramePlan) -> DataFrame:
    rows = kernel_rows(frame, plan, F.monotonically_increasing_id().alias(ARRIVAL))
    if plan.reads_end:
        # Whether a partial match has run out depends on where time stops in all partitions.
        rows = rows.crossJoin(F.broadcast(rows.agg(F.max(TIME).alias(CLOCK))))
    keys = plan.stage.keys
    rows = rows.repartition(*map(F.col, keys)) if keys else rows.repartition(1)
    rows = rows.sortWithinPartitions(*sorting(plan.order), F.col(ARRIVAL))
    # What only the sort needed stays in the JVM.
    rows = rows.drop(ARRIVAL, *plan.only_order)
    schema = made_schema(plan)
    given, made = arrow_schema(rows.schema), arrow_schema(schema)
    kernel, reads_end = plan.kernel, plan.reads_end

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pieces = numbered(gathered(batches, given))
        first = next(pieces, None)
        if first is None:
            return
        clock = first[CLOCK][0].as_py() if reads_end else NO_TIME
        for table in run_steps(kernel, chain([first], pieces), clock):
            yield from table.select(made.names).cast(made).to_batches(max_chunksize=OUTPUT_ROWS)

    return result_rows(rows.mapInArrow(work, schema), plan)


def gathered(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Rows in pieces that are worth a step of their own."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
        if sum(b.num_rows for b in held) >= PIECE:
            yield pa.Table.from_batches(held).cast(schema)
            held = []
    if held:
        yield pa.Table.from_batches(held).cast(schema)


def numbered(pieces: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The place of a row in the order of its partition of Spark is its arrival."""
    done = 0
    for piece in pieces:
        yield piece.append_column(SEQ, pa.array(np.arange(done, done + piece.num_rows)))
        done += piece.num_rows
