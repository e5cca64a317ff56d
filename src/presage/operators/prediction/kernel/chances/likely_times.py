"""Likely times of factors that may have several peaks. Called from loops.

From the first time to the last, in spans that are halved until each is decided. Nothing in it is likely enough:
proven by `summits`. All of it is: at both ends there is a place that is, and between the two each part of a factor
lies above the straight line of its logarithm, so that the product lies above a convex function, and that above its
tangents at both ends.
"""

from __future__ import annotations

import math

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.operators.prediction.kernel.chances.factor_parts import part_at
from presage.operators.prediction.kernel.chances.factors import FOLLOWS, ROLE, TAILS
from presage.operators.prediction.kernel.chances.peaks import GRAIN
from presage.operators.prediction.kernel.chances.summits import greatest_between
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.regions.ends import NEAR

# Columns of what is found: from, to, whether it is p that ends it there.
START, END, START_CUT, END_CUT = 0, 1, 2, 3
# So many may be found in one half of a region; more are told as one.
PARTS = 4
# Columns of a time that waits: the time, the greatest product there, and the place.
AT, VALUE, PLACE = 0, 1, 2
WAITING = 128
UNKNOWN = -2.0


@bare
def likely_times(
    lines: Floats,
    counts: Ints,
    at: int,
    factors: Floats,
    number: int,
    cells: Floats,
    waiting: Floats,
    first: float,
    last: float,
    enough: float,
    model: int,
    sigma: float,
    found: Floats,
) -> int:
    """The times from first to last at which the product reaches `enough`, as intervals; how many."""
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
            if _all_between(factors, number, low, place, high, there, enough, model, sigma):
                low, place, count = high, there, count - 1
                continue
        elif not is_new and not inside and end < enough and high - low <= NEAR:
            # Moments so close are one, and that is not likely enough at either end.
            low, place, count = high, there, count - 1
            continue
        elif is_new or not (inside or end >= enough):
            # One call for a time and for a span: a call is compiled where it stands.
            since, known = (high, -1.0) if is_new else (low, enough - 1e-15)
            best, where, here = greatest_between(
                lines, counts, at, factors, number, cells, since, high, known, enough, model, sigma
            )
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
        # Two neighbours: it begins or ends here, or is there for a moment.
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
    """One more interval, or the last one goes on if there is no room."""
    if made == len(found):
        return made
    found[made, START], found[made, START_CUT] = at, 1.0 if is_cut else 0.0
    return made + 1


@bare
def _grain_in(at: float, low: float, high: float) -> float:
    """A whole grain between two times, near a third; the lower one, if there is none."""
    first, last = np.floor(low * GRAIN) + 1.0, np.ceil(high * GRAIN) - 1.0
    if first > last:
        return low
    return float(min(max(np.floor(at * GRAIN + 0.5), first), last) / GRAIN)


@bare
def _all_between(
    factors: Floats, number: int, t0: float, u0: float, t1: float, u1: float, enough: float, model: int, sigma: float
) -> bool:
    """Whether the product is known to reach `enough` all the way from one place to another."""
    one, other, rise, fall = 1.0, 1.0, 0.0, 0.0
    for i in range(number):
        if factors[i, ROLE] == FOLLOWS:
            continue
        first, second, first_moves, second_moves = 0.0, 0.0, 0.0, 0.0
        for part in range(int(factors[i, TAILS])):
            here = part_at(factors, i, part, t0, u0, model, sigma)[0]
            there = part_at(factors, i, part, t1, u1, model, sigma)[0]
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
