"""The times at which a product with several peaks reaches p. Called from loops.

The times are halved into spans until each is decided. A span is out if `summits` proves that nothing in it reaches p.
It is in if a place at each end does, and so does everything between the two: each part of a factor lies above the
straight line of its logarithm, so the product lies above a convex function, and that above its tangents at both ends.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats
from presage.operators.prediction.kernel.chances.factor_parts import part_at
from presage.operators.prediction.kernel.chances.factors import FOLLOWS, ROLE, TAILS, Factors
from presage.operators.prediction.kernel.chances.peaks import GRAIN
from presage.operators.prediction.kernel.chances.summits import greatest_between
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.regions.ends import NEAR
from presage.operators.prediction.kernel.regions.regions import Region

# Columns of the result: from, to, whether the product crosses p there.
START, END, START_CUT, END_CUT = 0, 1, 2, 3
# The most intervals in one half of a region; further ones are merged with the last.
PARTS = 4
# Columns of a pending time: the time, the greatest product there, and its place.
AT, VALUE, PLACE = 0, 1, 2
WAITING = 128
UNKNOWN = -2.0


class Scratch(NamedTuple):
    """Memory for the searches; all but the first for several peaks only."""

    search: Floats
    cells: Floats
    waiting: Floats
    likely: Floats


@bare
def likely_times(
    region: Region,
    at: int,
    factors: Factors,
    scratch: Scratch,
    first: float,
    last: float,
    enough: float,
) -> int:
    """Write the intervals between first and last in which the product reaches `enough` to `scratch.likely`; returns
    their number."""
    waiting, found = scratch.waiting, scratch.likely
    made, inside, low, place = 0, False, -np.inf, 0.0
    waiting[0, AT], waiting[0, VALUE], waiting[1, AT], waiting[1, VALUE] = last, UNKNOWN, first, UNKNOWN
    count = 2
    while count > 0:
        high, end, there = waiting[count - 1, AT], waiting[count - 1, VALUE], waiting[count - 1, PLACE]
        begins = low == -np.inf
        is_new = end == UNKNOWN
        split = _grain_in(0.5 * (low + high), low, high)
        if not is_new and (begins or high <= low):
            if begins and end >= enough:
                made, inside = _begin(found, made, high, False), True
            low, place, count = high, there, count - 1
            continue
        if not is_new and inside and end >= enough:
            if _all_between(factors, low, place, high, there, enough):
                low, place, count = high, there, count - 1
                continue
        elif not is_new and not inside and end < enough and high - low <= NEAR:
            # Moments so close are one, and p is reached at neither end.
            low, place, count = high, there, count - 1
            continue
        elif is_new or not (inside or end >= enough):
            # One call for a time and for a span: the compiler copies the function to every call.
            since, known = (high, -1.0) if is_new else (low, enough - 1e-15)
            best, where, here = greatest_between(region, at, factors, scratch.cells, since, high, known, enough)
            if is_new:
                waiting[count - 1, VALUE], waiting[count - 1, PLACE] = best, here
                continue
            if best < enough:
                low, place, count = high, there, count - 1
                continue
            split = _grain_in(where, low, high)
        if low < split < high and count < len(waiting):
            waiting[count, AT], waiting[count, VALUE] = split, UNKNOWN
            count += 1
            continue
        # Neighbouring grains: an interval begins or ends here, or is a single moment.
        if inside and end < enough:
            found[made - 1, END], found[made - 1, END_CUT], inside = low, 1.0, False
        elif not inside:
            made = _begin(found, made, high, True)
            found[made - 1, END], found[made - 1, END_CUT], inside = high, 1.0, end >= enough
        low, place, count = high, there, count - 1
    if inside:
        found[made - 1, END], found[made - 1, END_CUT] = last, 0.0
    return made


@bare
def _begin(found: Floats, made: int, at: float, is_cut: bool) -> int:
    """Begin an interval; with no space left the last one is extended."""
    if made == len(found):
        return made
    found[made, START], found[made, START_CUT] = at, 1.0 if is_cut else 0.0
    return made + 1


@bare
def _grain_in(at: float, low: float, high: float) -> float:
    """A whole grain between two times, near a third; `low` if there is none."""
    first, last = np.floor(low * GRAIN) + 1.0, np.ceil(high * GRAIN) - 1.0
    if first > last:
        return low
    return float(min(max(np.floor(at * GRAIN + 0.5), first), last) / GRAIN)


@bare
def _all_between(factors: Factors, t0: float, u0: float, t1: float, u1: float, enough: float) -> bool:
    """Whether the product provably reaches `enough` all the way from one place to another."""
    rows, number, _ = factors
    one, other, rise, fall = 1.0, 1.0, 0.0, 0.0
    for i in range(number):
        if rows[i, ROLE] == FOLLOWS:
            continue
        first, second, first_moves, second_moves = 0.0, 0.0, 0.0, 0.0
        for part in range(int(rows[i, TAILS])):
            here = part_at(factors, i, part, t0, u0)[0]
            there = part_at(factors, i, part, t1, u1)[0]
            if here > 0.0 and there > 0.0:
                moves = math.log(there / here)
                first, second = first + here, second + there
                first_moves, second_moves = first_moves + here * moves, second_moves + there * moves
        if first <= 0.0:
            return False
        one, other = one * first, other * second
        rise, fall = rise + first_moves / first, fall + second_moves / second
    rise, fall = rise * one, fall * other
    least = min(one, other)
    if rise < 0.0 < fall:
        # The tangents at both ends cross in between.
        crossing = (other - fall - one) / (rise - fall)
        least = min(least, one + rise * min(1.0, max(0.0, crossing)))
    return bool(least >= enough)
