"""Runs the nodes of the probability room on Spark: Catalyst prepares columns of single rows, a kernel does the rest."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from presage.plan.nodes import SEQ, TIME, Node
from presage.probability.compile import KEYS, infer_kernel, inferred_columns, sequence_kernel
from presage.probability.kernel.sequence import ORDINAL
from presage.probability.kernel.spec import SOURCE
from presage.probability.nodes import Infer, SequenceMatch
from presage.spark.batch import BatchContext, column, run, run_stateful
from presage.spark.expressions import quoted


def _run_sequence(node: SequenceMatch, context: BatchContext) -> DataFrame:
    kernel = sequence_kernel(node, context.relations)
    parts = [_source_frame(i, node, context) for i in range(len(node.sources))]
    frame = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)
    spread = node.spread_by()
    keys = tuple(f"{KEYS}{i}" for i in range(len(spread[0]))) if spread else ()
    rows = run_stateful(frame, kernel, list(node.columns), (ORDINAL,), (TIME, SEQ, SOURCE), keys, context)
    columns = [quoted(c.name) for c in node.columns]
    return rows.select(F.col(TIME), F.col(SEQ), F.col(ORDINAL).alias(node.order[0]), *columns)


def _run_infer(node: Infer, context: BatchContext) -> DataFrame:
    prepared = [column(n.expr, context).alias(n.name) for n in node.prepared]
    frame = run(node.input, context).select(F.col(TIME), F.col(SEQ), *prepared)
    made = run_stateful(
        frame, infer_kernel(node), list(inferred_columns(node)), (ORDINAL,), (TIME, SEQ), node.key, context
    )
    shown = dict(node.shown)
    columns = [
        (F.timestamp_micros(F.col(TIME)) if f.name in node.times else quoted(shown[f.name])).alias(f.name)
        for f in node.fields
    ]
    return made.select(F.col(TIME), F.col(SEQ), F.col(ORDINAL).alias(node.order[0]), *columns)


def _source_frame(number: int, node: SequenceMatch, context: BatchContext) -> DataFrame:
    """The rows of one stream as rows of the kernel's common input."""
    prepared = [column(n.expr, context).alias(n.name) for n in node.prepared[number]]
    source = F.lit(number).cast("tinyint").alias(SOURCE)
    by_name = {n.name: n.expr for n in node.prepared[number]}
    spread = node.spread_by()
    keys = (
        [column(by_name[name], context).alias(f"{KEYS}{i}") for i, name in enumerate(spread[number])] if spread else []
    )
    return run(node.sources[number], context).select(F.col(TIME), F.col(SEQ), source, *keys, *prepared)


OPERATORS: dict[type[Node], Callable[..., DataFrame]] = {SequenceMatch: _run_sequence, Infer: _run_infer}
