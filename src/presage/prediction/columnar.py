"""Runs the nodes of the prediction room step by step on Arrow tables: the same kernel as `prediction.spark`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from presage.columnar.steps import Rows, StepContext, aligned, prepared_columns, run, united
from presage.plan.nodes import SEQ, TIME, Node
from presage.prediction.compile import prediction_kernel
from presage.prediction.kernel.query import ORDINAL, SOURCE
from presage.prediction.nodes import PredictedMatch

STATEFUL = (PredictedMatch,)
SORT = (TIME, SEQ, SOURCE)


def _run_predicted(node: PredictedMatch, context: StepContext) -> Rows:
    kernel = context.once(node, lambda: prediction_kernel(node, os.cpu_count() or 1))
    keys = list(node.spread_by())
    updates, clock = _updates(node, context)
    foresight = context.foresight() if node.tables.tentative else None
    if foresight is not None:
        kernel = kernel.looking(foresight.share(_updates(node, foresight)[0], SORT, keys))
    made = context.step(node, kernel, updates, SORT, clock, keys=keys)
    names = [f.name for f in node.made]
    return Rows(made.select([TIME, SEQ, ORDINAL, *names]).rename_columns([TIME, SEQ, *node.order, *names]), clock)


def _updates(node: PredictedMatch, context: StepContext) -> tuple[pa.Table, int]:
    """The updates of all streams with what the kernel wants to know of them, and how far time is known."""
    tables, clock = aligned(node, [run(source, context) for source in node.sources], context)
    parts = []
    for number, table in enumerate(tables):
        source = pa.array(np.full(table.num_rows, number, np.int8))
        prepared = prepared_columns(node.prepared[number], table, context)
        parts.append(pa.table({TIME: table[TIME], SEQ: table[SEQ], SOURCE: source, **prepared}))
    return united(parts), clock


def foresees(plan: Node) -> bool:
    """Whether this plan looks at events before their time is settled."""
    return any(isinstance(node, PredictedMatch) and node.tables.tentative for node in plan.walk())


def has_timers(plan: Node) -> bool:
    """Whether time alone can make this plan yield rows: functions meet, and end, without a word."""
    return any(isinstance(node, STATEFUL) for node in plan.walk())


def spreads(node: Node) -> bool:
    """Whether the keys of a node can be dealt with apart from each other."""
    return isinstance(node, PredictedMatch) and bool(node.spread_by())


OPERATORS: Mapping[type[Node], Callable[..., Rows]] = {PredictedMatch: _run_predicted}
