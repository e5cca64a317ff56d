"""Runs the nodes of the patterns room on Spark: Catalyst prepares columns of single rows, a kernel finds matches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from presage.model.types import LONG
from presage.patterns.compile import KEYS, match_kernel, pattern_kernel
from presage.patterns.kernel.pattern_spec import SOURCE
from presage.patterns.nodes import Match, PatternMatch
from presage.plan.nodes import SEQ, TIME, Field, Named, Node, order_columns
from presage.spark.batch import BatchContext, column, ordering, padded_order, run, run_stateful
from presage.spark.buckets import run_on_buckets
from presage.spark.expressions import quoted
from presage.spark.keyed_files import Stage


def _run_match(node: Match, context: BatchContext) -> DataFrame:
    stage = match_stage(node, context.relations)
    rows = run_on_buckets(stage, context)
    if rows is not None:
        return rows
    order, kernel = node.input.order, stage.kernel
    own = (*order, *node.tables.placed)
    frame = run(node.input, context).select(*ordering(node.input), *_prepared(node.prepared, context))
    rows = run_stateful(frame, kernel, list(node.columns), own, (TIME, SEQ, *order), node.tables.keys, context)
    return rows.toDF(*stage.names)


def match_stage(node: Match, relations: Mapping[str, pa.Table]) -> Stage:
    """The kernel's own columns get the names that the node's order has."""
    own = (TIME, SEQ, *node.input.order, *node.tables.placed)
    fields = (*(Field(name, LONG) for name in own), *node.columns)
    names = (TIME, SEQ, *node.order, *(c.name for c in node.columns))
    return Stage(node.input, node.prepared, node.tables.keys, match_kernel(node, relations), fields, names)


def _run_pattern(node: PatternMatch, context: BatchContext) -> DataFrame:
    kernel = pattern_kernel(node, context.relations)
    depth = node.depth - 1
    parts = [_source_frame(i, node, depth, context) for i in range(len(node.sources))]
    frame = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)
    order = order_columns(depth)
    rows = run_stateful(
        frame, kernel, list(node.columns), (*order, node.tables.ordinal), (TIME, SEQ, *order, SOURCE),
        kernel.spec.keys, context, even_empty=True,
    )  # fmt: skip
    last = F.col(node.tables.ordinal).alias(node.order[-1])
    columns = [quoted(c.name) for c in node.columns]
    return rows.select(F.col(TIME), F.col(SEQ), *(F.col(o) for o in order), last, *columns)


def _source_frame(number: int, node: PatternMatch, depth: int, context: BatchContext) -> DataFrame:
    """The events of one type as rows of the kernel's common input."""
    source = node.sources[number]
    prepared = node.prepared[number]
    keys: list[Column] = []
    if any(node.partition):
        by_name = {n.name: n.expr for n in prepared}
        keys = [column(by_name[name], context).alias(f"{KEYS}{i}") for i, name in enumerate(node.partition[number])]
    return run(source, context).select(
        F.col(TIME), F.col(SEQ), *padded_order(source, depth), F.lit(number).cast("tinyint").alias(SOURCE),
        *keys, *_prepared(prepared, context),
    )  # fmt: skip


def _prepared(named: tuple[Named, ...], context: BatchContext) -> list[Column]:
    return [column(n.expr, context).alias(n.name) for n in named]


OPERATORS: dict[type[Node], Callable[..., DataFrame]] = {Match: _run_match, PatternMatch: _run_pattern}
# Nodes whose kernel can be taken through files of the archive by key.
STAGES: dict[type[Node], Callable[..., Stage]] = {Match: match_stage}
