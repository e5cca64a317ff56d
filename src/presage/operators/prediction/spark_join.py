"""A large join of predictions on Spark: three stages in place of one.

One stage would bring all functions of both streams into one partition, because any two of them may meet. Functions are
cut into pieces by cells of time and space, pieces meet cell by cell, and the intervals that they make are united at the
end (see `kernel.meeting`). The size of a cell depends on the data, so it is asked of Spark first: a `Stage`, which is
fixed before anything runs, has no place for that.
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
from presage.operators.prediction.compile import met_fields, piece_fields
from presage.operators.prediction.kernel.index.boxes import indexed_terms
from presage.operators.prediction.kernel.query import ORDINAL, SOURCE
from presage.operators.prediction.kernel.staged_join import PART, MeetKernel, PieceKernel, UniteKernel
from presage.operators.prediction.nodes import PredictedMatch
from presage.operators.prediction.stages import predicted_stage
from presage.plan.nodes import SEQ, TIME, Field, Node

# From so many updates on, a join is worth three stages.
MANY_UPDATES = 200_000


def _run_predicted(node: PredictedMatch, context: BatchContext) -> DataFrame:
    if not node.meets or context.estimated_rows < MANY_UPDATES:
        return run_stage(predicted_stage(node), context)
    return _run_in_parts(node, context)


def _run_in_parts(node: PredictedMatch, context: BatchContext) -> DataFrame:
    """Pieces by key, meetings by part, and all intervals together."""
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
    met = run(pieces, MeetKernel(tables), _fields(met_fields(node)), sort, (PART,))
    rows = run(met, UniteKernel(tables), stage.fields, (TIME, SEQ), ())
    return rows.withColumnRenamed(ORDINAL, node.order[0])


def _fields(own: list[Field]) -> tuple[Field, ...]:
    return (*order_fields((TIME, SEQ, ORDINAL)), *own)


def _cell_sizes(node: PredictedMatch, updates: list[DataFrame]) -> tuple[float, ...]:
    """About as large as what a function passes while it holds, and as far as a match may reach. The same for both."""
    tables = node.tables
    (pair,) = tables.pairs
    terms = [pair.spec.terms[k] for k in indexed_terms(pair.spec)]
    sizes = np.zeros(1 + len(terms))
    for side, attributes in ((pair.left, [t.left for t in terms]), (pair.right, [t.right for t in terms])):
        number = tables.sides[side].stream
        stream = tables.streams[number]
        assert stream.period is not None
        rates = [F.avg(F.abs(F.col(stream.rate[x]))).alias(f"r{i}") for i, x in enumerate(attributes)]
        found = np.array(updates[number].agg(*rates).collect()[0], np.float64)
        passed = np.nan_to_num(found * stream.period / 1e6, nan=0.0, posinf=0.0)
        sizes = np.maximum(sizes, [stream.period + pair.spec.window, *passed])
    sizes[1:] += [2 * max(0.0, term.constant) for term in terms]
    return tuple(np.where(sizes > 0, sizes, 1.0).tolist())


OPERATORS: dict[type[Node], Callable[..., DataFrame]] = {PredictedMatch: _run_predicted}
