"""Bounds on a time come in, an interval with open or closed ends goes out. Called from loops.

Times are seconds from an origin near the data. Events carry microseconds, so what is closer than a nanosecond is the
same moment: bounds that differ by less are one bound, which is open if either is; a closed interval may miss by so much
and is then a point; one with an open end must be longer. Without this, a meeting in a single moment would come and go
with the last bit of a division.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, inlined

NEAR = 1e-9
LOW, LOW_OPEN, HIGH, HIGH_OPEN = 0, 1, 2, 3


@inlined
def no_ends(ends: Floats) -> None:
    """`ends`: the greatest low bound that is closed, the greatest that is open, and the same of high bounds."""
    ends[LOW] = -np.inf
    ends[LOW_OPEN] = -np.inf
    ends[HIGH] = np.inf
    ends[HIGH_OPEN] = np.inf


@inlined
def bound_below(ends: Floats, at: float, is_open: bool) -> None:
    if is_open:
        ends[LOW_OPEN] = max(ends[LOW_OPEN], at)
    else:
        ends[LOW] = max(ends[LOW], at)


@inlined
def bound_above(ends: Floats, at: float, is_open: bool) -> None:
    if is_open:
        ends[HIGH_OPEN] = min(ends[HIGH_OPEN], at)
    else:
        ends[HIGH] = min(ends[HIGH], at)


@inlined
def interval(ends: Floats) -> tuple[bool, float, float, bool, bool]:
    """Whether there is one, low, high, low open, high open."""
    low_open = ends[LOW_OPEN] > -np.inf and ends[LOW_OPEN] >= ends[LOW] - NEAR
    high_open = ends[HIGH_OPEN] < np.inf and ends[HIGH_OPEN] <= ends[HIGH] + NEAR
    low = max(ends[LOW], ends[LOW_OPEN])
    high = min(ends[HIGH], ends[HIGH_OPEN])
    if low_open or high_open:
        return high - low > NEAR, low, high, low_open, high_open
    return high - low >= -NEAR, low, max(low, high), False, False


@inlined
def micros(at: float) -> tuple[int, float]:
    """Seconds as the nearest whole microsecond, and what is left of it, to the nanosecond."""
    exact = at * 1e6
    whole = np.floor(exact + 0.5)
    return np.int64(whole), np.floor((exact - whole) * 1e3 + 0.5) * 1e-3
