"""A large join of predictions on Spark: three stages in place of one.

One stage would bring all functions of both streams into one partition, because any two of them may match. Here
functions are cut into pieces, pieces are joined cell by cell (cells of time and space), and the intervals are merged at
the end (`kernel/staged_join.py`). The size of a cell depends on statistics that Spark computes first, so this does not
fit into a `Stage`, which is fixed before anything runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from presage.execution.spark.batch import BatchContext
from presage.execution.spark.batch_stages import input_frame, run_stage
from presage.execution.spark.kernel_runs import run_kernel
from presage.execution.stage import order_fields
from presage.operators.prediction.compile import interval_fields, piece_fields
from presage.operators.prediction.kernel.index.boxes import indexed_terms
from presage.operators.prediction.kernel.query import ORDINAL, SOURCE
from presage.operators.prediction.kernel.staged_join import PART, JoinKernel, MergeKernel, PieceKernel
from presage.operators.prediction.nodes import PredictedMatch
from presage.operators.prediction.stages import predicted_stage
from presage.plan.nodes import SEQ, TIME, Field, Node

# Number of updates from which three stages are faster than one.
MANY_UPDATES = 200_000


def _run_predicted(node: PredictedMatch, context: BatchContext) -> DataFrame:
    if not node.meets or context.estimated_rows < MANY_UPDATES:
        return run_stage(predicted_stage(node), context)
    return _run_in_parts(node, context)


def _run_in_parts(node: PredictedMatch, context: BatchContext) -> DataFrame:
    """Pieces by key, then intervals by part, then all intervals together."""
    tables, parts = node.tables, 4 * context.partitions
    sort = (TIME, SEQ, SOURCE)
    stage = predicted_stage(node)
    updates = [input_frame(stage, each, context) for each in stage.inputs]
    sizes = _cell_sizes(node, updates)
    in_memory = context.estimated_rows <= context.rows_in_memory
    run = partial(run_kernel, partitions=context.partitions, watermark=context.watermark, in_memory=in_memory)
    frames = []
    for number, (stream, frame) in enumerate(zip(tables.streams, updates, strict=True)):
        kernel = PieceKernel(tables, number, sizes, parts)
        frames.append(run(frame, kernel, _fields(piece_fields(node, number)), sort, stream.key))
    pieces = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)
    intervals = run(pieces, JoinKernel(tables), _fields(interval_fields(node)), sort, (PART,))
    rows = run(intervals, MergeKernel(tables), stage.fields, (TIME, SEQ), ())
    return rows.withColumnRenamed(ORDINAL, node.order[0])


def _fields(own: list[Field]) -> tuple[Field, ...]:
    return (*order_fields((TIME, SEQ, ORDINAL)), *own)


def _cell_sizes(node: PredictedMatch, updates: list[DataFrame]) -> tuple[float, ...]:
    """The size of a cell on each axis: what a function covers within its period, plus the reach of a match."""
    tables = node.tables
    (pair,) = tables.pairs
    terms = [pair.spec.terms[k] for k in indexed_terms(pair.spec)]
    sizes = np.zeros(1 + len(terms))
    for side, attributes in ((pair.left, [t.left for t in terms]), (pair.right, [t.right for t in terms])):
        number = tables.sides[side].stream
        stream = tables.streams[number]
        assert stream.period is not None
        rates = [F.avg(F.abs(F.col(stream.rate[x]))).alias(f"r{i}") for i, x in enumerate(attributes)]
        average = np.array(updates[number].agg(*rates).collect()[0], np.float64)
        passed = np.nan_to_num(average * stream.period / 1e6, nan=0.0, posinf=0.0)
        sizes = np.maximum(sizes, [stream.period + pair.spec.window, *passed])
    sizes[1:] += [2 * max(0.0, term.constant) for term in terms]
    return tuple(np.where(sizes > 0, sizes, 1.0).tolist())


OPERATORS: dict[type[Node], Callable[..., DataFrame]] = {PredictedMatch: _run_predicted}
