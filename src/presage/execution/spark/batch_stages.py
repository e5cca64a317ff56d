"""Interprets stages on DataFrames: Catalyst prepares the kernel's input, executors step the kernel.

The same stages run on Arrow tables in `execution.step_stages`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from importlib import import_module
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from presage.execution.spark.batch import BatchContext, column, padded_order, run
from presage.execution.spark.buckets import run_on_buckets
from presage.execution.spark.expressions import quoted
from presage.execution.spark.kernel_runs import run_kernel
from presage.execution.stage import Operator, Resources, Stage, StageInput
from presage.model.types import TIMESTAMP
from presage.plan.nodes import SEQ, TIME, Field, Node


def spark_operators(operators: Mapping[str, Operator]) -> dict[type[Node], Callable[..., DataFrame]]:
    """How the nodes of all operators run on Spark, by type of node."""
    found: dict[type[Node], Callable[..., DataFrame]] = {}
    for operator in operators.values():
        for kind, compile_node in operator.stages.items():
            found[kind] = _runner(compile_node)
        if operator.spark:
            found |= import_module(operator.spark).OPERATORS
    return found


def _runner(compile_node: Callable[[Any], Stage | Node]) -> Callable[[Node, BatchContext], DataFrame]:
    def run_node(node: Node, context: BatchContext) -> DataFrame:
        stage = compile_node(node)
        return run(stage, context) if isinstance(stage, Node) else run_stage(stage, context)

    return run_node


def run_stage(stage: Stage, context: BatchContext) -> DataFrame:
    """TIME, SEQ and the outputs of a stage."""
    kernel = stage.kernel(Resources(context.relations, lambda each: _lookup(each, context)))
    rows = run_on_buckets(stage, kernel, context) if stage.reads_files else None
    if rows is None:
        frames = [input_frame(stage, each, context) for each in stage.inputs]
        frame = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)
        rows = run_kernel(
            frame,
            kernel,
            stage.fields,
            stage.ordering,
            stage.keys,
            context.partitions,
            context.clock,
            in_memory=context.estimated_rows <= context.rows_in_memory * (context.partitions if stage.keys else 1),
            even_empty=stage.wakes_empty,
        )
    rows = rows.select(F.col(TIME), F.col(SEQ), *(_output(field, name) for field, name in stage.outputs))
    return rows if stage.residual is None else rows.where(column(stage.residual, context))


def input_frame(stage: Stage, each: StageInput, context: BatchContext) -> DataFrame:
    """The rows of one input as the kernel takes them."""
    source = each.source
    frame = run(source, context) if isinstance(source, Node) else run_stage(source, context)
    for condition in each.where:
        frame = frame.where(column(condition, context))
    columns = [F.col(TIME), F.col(SEQ), *padded_order(each.depth, stage.depth)]
    if stage.numbered:
        columns.append(F.lit(each.number).cast("tinyint").alias(stage.numbered))
    exprs = {n.name: n.expr for n in each.prepared}
    columns += [column(exprs[name], context).alias(key) for key, name in zip(stage.keys, each.keys, strict=False)]
    columns += [quoted(name).alias(kernels) for kernels, name in each.carried]
    columns += [column(n.expr, context).alias(n.name) for n in each.prepared]
    columns += [F.coalesce(column(n.expr, context), F.lit(False)).alias(n.name) for n in each.masks]
    return frame.select(*columns)


def _output(field: Field, name: str) -> Column:
    """A column of the kernel under the name of the plan; the time of a row as a timestamp, where it is shown."""
    shown = F.timestamp_micros(F.col(TIME)) if name == TIME and field.type == TIMESTAMP else quoted(name)
    return shown.alias(field.name)


def _lookup(each: StageInput, context: BatchContext) -> pa.Table:
    """The rows of a relation, with their number as `_row`: they travel to the executors with the kernel."""
    assert isinstance(each.source, Node)
    columns = [quoted(name).alias(kernels) for kernels, name in each.carried]
    columns += [column(n.expr, context).alias(n.name) for n in each.prepared]
    # The number stays: a table without columns, of a relation that only multiplies rows, would have no rows either.
    return run(each.source, context).orderBy("_row").select("_row", *columns).toArrow()
