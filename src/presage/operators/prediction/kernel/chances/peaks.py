"""The greatest probability over a region of (t, u), and where it passes p. Called from loops.

For a given t, the best u; over t, the best of those. The product of <=, < and value terms is log-concave, and so
is that of > and >= where one tail counts: it has one peak in u, its greatest value has one in t, and the times at which
it reaches p are an interval. Both searches are the same (`ascent`). Where both tails count: `summits`.

What is found at t depends on t and on the lines that bound u there, on nothing else: not on where a search began, and
not on what comes later.
"""

from __future__ import annotations

import math

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.operators.prediction.kernel.chances.ascent import BEST, BEST_AT, NEXT, NOTHING, begin, change_of_peak, tell
from presage.operators.prediction.kernel.chances.factors import product_at
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.regions.regions import slice_at

# Rows of the two searches.
OVER_T, OVER_U = 0, 1
SEARCHES = 2
# Where the product passes p is told in such parts of a second, some tenth of a nanosecond. A power of two: exact.
GRAIN = 2.0**33
EDGE_STEPS = 80


@bare
def peak_over_u(
    lines: Floats,
    counts: Ints,
    at: int,
    factors: Floats,
    number: int,
    search: Floats,
    t: float,
    enough: float,
    model: int,
    sigma: float,
) -> tuple[float, float]:
    """The greatest product over the u that `lines[at]` allow with t, and how its logarithm changes with t."""
    first, last, first_moves, last_moves = slice_at(lines, counts, at, t)
    begin(search, OVER_U, first, last)
    going = True
    while going:
        value, by_t, by_u = product_at(factors, number, t, search[OVER_U, NEXT], model, sigma)
        going = tell(search, OVER_U, value, by_u, by_t, enough)
    return search[OVER_U, BEST], change_of_peak(search, OVER_U, first_moves, last_moves)


@bare
def peak_over_t(
    lines: Floats,
    counts: Ints,
    at: int,
    factors: Floats,
    number: int,
    search: Floats,
    low: float,
    high: float,
    enough: float,
    model: int,
    sigma: float,
) -> tuple[float, float]:
    """Where between two times the product is greatest, and how great. No more than `enough` is sought."""
    begin(search, OVER_T, low, high)
    going = True
    while going:
        t = search[OVER_T, NEXT]
        value, slope = peak_over_u(lines, counts, at, factors, number, search, t, enough, model, sigma)
        going = tell(search, OVER_T, value, slope, 0.0, enough)
    return search[OVER_T, BEST_AT], search[OVER_T, BEST]


@bare
def edge(
    lines: Floats,
    counts: Ints,
    at: int,
    factors: Floats,
    number: int,
    search: Floats,
    outside: float,
    inside: float,
    p: float,
    model: int,
    sigma: float,
) -> tuple[bool, float]:
    """Where the greatest product over u passes p, between a time outside and one inside at which it reaches p. Whether
    it passes there; else it is as great already at `outside`. It is the first whole grain inside, wherever the two
    times are. By tangents of the logarithm, which from outside never lead too far; every fifth step halves."""
    if inside == outside:
        return False, outside
    towards = 1.0 if outside < inside else -1.0
    wanted = math.log(p) if p > 0.0 else NOTHING
    middle = outside
    for step in range(EDGE_STEPS):
        value, slope = peak_over_u(lines, counts, at, factors, number, search, middle, 1.0, model, sigma)
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
            # The grain behind it, so that the other end comes near as well.
            target += (-towards if reaches else towards) / GRAIN
        middle = _grain_between(target, inside, outside)
        if middle == inside:
            break
    grains = inside * GRAIN
    return True, (np.ceil(grains) if towards > 0.0 else np.floor(grains)) / GRAIN


@bare
def _grain_between(at: float, inside: float, outside: float) -> float:
    """A whole grain near a time and between two others; the one inside, if there is none."""
    low, high = min(inside, outside), max(inside, outside)
    first, last = np.floor(low * GRAIN) + 1.0, np.ceil(high * GRAIN) - 1.0
    if first > last:
        return inside
    return float(min(max(np.floor(at * GRAIN + 0.5), first), last) / GRAIN)
