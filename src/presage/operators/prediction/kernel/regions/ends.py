"""Intervals with open or closed ends, from bounds of a time. Called from loops.

Times are seconds from an origin near the data. Events have microseconds, so moments closer than a nanosecond are the
same: bounds that differ by less are one bound, which is open if either is; a closed interval that is negative by less
is a point; an interval with an open end must be longer. Without this tolerance a match at a single moment would depend
on the last bit of a division.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats
from presage.operators.prediction.kernel.jit import bare

NEAR = 1e-9
LOW, LOW_OPEN, HIGH, HIGH_OPEN = 0, 1, 2, 3


@bare
def no_ends(ends: Floats, row: int) -> None:
    """`ends[row]`: the greatest closed and open low bound, and the least closed and open high bound."""
    ends[row, LOW] = -np.inf
    ends[row, LOW_OPEN] = -np.inf
    ends[row, HIGH] = np.inf
    ends[row, HIGH_OPEN] = np.inf


@bare
def bound_below(ends: Floats, row: int, at: float, is_open: bool) -> None:
    kind = LOW_OPEN if is_open else LOW
    ends[row, kind] = max(ends[row, kind], at)


@bare
def bound_above(ends: Floats, row: int, at: float, is_open: bool) -> None:
    kind = HIGH_OPEN if is_open else HIGH
    ends[row, kind] = min(ends[row, kind], at)


@bare
def interval(low: float, low_open: float, high: float, high_open: float) -> tuple[bool, float, float, bool, bool]:
    """The interval of closed and open bounds: whether it is not empty, low, high, low open, high open."""
    opens_low = low_open > -np.inf and low_open >= low - NEAR
    opens_high = high_open < np.inf and high_open <= high + NEAR
    first, last = max(low, low_open), min(high, high_open)
    if opens_low or opens_high:
        return last - first > NEAR, first, last, opens_low, opens_high
    return last - first >= -NEAR, first, max(first, last), False, False


@bare
def micros(at: float) -> tuple[int, float]:
    """Seconds as the nearest whole microsecond, and the remaining fraction, to the nanosecond."""
    exact = at * 1e6
    whole = np.floor(exact + 0.5)
    return int(whole), float(np.floor((exact - whole) * 1e3 + 0.5) * 1e-3)
