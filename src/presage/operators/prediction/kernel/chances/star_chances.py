"""Probabilities of rows of several items: the greatest of each row.

All items are looked at at one time. Then the chance of a group (`stars`) is an integral over the error of the value in
the middle, of what the others leave given that. All bounds are convex, so the chance has one peak over a time in which
no function changes, and golden sections find it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled
from presage.operators.prediction.kernel.chances.joint import density_at, share_within
from presage.operators.prediction.kernel.chances.likelihood import NORMAL
from presage.operators.prediction.kernel.chances.normal_errors import POINTS, REACH, WEIGHTS
from presage.operators.prediction.kernel.chances.star_groups import NOBODY, groups_of
from presage.operators.prediction.kernel.chances.stars import Stars, stars_of
from presage.operators.prediction.kernel.intervals.spans import Spans
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.pieces import Pieces
from presage.operators.prediction.kernel.query import PredictionTables

GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
SECTIONS = 64
# Cuts of an integral at so many deviations from where a normal density, or what it leaves, changes most.
STEPS = 10


def chances_of(tables: PredictionTables, pieces: Sequence[Pieces], spans: Spans) -> Floats:
    """The greatest chance of each row, from its first microsecond to its last."""
    groups = groups_of([side.terms for side in tables.sides], {(p.left, p.right): p.spec.terms for p in tables.pairs})
    assert groups is not None
    stars = stars_of(groups)
    # Objects that are told apart by more than a key take turns in the pieces of that key.
    pieces = [part.take(np.lexsort((part.start, part.key))) for part in pieces]
    width = max(part.value.shape[1] for part in pieces)
    base = np.cumsum([0, *(len(part) for part in pieces)])
    first, last = np.empty((len(spans), len(pieces)), np.int64), np.empty((len(spans), len(pieces)), np.int64)
    for side, part in enumerate(pieces):
        first[:, side] = base[side] + np.searchsorted(part.key, spans.codes[:, side], side="left")
        last[:, side] = base[side] + np.searchsorted(part.key, spans.codes[:, side], side="right")

    def below(columns: Sequence[Floats]) -> Floats:
        whole = np.zeros((int(base[-1]), width))
        for side, column in enumerate(columns):
            whole[base[side] : base[side + 1], : column.shape[1]] = column
        return whole

    return greatest_chances(
        spans.start,
        spans.end,
        spans.end_open,
        first,
        last,
        np.concatenate([part.start for part in pieces]),
        np.concatenate([part.end for part in pieces]),
        below([part.value for part in pieces]),
        below([part.rate for part in pieces]),
        below([part.threshold for part in pieces]),
        *_arrays(stars),
        int(tables.errors.model),
        float(tables.errors.sigma),
    )


def _arrays(stars: Stars) -> tuple[Ints, Floats, Floats, Ints, Ints, Ints, Floats, Ints]:
    return (stars.value, stars.low, stars.high, stars.middle, stars.begin, stars.around, stars.reach, stars.never)


@compiled
def greatest_chances(
    start: Ints,
    end: Ints,
    end_open: Bools,
    first: Ints,
    last: Ints,
    piece_start: Ints,
    piece_end: Ints,
    value: Floats,
    rate: Floats,
    threshold: Floats,
    of: Ints,
    low: Floats,
    high: Floats,
    middle: Ints,
    begin: Ints,
    around: Ints,
    reach: Floats,
    never: Ints,
    model: int,
    sigma: float,
) -> Floats:
    """`first`, `last`: of each row and item the range of its functions."""
    items, count = first.shape[1], len(of)
    at, result = np.empty(items, np.int64), np.empty(len(start))
    x, moves, errors = np.empty(count), np.empty(count), np.empty(count)
    now, cuts = np.empty(count), np.empty(2 + STEPS + len(around) * (8 + 2 * STEPS))
    for row in range(len(start)):
        for item in range(items):
            at[item] = first[row, item]
            while at[item] + 1 < last[row, item] and piece_start[at[item] + 1] <= start[row]:
                at[item] += 1
        since, best, going = start[row], 0.0, True
        while going:
            until = end[row]
            for item in range(items):
                until = min(until, max(since, piece_end[at[item]]))
            for k in range(count):
                piece, attribute = at[of[k, 0]], of[k, 1]
                moves[k], errors[k] = rate[piece, attribute], threshold[piece, attribute]
                x[k] = value[piece, attribute] + moves[k] * ((since - piece_start[piece]) / 1e6)
            if not _excluded(never, at, threshold):
                seconds = (until - since) / 1e6
                found = _peak(
                    x, moves, now, errors, low, high, middle, begin, around, reach, cuts, seconds, model, sigma
                )
                best = max(best, found)
            # In its last moment a row may be about functions that begin in it.
            going, since = False, until
            for item in range(items):
                while (
                    at[item] + 1 < last[row, item]
                    and piece_start[at[item] + 1] <= until
                    and (until < end[row] or not end_open[row])
                ):
                    at[item] += 1
                    going = True
        result[row] = best
    return result


@bare
def _excluded(never: Ints, at: Ints, threshold: Floats) -> bool:
    """Whether values that are not sure would have to be the same."""
    for k in range(len(never)):
        error = threshold[at[never[k, 0]], never[k, 1]]
        if never[k, 2] != NOBODY:
            error += threshold[at[never[k, 2]], never[k, 3]]
        if error > 0.0:
            return True
    return False


@bare
def _peak(
    x: Floats,
    moves: Floats,
    now: Floats,
    errors: Floats,
    low: Floats,
    high: Floats,
    middle: Ints,
    begin: Ints,
    around: Ints,
    reach: Floats,
    cuts: Floats,
    seconds: float,
    model: int,
    sigma: float,
) -> float:
    """The greatest chance within so many seconds, in which values move as they do."""
    left, right, best = 0.0, seconds, 0.0
    inner = right - GOLDEN * (right - left)
    outer = left + GOLDEN * (right - left)
    at_inner, at_outer = 0.0, 0.0
    # First both ends, then both places in between, then one at a time: a call is compiled where it stands.
    for step in range(SECTIONS + 4):
        t = left if step == 0 else right if step == 1 else inner if step == 2 else outer
        shrinks_right = False
        if step > 3:
            shrinks_right = at_inner >= at_outer
            if shrinks_right:
                right, outer, at_outer = outer, inner, at_inner
                inner = right - GOLDEN * (right - left)
                t = inner
            else:
                left, inner, at_inner = inner, outer, at_outer
                outer = left + GOLDEN * (right - left)
                t = outer
        for k in range(len(x)):
            now[k] = x[k] + moves[k] * t
        here = 1.0
        for group in range(len(middle)):
            if here > 0.0:
                here *= _star(
                    middle[group],
                    begin[group],
                    begin[group + 1],
                    now,
                    errors,
                    low,
                    high,
                    around,
                    reach,
                    cuts,
                    model,
                    sigma,
                )
        best = max(best, here)
        if best >= 1.0 or (step == 0 and seconds <= 0.0):
            break
        if step == 2 or (step > 3 and shrinks_right):
            at_inner = here
        elif step >= 3:
            at_outer = here
    return best


@bare
def _star(
    c: int,
    begin: int,
    end: int,
    x: Floats,
    errors: Floats,
    low: Floats,
    high: Floats,
    around: Ints,
    reach: Floats,
    cuts: Floats,
    model: int,
    sigma: float,
) -> float:
    """The chance of one group."""
    error, far = errors[c], math.inf
    if error <= 0.0:
        # Where it is allowed, what is sure of it holds.
        return _others(x[c], False, begin, end, x, errors, low, high, around, reach, model, sigma)
    first, last = max(low[c], x[c] - error), min(high[c], x[c] + error)
    if first >= last:
        return 0.0
    if begin == end:
        return share_within(0.0, x[c], error, low[c], high[c], -far, far, model, sigma)[0]
    if model == NORMAL:
        first, last = max(first, x[c] - REACH * sigma * error), min(last, x[c] + REACH * sigma * error)
    number, total = _cut(c, begin, end, first, last, x, errors, low, high, around, reach, cuts, model, sigma), 0.0
    for piece in range(number - 1):
        half = 0.5 * (cuts[piece + 1] - cuts[piece])
        for k in range(len(POINTS)):
            w = cuts[piece] + half * (1.0 + POINTS[k])
            weight = WEIGHTS[k] * half * density_at(w - x[c], error, model, sigma)
            total += weight * _others(w, True, begin, end, x, errors, low, high, around, reach, model, sigma)
    return min(1.0, total)


@bare
def _others(
    w: float,
    strays: bool,
    begin: int,
    end: int,
    x: Floats,
    errors: Floats,
    low: Floats,
    high: Floats,
    around: Ints,
    reach: Floats,
    model: int,
    sigma: float,
) -> float:
    """The chance of what is said of the others of a group if the one in the middle is w; `strays`: it is not sure."""
    chance = 1.0
    for i in range(begin, end):
        other, far = around[i], reach[i]
        if errors[other] > 0.0:
            chance *= share_within(w, x[other], errors[other], low[other], high[other], -far, far, model, sigma)[0]
        elif strays and abs(x[other] - w) > far:
            return 0.0
    return chance


@bare
def _cut(
    c: int,
    begin: int,
    end: int,
    first: float,
    last: float,
    x: Floats,
    errors: Floats,
    low: Floats,
    high: Floats,
    around: Ints,
    reach: Floats,
    cuts: Floats,
    model: int,
    sigma: float,
) -> int:
    """From first to last, the places between which an integrand is smooth, in order; how many."""
    cuts[0], cuts[1] = first, last
    number, steps = 2, STEPS if model == NORMAL else 0
    for k in range(steps):
        number = _put(cuts, number, x[c] + (2 * k - STEPS + 1) * sigma * errors[c])
    for i in range(begin, end):
        other = around[i]
        at, error = x[other], errors[other]
        for far in (-reach[i], reach[i]):
            for edge in (low[other], high[other], at - error, at + error):
                number = _put(cuts, number, edge + far)
            for k in range(steps):
                number = _put(cuts, number, at + (2 * k - STEPS + 1) * sigma * error + far)
    return number


@bare
def _put(cuts: Floats, number: int, at: float) -> int:
    """One more cut, if it lies between the first and the last; how many there are then."""
    if not cuts[0] < at < cuts[number - 1]:
        return number
    place = number
    while cuts[place - 1] > at:
        cuts[place] = cuts[place - 1]
        place -= 1
    cuts[place] = at
    return number + 1
