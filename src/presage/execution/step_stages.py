"""The interpreter of stages on Arrow tables, one step at a time, on the driver and on executors.

`execution.spark.batch_stages` interprets the same stages on DataFrames.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from presage.columnar.evaluate import Evaluator
from presage.columnar.key_hashes import shards_of
from presage.columnar.processing_order import sorted_table
from presage.execution.stage import STATEMENT, Kernel, Operator, Resources, Stage, StageInput
from presage.execution.steps import Rows, StepContext, aligned, full, prepared_columns, run, united
from presage.model.arrow import to_arrow
from presage.plan.nodes import SEQ, TIME, Node, order_columns

Columns = dict[str, pa.Array | pa.ChunkedArray]
# Fewer rows are not worth a thread.
ROWS_PER_THREAD = 50_000


def steps_of(operator: Operator) -> dict[type[Node], Callable[..., Rows]]:
    """By type of node: the function that steps it."""
    return {kind: _runner(compile_node) for kind, compile_node in operator.stages.items()} | dict(operator.steps)


def _runner(compile_node: Callable[[Any], Stage | Node]) -> Callable[[Node, StepContext], Rows]:
    def run_node(node: Node, context: StepContext) -> Rows:
        stage = context.once(node, lambda: _compiled(compile_node(node), context))
        return run(stage, context) if isinstance(stage, Node) else _run_stage(stage, context)

    return run_node


@dataclass(frozen=True)
class _Compiled:
    """A stage with its kernel, cached between steps; `inner`: its inputs that are stages themselves."""

    stage: Stage
    kernel: Kernel
    resources: Resources
    inner: Mapping[int, _Compiled]


def _compiled(stage: Stage | Node, context: StepContext) -> _Compiled | Node:
    if isinstance(stage, Node):
        return stage
    resources = Resources(context.relations, lambda table: _lookup(table, context), os.cpu_count() or 1)
    inner: dict[int, _Compiled] = {}
    for number, each in enumerate(stage.inputs):
        if isinstance(each.source, Stage):
            below = _compiled(each.source, context)
            assert isinstance(below, _Compiled)
            inner[number] = below
    return _Compiled(stage, stage.kernel(resources), resources, inner)


def _run_stage(compiled: _Compiled, context: StepContext) -> Rows:
    stage, kernel = compiled.stage, compiled.kernel
    table, watermark = _input(compiled, context)
    ahead = context.speculative() if stage.foresees else None
    if ahead is not None:
        kernel = kernel.looking(ahead.share(_input(compiled, ahead)[0], stage.ordering, stage.shard_keys))  # type: ignore[attr-defined]
    threads = min(context.threads, table.num_rows // ROWS_PER_THREAD) if stage.shard_keys else 1
    if threads > 1:
        made = _step_in_threads(compiled, table, watermark, threads)
    else:
        made = context.step(stage.node, kernel, table, stage.ordering, watermark, keys=stage.shard_keys)
    return Rows(output_rows(stage, made, context.evaluator), watermark)


def _step_in_threads(compiled: _Compiled, table: pa.Table, watermark: int, threads: int) -> pa.Table:
    """The kernel's rows of the only step of a bounded run: every thread steps a kernel of its own over some keys."""
    stage, resources = compiled.stage, replace(compiled.resources, threads=1)
    numbers = shards_of(table, stage.shard_keys, threads)
    watermark = max(watermark, int(table[TIME].to_numpy().max()))

    def step(number: int) -> pa.Table:
        rows = sorted_table(table.filter(pa.array(numbers == number)), stage.ordering)
        kernel = stage.kernel(resources)
        return kernel.step(kernel.initial(), rows, watermark, end=True)[1]

    with ThreadPoolExecutor(threads, thread_name_prefix="presage-stage") as pool:
        return pa.concat_tables(pool.map(step, range(threads)))


def output_rows(stage: Stage, made: pa.Table, evaluator: Evaluator) -> pa.Table:
    """The kernel's rows as those of the node."""
    columns: Columns = {TIME: made[TIME], SEQ: made[SEQ]}
    for field, name in stage.outputs:
        columns[field.name] = _typed(made[name], to_arrow(field.type))
    if STATEMENT in made.column_names:
        columns[STATEMENT] = made[STATEMENT]
    rows = pa.table(columns)
    if stage.residual is None or not rows.num_rows:
        return rows
    return rows.filter(pa.array(evaluator.mask(stage.residual, rows)))


def _input(compiled: _Compiled, context: StepContext) -> tuple[pa.Table, int]:
    """The kernel's input in this step, and its watermark."""
    stage = compiled.stage
    parts = []
    for number, each in enumerate(stage.inputs):
        source = each.source
        parts.append(run(source, context) if isinstance(source, Node) else _run_stage(compiled.inner[number], context))
    if not stage.numbered:
        ((part, only),) = zip(parts, stage.inputs, strict=True)
        return _input_table(stage, only, part.table, context), part.watermark
    tables, watermark = aligned(stage.node, parts, context)
    pairs = zip(stage.inputs, tables, strict=True)
    return united([_input_table(stage, each, table, context) for each, table in pairs]), watermark


def _input_table(stage: Stage, each: StageInput, table: pa.Table, context: StepContext) -> pa.Table:
    for condition in each.where:
        table = table.filter(pa.array(context.evaluator.mask(condition, table)))
    columns: Columns = {TIME: table[TIME], SEQ: table[SEQ]}
    for name in order_columns(stage.depth)[: each.depth]:
        columns[name] = table[name]
    for name in order_columns(stage.depth)[each.depth :]:
        columns[name] = full(0, table.num_rows)
    if stage.numbered:
        columns[stage.numbered] = pa.array(np.full(table.num_rows, each.number, np.int8))
    columns |= {name: table[column] for name, column in each.carried}
    columns |= prepared_columns(each.prepared, table, context)
    columns |= {key: columns[name] for key, name in zip(stage.keys, each.keys, strict=False)}
    columns |= {n.name: pa.array(context.evaluator.mask(n.expr, table)) for n in each.masks}
    if STATEMENT in table.column_names:
        columns[STATEMENT] = table[STATEMENT]
    return pa.table(columns)


def _typed(array: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """In the type of the plan; texts may stay dictionary-encoded."""
    return array if array.type == kind or pa.types.is_dictionary(array.type) else array.cast(kind)


def _lookup(each: StageInput, context: StepContext) -> pa.Table:
    """The rows of a relation for a kernel's lookups, with their number as `_row`."""
    assert isinstance(each.source, Node)
    table = run(each.source, context).table
    columns: Columns = {"_row": table["_row"]} | {name: table[column] for name, column in each.carried}
    return pa.table(columns | prepared_columns(each.prepared, table, context))
