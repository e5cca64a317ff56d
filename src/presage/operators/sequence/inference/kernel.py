"""Kernels of inferred streams: one for each method of inference.

FILTER and PARTICLES emit rows at every step. SMOOTH and VITERBI need all readings of a key: they keep them and emit
rows when the input ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.columns import ints
from presage.arrays.rows import append_rows, changes, ordinals, take_rows
from presage.columnar.key_hashes import hashes_of_several
from presage.model.operator_state import State
from presage.operators.sequence.inference.model import Model
from presage.operators.sequence.inference.rows import most_likely, smoothed, tables_of
from presage.operators.sequence.kernel.hidden_markov.filter import FilterKernel
from presage.operators.sequence.kernel.hidden_markov.particle_filter import ParticleKernel
from presage.operators.sequence.kernel.hidden_markov.spec import ORDINAL, SEQ, TIME, TIMER, Columns

KERNEL = "inference"
READINGS = "readings"


@dataclass(frozen=True)
class WholeKernel:
    """SMOOTH and VITERBI. Input columns: TIME, SEQ, key, observed; output columns: TIME, SEQ, ORDINAL, key, attribute,
    for SMOOTH the attribute before, probability."""

    model: Model
    columns: Columns
    method: str
    markov: bool = False

    def initial(self) -> State:
        return State(KERNEL)

    def step(self, state: State, events: pa.Table, clock: int, end: bool = False) -> tuple[State, pa.Table]:
        rows = append_rows(state.tables.get(READINGS), events)
        if not end:
            return State(KERNEL, {READINGS: rows}), self._in_order(self._inferred(rows.slice(0, 0)))
        return State(KERNEL), self._in_order(self._inferred(rows))

    def _inferred(self, rows: pa.Table) -> pa.Table:
        if self.method == "smooth":
            # Steps of other keys may lie between those of a key: there its marginal counts.
            return smoothed(self.model, rows, self.columns, marginals=not self.markov, bridge=self.markov).rows
        return most_likely(self.model, rows, self.columns).rows

    def _in_order(self, made: pa.Table) -> pa.Table:
        made = take_rows(made, np.argsort(ints(made, TIME), kind="stable")) if made.num_rows else made
        time = ints(made, TIME)
        columns = {TIME: pa.array(time), SEQ: pa.array(np.full(len(time), TIMER, np.int64))}
        columns[ORDINAL] = pa.array(ordinals(changes([time], len(time))))
        return pa.table(columns | {name: made[name] for name in made.column_names if name != TIME})


STEPWISE = ("filter", "particles")  # methods with a bounded state


def inference_kernel(
    model: Model, columns: Columns, method: str, particles: int, markov: bool, seed: int = 0
) -> FilterKernel | WholeKernel:
    idle = model.step is not None
    if method == "filter":
        return FilterKernel(tables_of(model), columns, idle)
    if method == "particles":
        return ParticleKernel(tables_of(model), columns, idle, particles, seed, hashes_of_several)
    return WholeKernel(model, columns, method, markov)
