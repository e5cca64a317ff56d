"""Runs the nodes of the probability room step by step on Arrow tables: the same kernels as `probability.spark`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from presage.columnar.steps import MOMENT, Rows, StepContext, aligned, prepared_columns, run, united
from presage.errors import error
from presage.model.arrow import to_arrow
from presage.model.state import State
from presage.plan.nodes import SEQ, TIME, Node
from presage.probability.compile import KEYS, infer_kernel, sequence_kernel
from presage.probability.inference.kernel import STEPWISE as INFERRED_STEPWISE
from presage.probability.kernel.hmm_filter import FilterKernel
from presage.probability.kernel.hmm_particle_filter import ParticleKernel
from presage.probability.kernel.sequence import ORDINAL
from presage.probability.kernel.spec import SOURCE
from presage.probability.methods import STEPWISE
from presage.probability.nodes import Infer, SequenceMatch

STATEFUL = (SequenceMatch, Infer)


def _run_sequence(node: SequenceMatch, context: StepContext) -> Rows:
    kernel = context.once(node, lambda: sequence_kernel(node, context.relations))
    tables, clock = aligned(node, [run(source, context) for source in node.sources], context)
    parts = [_source_table(i, node, table, context) for i, table in enumerate(tables)]
    table = united(parts)
    keys = [f"{KEYS}{i}" for i in range(len(node.spread_by()[0]))] if node.spread_by() else []
    made = context.step(node, kernel, table, (TIME, SEQ, SOURCE), clock, keys=keys)
    order = [TIME, SEQ, ORDINAL, *(f.name for f in node.made)]
    return Rows(made.select(order).rename_columns([TIME, SEQ, *node.order, *(f.name for f in node.made)]), clock)


def _run_infer(node: Infer, context: StepContext) -> Rows:
    kernel = context.once(node, lambda: infer_kernel(node))
    rows = run(node.input, context)
    prepared = prepared_columns(node.prepared, rows.table, context)
    table = pa.table({TIME: rows.table[TIME], SEQ: rows.table[SEQ], **prepared})
    made = context.step(node, kernel, table, (TIME, SEQ), rows.clock)
    columns = {TIME: made[TIME], SEQ: made[SEQ], node.order[0]: made[ORDINAL]}
    shown = dict(node.shown)
    for f in node.fields:
        columns[f.name] = (
            made[TIME].cast(MOMENT) if f.name in node.times else made[shown[f.name]].cast(to_arrow(f.type))
        )
    return Rows(pa.table(columns), rows.clock)


def _source_table(number: int, node: SequenceMatch, table: pa.Table, context: StepContext) -> pa.Table:
    """The rows of one stream as rows of the kernel's common input."""
    columns: dict[str, pa.Array | pa.ChunkedArray] = {TIME: table[TIME], SEQ: table[SEQ]}
    columns[SOURCE] = pa.array(np.full(table.num_rows, number, np.int8))
    prepared = prepared_columns(node.prepared[number], table, context)
    if node.spread_by():
        columns |= {f"{KEYS}{i}": prepared[name] for i, name in enumerate(node.spread_by()[number])}
    return pa.table({**columns, **prepared})


def has_timers(plan: Node) -> bool:
    """Whether time alone can make this plan yield rows: a step is answered when its time is over."""
    return any(isinstance(node, STATEFUL) for node in plan.walk())


def spreads(node: Node) -> bool:
    """Whether the keys of a node can be dealt with apart from each other."""
    return isinstance(node, SequenceMatch) and bool(node.spread_by())


def check_end(plan: Node, ends: int | None) -> None:
    """What is not computed step by step keeps all its rows: a standing statement must have an end."""
    for node in plan.walk() if ends is None else ():
        if isinstance(node, Infer) and node.method not in INFERRED_STEPWISE:
            raise error("UNSUPPORTED", what=f"INFERENCE by {node.method.upper()}",
                        where="in a statement that never ends: it looks at all readings",
                        fix="infer with FILTER or PARTICLES, or add WITHIN with an upper bound")  # fmt: skip
        if isinstance(node, SequenceMatch) and (node.tables.method != STEPWISE or node.tables.by is not None):
            by, kind = node.tables.by, node.verdict.kind
            what = f"SEQUENCE […] BY {by.upper()}" if by else f"a sequence that is {kind}"
            if not by and node.tables.stepwise:
                what = "a sequence that reads several Markov chains at once"
            raise error("UNSUPPORTED", what=what, where="in a statement that never ends: its state would grow for ever",
                        fix="add WITHIN with an upper bound, or ask it as a query")  # fmt: skip


def counted_readings(state: State) -> dict[str, int]:
    """What a filter counts of the readings: those ignored, and how often its particles started anew."""
    return dict(state.numbers) if state.kernel in (FilterKernel.name, ParticleKernel.name) else {}


OPERATORS: Mapping[type[Node], Callable[..., Rows]] = {SequenceMatch: _run_sequence, Infer: _run_infer}
