"""The probability of rows of several items: the greatest of each row.

All items are taken at the same time. The chance of a group is an integral over the error of the value in the middle, of
the chance of the others given that error. All bounds are convex, so the chance has one peak while no function changes,
and golden section search finds it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled
from presage.operators.prediction.kernel.chances.joint import density_at, share_within
from presage.operators.prediction.kernel.chances.likelihood import NORMAL
from presage.operators.prediction.kernel.chances.normal_errors import POINTS, REACH, WEIGHTS
from presage.operators.prediction.kernel.chances.star_groups import NOBODY, Groups, groups_of
from presage.operators.prediction.kernel.intervals.spans import Spans
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.pieces import Pieces
from presage.operators.prediction.kernel.query import PredictionTables
from presage.operators.prediction.kernel.spec import Errors

GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
SECTIONS = 64
# An integral is cut at so many deviations around the places where a normal density changes most.
STEPS = 10


class Stars(NamedTuple):
    """`value`: item and attribute, with bounds `low` and `high`. For each group the value in the `middle`, and from
    `begin` up to the next group's the values `around` it, with their greatest distance from it (`reach`). `never`: item
    and attribute of two values, or of one (NOBODY), that are equal only if both are certain."""

    value: Ints
    low: Floats
    high: Floats
    middle: Ints
    begin: Ints
    around: Ints
    reach: Floats
    never: Ints


class Functions(NamedTuple):
    """The functions of all items. `first`, `last`: their range for each row and item."""

    first: Ints
    last: Ints
    start: Ints
    end: Ints
    value: Floats
    rate: Floats
    threshold: Floats


class Point(NamedTuple):
    """The values of `Stars` at one time, with thresholds and bounds."""

    x: Floats
    errors: Floats
    low: Floats
    high: Floats


def chances_of(tables: PredictionTables, pieces: Sequence[Pieces], spans: Spans) -> Floats:
    """The greatest chance of each row, from its first microsecond to its last."""
    groups = groups_of([side.terms for side in tables.sides], {(p.left, p.right): p.spec.terms for p in tables.pairs})
    assert groups is not None
    # Several objects may share a key: bring the pieces of each key into order.
    pieces = [part.take(np.lexsort((part.start, part.key))) for part in pieces]
    width = max(part.value.shape[1] for part in pieces)
    base = np.cumsum([0, *(len(part) for part in pieces)])
    first, last = (
        np.stack(
            [
                base[side] + np.searchsorted(part.key, spans.codes[:, side], side=end)
                for side, part in enumerate(pieces)
            ],
            axis=1,
        )
        for end in ("left", "right")
    )

    def stacked(columns: Sequence[Floats]) -> Floats:
        return np.concatenate([np.pad(column, ((0, 0), (0, width - column.shape[1]))) for column in columns])

    functions = Functions(
        first,
        last,
        np.concatenate([part.start for part in pieces]),
        np.concatenate([part.end for part in pieces]),
        stacked([part.value for part in pieces]),
        stacked([part.rate for part in pieces]),
        stacked([part.threshold for part in pieces]),
    )
    stars = stars_of(groups)
    return greatest_chances(spans.start, spans.end, spans.end_open, functions, stars, tables.errors.for_loops())


def stars_of(groups: Groups) -> Stars:
    """Groups as arrays."""
    stars, reach = groups.stars, groups.reach
    order = [value for group in stars for value in group]
    place = {value: i for i, value in enumerate(order)}
    sizes = np.array([len(group) - 1 for group in stars], np.int64)
    tied = [(group[0], other) for group in stars for other in group[1:]]
    reaches = [reach[edge] if (edge := (one, other)) in reach else reach[other, one] for one, other in tied]
    return Stars(
        np.array(order, np.int64).reshape(-1, 2),
        np.array([groups.low.get(value, -math.inf) for value in order], np.float64),
        np.array([groups.high.get(value, math.inf) for value in order], np.float64),
        np.array([place[group[0]] for group in stars], np.int64),
        np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
        np.array([place[other] for _, other in tied], np.int64),
        np.array(reaches, np.float64),
        np.array(groups.never, np.int64).reshape(-1, 4),
    )


@compiled
def greatest_chances(
    start: Ints, end: Ints, end_open: Bools, functions: Functions, stars: Stars, errors: Errors
) -> Floats:
    first, last, piece_start, piece_end, value, rate, threshold = functions
    of, never = stars.value, stars.never
    items, count = first.shape[1], len(of)
    at, result = np.empty(items, np.int64), np.empty(len(start))
    x, rates, thresholds = np.empty(count), np.empty(count), np.empty(count)
    point = Point(np.empty(count), thresholds, stars.low, stars.high)
    cuts = np.empty(2 + STEPS + len(stars.around) * (8 + 2 * STEPS))
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
                rates[k], thresholds[k] = rate[piece, attribute], threshold[piece, attribute]
                x[k] = value[piece, attribute] + rates[k] * ((since - piece_start[piece]) / 1e6)
            if not _excluded(never, at, threshold):
                best = max(best, _peak(x, rates, point, stars, cuts, (until - since) / 1e6, errors))
            # The last moment of a row includes functions that begin in it.
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
    """Whether uncertain values would have to be equal."""
    for k in range(len(never)):
        error = threshold[at[never[k, 0]], never[k, 1]]
        if never[k, 2] != NOBODY:
            error += threshold[at[never[k, 2]], never[k, 3]]
        if error > 0.0:
            return True
    return False


@bare
def _peak(x: Floats, rates: Floats, point: Point, stars: Stars, cuts: Floats, seconds: float, errors: Errors) -> float:
    """The greatest chance within so many seconds, in which the values x change at their rates. Writes to `point.x`."""
    middle, begin, around, reach = stars.middle, stars.begin, stars.around, stars.reach
    left, right, best = 0.0, seconds, 0.0
    inner = right - GOLDEN * (right - left)
    outer = left + GOLDEN * (right - left)
    at_inner, at_outer = 0.0, 0.0
    # Both ends, both inner places, then one at a time. One call: the compiler copies the function to every call.
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
            point.x[k] = x[k] + rates[k] * t
        here = 1.0
        for group in range(len(middle)):
            if here > 0.0:
                here *= _star(middle[group], begin[group], begin[group + 1], point, around, reach, cuts, errors)
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
    c: int, begin: int, end: int, point: Point, around: Ints, reach: Floats, cuts: Floats, errors: Errors
) -> float:
    """The chance of one group: the value c, and those around it from begin to end."""
    x, thresholds, low, high = point
    model, sigma = errors
    error, far = thresholds[c], math.inf
    if error <= 0.0:
        # The terms already hold for a certain value.
        return _others(x[c], False, begin, end, point, around, reach, errors)
    first, last = max(low[c], x[c] - error), min(high[c], x[c] + error)
    if first >= last:
        return 0.0
    if begin == end:
        return share_within(0.0, x[c], error, low[c], high[c], -far, far, errors)[0]
    if model == NORMAL:
        first, last = max(first, x[c] - REACH * sigma * error), min(last, x[c] + REACH * sigma * error)
    cuts[0], cuts[1] = first, last
    number, total = _cut(c, begin, end, point, around, reach, cuts, errors), 0.0
    for piece in range(number - 1):
        half = 0.5 * (cuts[piece + 1] - cuts[piece])
        for k in range(len(POINTS)):
            w = cuts[piece] + half * (1.0 + POINTS[k])
            weight = WEIGHTS[k] * half * density_at(w - x[c], error, errors)
            total += weight * _others(w, True, begin, end, point, around, reach, errors)
    return min(1.0, total)


@bare
def _others(
    w: float, strays: bool, begin: int, end: int, point: Point, around: Ints, reach: Floats, errors: Errors
) -> float:
    """The chance of the other values of a group if the middle one is w; `strays`: the middle one is uncertain."""
    x, thresholds, low, high = point
    chance = 1.0
    for i in range(begin, end):
        other, far = around[i], reach[i]
        error = thresholds[other]
        if error > 0.0:
            chance *= share_within(w, x[other], error, low[other], high[other], -far, far, errors)[0]
        elif strays and abs(x[other] - w) > far:
            return 0.0
    return chance


@bare
def _cut(c: int, begin: int, end: int, point: Point, around: Ints, reach: Floats, cuts: Floats, errors: Errors) -> int:
    """Insert the places between which the integrand is smooth between the first two cuts; return their number."""
    x, thresholds, low, high = point
    number, steps = 2, STEPS if errors.model == NORMAL else 0
    for k in range(steps):
        number = _put(cuts, number, x[c] + (2 * k - STEPS + 1) * errors.sigma * thresholds[c])
    for i in range(begin, end):
        other = around[i]
        at, error = x[other], thresholds[other]
        for far in (-reach[i], reach[i]):
            for edge in (low[other], high[other], at - error, at + error):
                number = _put(cuts, number, edge + far)
            for k in range(steps):
                number = _put(cuts, number, at + (2 * k - STEPS + 1) * errors.sigma * error + far)
    return number


@bare
def _put(cuts: Floats, number: int, at: float) -> int:
    """Insert a cut if it lies between the first and the last; return the number of cuts."""
    if not cuts[0] < at < cuts[number - 1]:
        return number
    place = number
    while cuts[place - 1] > at:
        cuts[place] = cuts[place - 1]
        place -= 1
    cuts[place] = at
    return number + 1
