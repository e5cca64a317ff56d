"""The search for the peak of a log-concave function, by values and slopes. Called from loops.

The logarithm lies below its tangents, so the crossing of the tangents at both ends of the remaining interval is an
upper bound; the search stops when it is better than the best place by less than 1e-13. At a corner of the function the
crossing is also the best next place; where the function is smooth, the interpolated zero of the slope is. Both
alternate.
"""

from __future__ import annotations

import math

from presage.arrays.jit import Floats
from presage.operators.prediction.kernel.jit import bare

# Columns of a search: at both ends of the remaining interval the place, the logarithm, its slope, and its slope with
# respect to a parameter (the time at which the search is made); the next place; the best so far; the number of steps.
LOW, LOW_LOG, LOW_SLOPE, LOW_OTHER, HIGH, HIGH_LOG, HIGH_SLOPE, HIGH_OTHER = 0, 1, 2, 3, 4, 5, 6, 7
NEXT, BEST, BEST_AT, STEP = 8, 9, 10, 11
SEARCH = 12
# Of the logarithm.
FINE = 1e-13
STEPS = 60
# The logarithm of 0, and the slope where the function is 0.
NOTHING, STEEP = -1e3, 1e9


@bare
def begin(search: Floats, row: int, low: float, high: float) -> None:
    search[row, LOW], search[row, HIGH] = low, high
    search[row, NEXT], search[row, STEP] = low, 0.0
    search[row, BEST], search[row, BEST_AT] = -1.0, low


@bare
def tell(search: Floats, row: int, value: float, slope: float, other: float, enough: float) -> bool:
    """Add the value at NEXT; `slope` and `other` are those of the logarithm. Return whether the search continues, with
    a new NEXT. It stops at `enough`."""
    at, step = search[row, NEXT], search[row, STEP]
    search[row, STEP] = step + 1.0
    if value > search[row, BEST]:
        search[row, BEST], search[row, BEST_AT] = value, at
    if step == 0.0 or (step > 1.0 and slope > 0.0):
        _set(search, row, LOW, at, value, slope, other)
    else:
        _set(search, row, HIGH, at, value, slope, other)
    low, high = search[row, LOW], search[row, HIGH]
    if value >= enough:
        return False
    if step == 0.0:
        search[row, NEXT] = high
        return slope > 0.0
    rise, fall = search[row, LOW_SLOPE], search[row, HIGH_SLOPE]
    width = high - low
    if rise <= 0.0 or fall >= 0.0 or width <= 0.0 or step >= STEPS:
        return False
    crossing = (search[row, HIGH_LOG] - search[row, LOW_LOG] - fall * width) / (rise - fall)
    best = math.log(search[row, BEST]) if search[row, BEST] > 0.0 else NOTHING
    if search[row, LOW_LOG] + rise * crossing - best <= FINE:
        return False
    away = crossing if step % 2.0 == 1.0 else width * rise / (rise - fall)
    if step % 8.0 == 0.0:
        away = 0.5 * width
    # Never an end itself, or the other end would not move.
    away = min(max(away, 0.001 * width), 0.999 * width)
    search[row, NEXT] = low + away
    return bool(low < low + away < high)


@bare
def _set(search: Floats, row: int, end: int, at: float, value: float, slope: float, other: float) -> None:
    search[row, end] = at
    search[row, end + LOW_LOG] = math.log(value) if value > 0.0 else NOTHING
    search[row, end + LOW_SLOPE] = slope
    search[row, end + LOW_OTHER] = other


@bare
def change_of_peak(search: Floats, row: int, low_moves: float, high_moves: float) -> float:
    """How the logarithm of the peak changes with the parameter; the ends of the search move with it at these rates."""
    rise, fall = search[row, LOW_SLOPE], search[row, HIGH_SLOPE]
    if search[row, STEP] == 1.0 or rise <= 0.0:
        return float(search[row, LOW_OTHER] + rise * low_moves)
    if fall >= 0.0:
        return float(search[row, HIGH_OTHER] + fall * high_moves)
    # Between two places: weighted so that their slopes cancel, which is right in a corner too.
    share = rise / (rise - fall)
    return float(search[row, LOW_OTHER] + share * (search[row, HIGH_OTHER] - search[row, LOW_OTHER]))
