"""Runs the nodes of the prediction room on Spark: Catalyst prepares columns of single rows, a kernel does the rest."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from presage.plan.nodes import SEQ, TIME, Node
from presage.prediction.compile import met_fields, piece_fields, prediction_kernel
from presage.prediction.kernel.boxes import indexed_terms
from presage.prediction.kernel.meeting import PART, MeetKernel, PieceKernel, UniteKernel
from presage.prediction.kernel.query import ORDINAL, SOURCE
from presage.prediction.nodes import PredictedMatch
from presage.spark.batch import BatchContext, column, run, run_stateful
from presage.spark.expressions import quoted

# From so many updates on, a join is worth three stages.
MANY_UPDATES = 200_000


def _run_predicted(node: PredictedMatch, context: BatchContext) -> DataFrame:
    if node.meets and context.estimated_rows >= MANY_UPDATES:
        rows = _run_in_parts(node, context)
    else:
        parts = [_source(node, number, context) for number in range(len(node.sources))]
        frame = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)
        kernel = prediction_kernel(node)
        rows = run_stateful(
            frame, kernel, list(node.columns), (ORDINAL,), (TIME, SEQ, SOURCE), node.spread_by(), context
        )
    columns = [quoted(c.name) for c in node.columns]
    return rows.select(F.col(TIME), F.col(SEQ), F.col(ORDINAL).alias(node.order[0]), *columns)


def _source(node: PredictedMatch, number: int, context: BatchContext) -> DataFrame:
    prepared = [column(n.expr, context).alias(n.name) for n in node.prepared[number]]
    mark = F.lit(number).cast("tinyint").alias(SOURCE)
    return run(node.sources[number], context).select(F.col(TIME), F.col(SEQ), mark, *prepared)


def _run_in_parts(node: PredictedMatch, context: BatchContext) -> DataFrame:
    """Pieces by key, meetings by part, and all intervals together: see `kernel.meeting`."""
    tables, parts = node.tables, 4 * context.partitions
    sort = (TIME, SEQ, SOURCE)
    updates = [_source(node, number, context) for number in range(len(tables.streams))]
    sizes = _cell_sizes(node, updates)
    frames = []
    for number, (stream, frame) in enumerate(zip(tables.streams, updates, strict=True)):
        kernel = PieceKernel(tables, number, sizes, parts)
        frames.append(run_stateful(frame, kernel, piece_fields(node, number), (ORDINAL,), sort, stream.key, context))
    pieces = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)
    met = run_stateful(pieces, MeetKernel(tables), met_fields(node), (ORDINAL,), sort, (PART,), context)
    return run_stateful(met, UniteKernel(tables), list(node.columns), (ORDINAL,), (TIME, SEQ), (), context)


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
