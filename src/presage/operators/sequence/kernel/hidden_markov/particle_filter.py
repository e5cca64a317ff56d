"""The kernel of PARTICLES: the steps and rows of FILTER, with n particles as the belief of each key.

State: the number of particles by key and state, so that a statement continues with the same particles after any batch
and any restart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from presage.arrays.columns import column
from presage.arrays.jit import Bools, Ints
from presage.model.operator_state import State
from presage.operators.sequence.kernel.hidden_markov.filter import FilterKernel, Followed
from presage.operators.sequence.kernel.hidden_markov.particles import particle_steps
from presage.operators.sequence.kernel.hidden_markov.readings import Readings
from presage.operators.sequence.kernel.hidden_markov.steps import Steps
from presage.operators.sequence.kernel.spec import KeyHashes

KERNEL = "hidden_markov_particles"
STATES, NUMBERS = "_states", "_numbers"
RESTARTS = "restarts"  # the counter of steps at which no particle could give the readings
READINGS = "readings"  # table of states in an older format: all readings so far, without particles


def _no_hashes(columns: list[pa.ChunkedArray], rows: int) -> np.ndarray:
    return np.zeros(rows, np.int64)


@dataclass(frozen=True)
class ParticleKernel(FilterKernel):
    """PARTICLES. Columns as FILTER. `seed` and `hashes` of keys determine the random numbers."""

    particles: int = 1
    seed: int = 0
    hashes: KeyHashes = _no_hashes
    name: ClassVar[str] = KERNEL

    def step(self, state: State, events: pa.Table, clock: int, end: bool = False) -> tuple[State, pa.Table]:
        if READINGS in state.tables:
            state = State(KERNEL, {"open": state.tables[READINGS]})
        return super().step(state, events, clock, end)

    def _follow(self, kept: pa.Table | None, keys: pa.Table, steps: Steps, readings: Readings) -> Followed:
        count = len(steps.bounds) - 1
        hashes = self.hashes([keys.column(name) for name in self.columns.key], count).view(np.int64)
        ends, states, chances, usable, anew, bounds, particles, numbers = particle_steps(
            self.model.draws,
            self.model.emission,
            steps,
            readings,
            hashes,
            self.seed,
            self.particles,
            *_particles(kept, count),
        )

        def saved(stays: Bools) -> dict[str, pa.Array]:
            offsets, kept_keys = pa.array(bounds, pa.int32()), pa.array(stays)
            parts = {STATES: particles, NUMBERS: numbers}
            lists = {n: pa.ListArray.from_arrays(offsets, pa.array(v, pa.int32())) for n, v in parts.items()}
            return {name: array.filter(kept_keys) for name, array in lists.items()}

        return Followed(ends, states, chances, usable, saved, {RESTARTS: int(anew.sum())})


def _particles(kept: pa.Table | None, count: int) -> tuple[Ints, Ints, Ints]:
    """Where the particles of each key begin, their states, and the number in each state."""
    bounds = np.zeros(count + 1, np.int64)
    if kept is None or not kept.num_rows:
        return bounds, bounds[:0], bounds[:0]
    lists = column(kept, STATES)
    bounds[1 : kept.num_rows + 1] = np.cumsum(lists.value_lengths().to_numpy())
    bounds[kept.num_rows + 1 :] = bounds[kept.num_rows]
    states, numbers = (column(kept, name).flatten().to_numpy().astype(np.int64) for name in (STATES, NUMBERS))
    return bounds, states, numbers
