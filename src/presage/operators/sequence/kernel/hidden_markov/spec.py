"""Arrays of a hidden Markov model: built from the model file, shipped to the workers, read by the loops.

S states are numbered 0 … S - 1. Transitions are a sparse matrix by rows (a building's graph has few edges at each
place); a matrix that is not sparse has a dense copy, which the loops prefer. Loops take `chain` and `emission` as plain
tuples of read-only arrays, so that each loop has one signature for all models.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import pyarrow as pa

from presage.arrays.jit import Floats, Ints

TIME, SEQ, ORDINAL = "_t", "_seq", "_ord"
PROBABILITY = "probability"
TIMER = -1  # SEQ of the rows of a step without readings
NOT_FORGOTTEN = -1  # `forget` of a model whose keys are never forgotten

# Share of transitions above 0 from which on the vectorized dense loop is faster.
DENSE_FROM = 0.2

Chain = tuple[Floats, Ints, Ints, Floats, Floats]  # initial, offsets, targets, weights, dense (0 rows: sparse)
Emission = tuple[Floats, Floats, Floats, Floats, Floats]  # table, absent, mean, half precision, log factor
# initial; its states above 0 and their running sums; offsets, targets, running sums of the weights of each row
Draws = tuple[Floats, Ints, Floats, Ints, Ints, Floats]


@dataclass(frozen=True)
class HiddenMarkov:
    """`table[symbol, state]` with `symbols` for discrete emissions (mean: 0 rows), else `mean[state, attribute]` and
    `variance`. `absent[state]` is the likelihood of a step without readings. `step` 0: no grid."""

    states: tuple[str | int | float, ...]
    initial: Floats
    offsets: Ints
    targets: Ints
    weights: Floats
    symbols: tuple[str, ...]
    table: Floats
    absent: Floats
    mean: Floats
    variance: Floats
    step: int = 0
    forget: int = NOT_FORGOTTEN

    @property
    def size(self) -> int:
        return len(self.states)

    @property
    def is_gaussian(self) -> bool:
        return bool(self.mean.shape[0])

    @cached_property
    def chain(self) -> Chain:
        dense = np.zeros((0, self.size))
        if len(self.weights) >= DENSE_FROM * self.size**2:
            dense = np.zeros((self.size, self.size))
            sources = np.repeat(np.arange(self.size), np.diff(self.offsets))
            dense[sources, self.targets] = self.weights
        return cast("Chain", _fixed(self.initial, self.offsets, self.targets, self.weights, dense))

    @cached_property
    def emission(self) -> Emission:
        """The logarithm of a normal density is factor - (x - mean)² · half precision."""
        precision = 0.5 / self.variance
        factor = -0.5 * np.log(2.0 * np.pi * self.variance)
        return cast("Emission", _fixed(self.table, self.absent, self.mean, precision, factor))

    @cached_property
    def draws(self) -> Draws:
        """For random states: a number between 0 and the last sum of a row is searched in the row's running sums."""
        states = np.flatnonzero(self.initial > 0.0)
        sums = np.empty(len(self.weights))
        for low, high in zip(self.offsets, self.offsets[1:], strict=False):
            sums[low:high] = np.cumsum(self.weights[low:high])
        return cast(
            "Draws", _fixed(self.initial, states, np.cumsum(self.initial[states]), self.offsets, self.targets, sums)
        )

    @cached_property
    def log_chain(self) -> Chain:
        """For the most likely path, which maximises a sum of logarithms."""
        with np.errstate(divide="ignore"):
            initial, weights = np.log(self.initial), np.log(self.weights)
        return cast("Chain", _fixed(initial, self.offsets, self.targets, weights, np.zeros((0, self.size))))

    def names(self, numbers: Ints, kind: pa.DataType | None = None) -> pa.Array:
        """States by number, as their values; -1 is null."""
        return pa.array(self.states, kind).take(pa.array(numbers, mask=numbers < 0))


@dataclass(frozen=True)
class Columns:
    """Which columns of the readings are the key and which are observed; the column for the state, and its type (None:
    that of the model's states). The state before has the column `prev_…`."""

    key: tuple[str, ...]
    observes: tuple[str, ...]
    attribute: str = "value"
    type: pa.DataType | None = None

    @property
    def before(self) -> str:
        return f"prev_{self.attribute}"


def _fixed(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    fixed = []
    for array in arrays:
        view = np.ascontiguousarray(array).view()
        view.flags.writeable = False
        fixed.append(view)
    return tuple(fixed)
