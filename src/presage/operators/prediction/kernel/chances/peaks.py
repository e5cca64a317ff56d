"""The greatest probability over a region of (t, u), and where it crosses p. Called from loops.

For each t the best u, and over t the best of those. The product of <=, < and value terms is log-concave, and so is that
of > and >= where one tail counts: it has one peak in u, its maximum over u has one peak in t, and the times at which it
reaches p are an interval. Both searches use `ascent`. Where both tails count: `summits`.

The result at t depends only on t and on the lines that bound u there, not on where a search began or what comes later.
"""

from __future__ import annotations

import math

import numpy as np

from presage.arrays.jit import Floats
from presage.operators.prediction.kernel.chances.ascent import BEST, BEST_AT, NEXT, NOTHING, begin, change_of_peak, tell
from presage.operators.prediction.kernel.chances.factors import Factors, product_at
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.regions.regions import Region, slice_at

# Rows of the two searches.
OVER_T, OVER_U = 0, 1
SEARCHES = 2
# The resolution of the times at which a product crosses p, some tenth of a nanosecond. A power of two: exact.
GRAIN = 2.0**33
EDGE_STEPS = 80


@bare
def peak_over_u(
    region: Region,
    at: int,
    factors: Factors,
    search: Floats,
    t: float,
    enough: float,
) -> tuple[float, float]:
    """The greatest product over the u that the region allows with t, and how its logarithm changes with t."""
    first, last, first_moves, last_moves = slice_at(region, at, t)
    begin(search, OVER_U, first, last)
    going = True
    while going:
        value, by_t, by_u = product_at(factors, t, search[OVER_U, NEXT])
        going = tell(search, OVER_U, value, by_u, by_t, enough)
    return search[OVER_U, BEST], change_of_peak(search, OVER_U, first_moves, last_moves)


@bare
def peak_over_t(
    region: Region,
    at: int,
    factors: Factors,
    search: Floats,
    low: float,
    high: float,
    enough: float,
) -> tuple[float, float]:
    """Where between two times the product is greatest, and how great. No more than `enough` is sought."""
    begin(search, OVER_T, low, high)
    going = True
    while going:
        t = search[OVER_T, NEXT]
        value, slope = peak_over_u(region, at, factors, search, t, enough)
        going = tell(search, OVER_T, value, slope, 0.0, enough)
    return search[OVER_T, BEST_AT], search[OVER_T, BEST]


@bare
def edge(
    region: Region,
    at: int,
    factors: Factors,
    search: Floats,
    outside: float,
    inside: float,
    p: float,
) -> tuple[bool, float]:
    """Where the greatest product over u crosses p, between a time outside and one inside at which it reaches p. False
    if it reaches p at `outside` already. The result is the first whole grain inside, whatever the two times are. It is
    found by tangents of the logarithm, which never overshoot from outside; every fifth step bisects."""
    if inside == outside:
        return False, outside
    towards = 1.0 if outside < inside else -1.0
    wanted = math.log(p) if p > 0.0 else NOTHING
    middle = outside
    for step in range(EDGE_STEPS):
        value, slope = peak_over_u(region, at, factors, search, middle, 1.0)
        reaches = value >= p
        if reaches and step == 0:
            return False, outside
        if reaches:
            inside = middle
        else:
            outside = middle
        target = 0.5 * (inside + outside)
        if value > 0.0 and slope * towards > 0.0 and step % 5 != 4:
            target = middle + (wanted - math.log(value)) / slope
            # One grain beyond it, so that the other end moves too.
            target += (-towards if reaches else towards) / GRAIN
        middle = _grain_between(target, inside, outside)
        if middle == inside:
            break
    grains = inside * GRAIN
    return True, (np.ceil(grains) if towards > 0.0 else np.floor(grains)) / GRAIN


@bare
def _grain_between(at: float, inside: float, outside: float) -> float:
    """A whole grain near a time and between two others; `inside` if there is none."""
    low, high = min(inside, outside), max(inside, outside)
    first, last = np.floor(low * GRAIN) + 1.0, np.ceil(high * GRAIN) - 1.0
    if first > last:
        return inside
    return float(min(max(np.floor(at * GRAIN + 0.5), first), last) / GRAIN)
