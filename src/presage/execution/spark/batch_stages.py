"""The interpreter of stages on DataFrames: Catalyst prepares the kernel's input, executors step the kernel.

`execution.step_stages` interprets the same stages on Arrow tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from importlib import import_module
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from presage.execution.keyed_files import work_on_files
from presage.execution.spark.batch import BatchContext, column, padded_order, run
from presage.execution.spark.expressions import quoted
from presage.execution.spark.kernel_runs import OUTPUT_ROWS, run_kernel
from presage.execution.spark.types import to_spark
from presage.execution.stage import Kernel, Operator, Resources, Stage, StageInput
from presage.model.types import TIMESTAMP
from presage.plan.nodes import SEQ, TIME, Field, Node

# More tasks would read the same files too often.
MOST_READERS = 8


def spark_operators(operators: Mapping[str, Operator]) -> dict[type[Node], Callable[..., DataFrame]]:
    """By type of node: the function that runs it on Spark."""
    runners: dict[type[Node], Callable[..., DataFrame]] = {}
    for operator in operators.values():
        runners |= {kind: _runner(compile_node) for kind, compile_node in operator.stages.items()}
        if operator.spark:
            runners |= import_module(operator.spark).OPERATORS
    return runners


def _runner(compile_node: Callable[[Any], Stage | Node]) -> Callable[[Node, BatchContext], DataFrame]:
    def run_node(node: Node, context: BatchContext) -> DataFrame:
        stage = compile_node(node)
        return run(stage, context) if isinstance(stage, Node) else run_stage(stage, context)

    return run_node


def run_stage(stage: Stage, context: BatchContext) -> DataFrame:
    """TIME, SEQ and the outputs of a stage."""
    kernel = stage.kernel(Resources(context.relations, lambda each: _lookup(each, context)))
    rows = _run_on_files(stage, kernel, context) if stage.reads_files else None
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
            context.watermark,
            in_memory=context.estimated_rows <= context.rows_in_memory * (context.partitions if stage.keys else 1),
            even_empty=stage.wakes_empty,
        )
    rows = rows.select(F.col(TIME), F.col(SEQ), *(_output(field, name) for field, name in stage.outputs))
    return rows if stage.residual is None else rows.where(column(stage.residual, context))


def input_frame(stage: Stage, each: StageInput, context: BatchContext) -> DataFrame:
    """The rows of one input with the kernel's columns."""
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
    """A column of the kernel under its name in the plan; TIME as a timestamp where the plan has it so."""
    shown = F.timestamp_micros(F.col(TIME)) if name == TIME and field.type == TIMESTAMP else quoted(name)
    return shown.alias(field.name)


def _lookup(each: StageInput, context: BatchContext) -> pa.Table:
    """The rows of a relation, with their number as `_row`; they are sent to the executors with the kernel."""
    assert isinstance(each.source, Node)
    columns = [quoted(name).alias(kernels) for kernels, name in each.carried]
    columns += [column(n.expr, context).alias(n.name) for n in each.prepared]
    # With `_row`: a relation that only multiplies rows has no other column, and a table without columns has no rows.
    return run(each.source, context).orderBy("_row").select("_row", *columns).toArrow()


def _run_on_files(stage: Stage, kernel: Kernel, context: BatchContext) -> DataFrame | None:
    """The kernel over files of the archive: each task reads the rows of its own keys, without a shuffle. None if the
    files do not allow it.

    This pays off while few files are not bucketed, or tasks are few: a row costs ten times as much to cross from the
    JVM to Python as to be read from a file.
    """
    if context.files is None:
        return None
    job = work_on_files(stage, kernel, context.files, context.relations, context.watermark)
    most = context.partitions if stage.keys else 1
    if job is None or not job.files.paths or context.estimated_rows > context.rows_in_memory * most:
        return None
    shared = most == 1 or (job.divided and most <= MOST_READERS)
    parts = job.by_bucket() or (job.by_share(most) if shared else [])
    if not parts:
        return None
    # A task costs more than a bucket: at most one task for each partition.
    tasks = min(len(parts), context.partitions)
    schema = StructType([StructField(f"c{i}", to_spark(f.type), True) for i, f in enumerate(stage.fields)])

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part in (p for task in batch.column(0).to_pylist() for p in parts[task::tasks]):
                rows = job.rows(part)
                if rows is not None:
                    yield from rows.rename_columns(schema.names).to_batches(max_chunksize=OUTPUT_ROWS)

    return context.spark.range(0, tasks, 1, tasks).mapInArrow(work, schema).toDF(*(f.name for f in stage.fields))
