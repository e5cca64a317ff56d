"""Runs the nodes of the prediction room on Spark: Catalyst prepares columns of single rows, a kernel does the rest."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from presage.plan.nodes import SEQ, TIME, Node
from presage.prediction.compile import prediction_kernel
from presage.prediction.kernel.query import ORDINAL, SOURCE
from presage.prediction.nodes import PredictedMatch
from presage.spark.batch import BatchContext, column, run, run_stateful
from presage.spark.expressions import quoted


def _run_predicted(node: PredictedMatch, context: BatchContext) -> DataFrame:
    parts = []
    for number, source in enumerate(node.sources):
        prepared = [column(n.expr, context).alias(n.name) for n in node.prepared[number]]
        mark = F.lit(number).cast("tinyint").alias(SOURCE)
        parts.append(run(source, context).select(F.col(TIME), F.col(SEQ), mark, *prepared))
    frame = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)
    rows = run_stateful(
        frame, prediction_kernel(node), list(node.columns), (ORDINAL,), (TIME, SEQ, SOURCE), node.spread_by(), context
    )
    columns = [quoted(c.name) for c in node.columns]
    return rows.select(F.col(TIME), F.col(SEQ), F.col(ORDINAL).alias(node.order[0]), *columns)


OPERATORS: dict[type[Node], Callable[..., DataFrame]] = {PredictedMatch: _run_predicted}
