"""Segments: the times within each piece at which all its value terms hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.pieces import Pieces, usable
from presage.operators.prediction.kernel.regions.ends import (
    HIGH,
    HIGH_OPEN,
    LOW,
    LOW_OPEN,
    bound_above,
    bound_below,
    interval,
    no_ends,
)
from presage.operators.prediction.kernel.regions.solutions import MOST, solutions
from presage.operators.prediction.kernel.spec import ValueTerm


@dataclass(frozen=True)
class Segments:
    """By piece. `low`, `high`: seconds from the start of the piece."""

    piece: Ints
    low: Floats
    high: Floats
    low_open: Bools
    high_open: Bools

    def __len__(self) -> int:
        return len(self.piece)


def build_segments(pieces: Pieces, terms: tuple[ValueTerm, ...], others: tuple[int, ...] = ()) -> Segments:
    """`others`: further attributes of the query: a piece that lacks one satisfies no term. O(n) per term."""
    fit = usable(pieces, (*(term.attribute for term in terms), *others))
    numbers, constants = _term_arrays(terms)
    return Segments(
        *cut_pieces(
            np.flatnonzero(fit),
            (pieces.end - pieces.start) / 1e6,
            pieces.end_open,
            pieces.value,
            pieces.rate,
            pieces.threshold,
            numbers,
            constants,
        )
    )


@compiled
def cut_pieces(
    rows: Ints,
    span: Floats,
    end_open: Bools,
    value: Floats,
    rate: Floats,
    threshold: Floats,
    terms: Ints,
    constants: Floats,
) -> tuple[Ints, Floats, Floats, Bools, Bools]:
    """A term has at most two intervals of values, so n terms leave at most n + 1 segments of a piece."""
    most = len(terms) + 1
    piece = np.empty(len(rows) * most, np.int64)
    ends = np.empty((len(rows) * most, 2))
    opens = np.empty((len(rows) * most, 2), np.bool_)
    here, there = np.empty((2 * most, 4)), np.empty((2 * most, 4))
    found = np.empty((MOST, 4))
    bounds = np.empty((1, 4))
    made = 0
    for row in rows:
        count = 1
        here[0, 0], here[0, 1], here[0, 2], here[0, 3] = 0.0, span[row], 0.0, 1.0 if end_open[row] else 0.0
        for k in range(len(terms)):
            x = terms[k, 0]
            values = solutions(terms[k, 1], constants[k], threshold[row, x], terms[k, 2], False, found)
            count = _meet(here, count, value[row, x], rate[row, x], found, values, bounds, there)
            for i in range(count):
                for column in range(4):
                    here[i, column] = there[i, column]
        for i in range(count):
            piece[made] = row
            ends[made, 0], ends[made, 1] = here[i, 0], here[i, 1]
            opens[made, 0], opens[made, 1] = here[i, 2] > 0.0, here[i, 3] > 0.0
            made += 1
    return piece[:made], ends[:made, 0].copy(), ends[:made, 1].copy(), opens[:made, 0].copy(), opens[:made, 1].copy()


@bare
def _meet(
    here: Floats, count: int, value: float, rate: float, found: Floats, values: int, bounds: Floats, there: Floats
) -> int:
    """The times of `here` at which value + rate · t lies in one of the intervals `found`, in ascending order."""
    kept = 0
    for i in range(count):
        for v in range(values):
            # A falling function passes the intervals in descending order.
            j = v if rate >= 0.0 else values - 1 - v
            no_ends(bounds, 0)
            bound_below(bounds, 0, here[i, 0], here[i, 2] > 0.0)
            bound_above(bounds, 0, here[i, 1], here[i, 3] > 0.0)
            if not bound_by_values(bounds, value, rate, found, j):
                continue
            there_is, low, high, low_open, high_open = interval(
                bounds[0, LOW], bounds[0, LOW_OPEN], bounds[0, HIGH], bounds[0, HIGH_OPEN]
            )
            if there_is and kept < len(there):
                there[kept, 0], there[kept, 1] = low, high
                there[kept, 2], there[kept, 3] = 1.0 if low_open else 0.0, 1.0 if high_open else 0.0
                kept += 1
    return kept


@bare
def bound_by_values(bounds: Floats, value: float, rate: float, found: Floats, row: int) -> bool:
    """Bound the times to those at which value + rate · t lies between two values. False: never."""
    low, high, low_open, high_open = found[row, 0], found[row, 1], found[row, 2] > 0.0, found[row, 3] > 0.0
    if rate == 0.0:
        above = value > low or (value == low and not low_open)
        return above and (value < high or (value == high and not high_open))
    first, last = (low - value) / rate, (high - value) / rate
    if rate < 0.0:
        first, last = last, first
        low_open, high_open = high_open, low_open
    if first > -np.inf:
        bound_below(bounds, 0, first, low_open)
    if last < np.inf:
        bound_above(bounds, 0, last, high_open)
    return True


def _term_arrays(terms: tuple[ValueTerm, ...]) -> tuple[Ints, Floats]:
    """For the loops: a row (attribute, comparator, mode) for each term, and the constants."""
    rows = [(t.attribute, t.comparator, t.mode) for t in terms]
    return np.array(rows, np.int64).reshape(-1, 3), np.array([t.constant for t in terms], np.float64)
