"""The polygons of (t_a, t_b) at which pairs of segments match.

The rectangle of the two segments is clipped by one line after the other (Sutherland and Hodgman). The region is convex,
so the result is one polygon, possibly a segment or a point. Open ends are ignored.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats, Ints, compiled
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.regions.ends import NEAR
from presage.operators.prediction.kernel.regions.evaluation import JoinArrays
from presage.operators.prediction.kernel.regions.halves import set_functions
from presage.operators.prediction.kernel.regions.sides import FOREVER
from presage.operators.prediction.kernel.regions.solutions import MOST
from presage.operators.prediction.kernel.regions.strips import Strips, choose_strips, find_strips


class Polygons(NamedTuple):
    """Corners of polygon i: `starts[i]` up to `starts[i + 1]` of `t_a` and `t_b`, in microseconds, anticlockwise with
    t_a to the right. `row`: its row of the result; `left`, `right`: the numbers of the pieces."""

    row: Ints
    left: Ints
    right: Ints
    starts: Ints
    t_a: Ints
    t_b: Ints

    def __len__(self) -> int:
        return len(self.row)


@compiled
def clip(
    pair_a: Ints, pair_b: Ints, choice: Ints, join: JoinArrays, chancy: bool, until: int
) -> tuple[Ints, Ints, Ints]:
    """Starts, t_a, t_b. `choice`: of strips, as numbered by the evaluation step (with the same `chancy`). Both times up
    to `until`. O(m²) for a pair with m lines."""
    left, right, terms, window = join
    start_a, start_b, ends_a, ends_b = left.start, right.start, left.ends, right.ends
    lines_a, lines_b, count = left.lines, right.lines, len(terms.rows)
    most = 4 + 2 + 2 * count + 2
    starts = np.zeros(len(pair_a) + 1, np.int64)
    t_a, t_b = np.empty(len(pair_a) * most, np.int64), np.empty(len(pair_a) * most, np.int64)
    strips = Strips(np.empty((count, MOST, 4)), np.zeros(count, np.int64))
    chosen, functions = np.empty((count, 4)), np.empty((2, count, 2))
    corners, spare = np.empty((2 * most, 2)), np.empty((2 * most, 2))
    made = 0
    for i in range(len(pair_a)):
        a, b = pair_a[i], pair_b[i]
        origin = max(start_a[a], start_b[b])
        offset_a, offset_b = (start_a[a] - origin) / 1e6, (start_b[b] - origin) / 1e6
        find_strips(terms, lines_a, a, lines_b, b, chancy, strips)
        choose_strips(choice[i], strips, False, chosen)
        set_functions(lines_a, a, offset_a, functions, 0)
        set_functions(lines_b, b, offset_b, functions, 1)
        first_a, last_a = ends_a[a, 0] + offset_a, ends_a[a, 1] + offset_a
        first_b, last_b = ends_b[b, 0] + offset_b, ends_b[b, 1] + offset_b
        if until < FOREVER:
            last_a, last_b = min(last_a, (until - origin) / 1e6), min(last_b, (until - origin) / 1e6)
        _rectangle(corners, first_a, last_a, first_b, last_b)
        number = _cut(corners, spare, 4, 1.0, -1.0, window)
        number = _cut(corners, spare, number, -1.0, 1.0, window)
        for k in range(count):
            p, q = functions[0, k, 1], -functions[1, k, 1]
            apart = functions[0, k, 0] - functions[1, k, 0]
            number = _cut(corners, spare, number, p, q, chosen[k, 1] - apart)
            number = _cut(corners, spare, number, -p, -q, apart - chosen[k, 0])
        first = made
        for j in range(number):
            x, y = (
                origin + np.int64(np.floor(corners[j, 0] * 1e6 + 0.5)),
                origin + np.int64(np.floor(corners[j, 1] * 1e6 + 0.5)),
            )
            # Drop corners that coincide after rounding.
            if (made > first and t_a[made - 1] == x and t_b[made - 1] == y) or (
                j == number - 1 and made > first and t_a[first] == x and t_b[first] == y
            ):
                continue
            t_a[made], t_b[made] = x, y
            made += 1
        starts[i + 1] = made
    return starts, t_a[:made].copy(), t_b[:made].copy()


@bare
def _rectangle(corners: Floats, left: float, right: float, low: float, high: float) -> None:
    corners[0, 0], corners[0, 1] = left, low
    corners[1, 0], corners[1, 1] = right, low
    corners[2, 0], corners[2, 1] = right, high
    corners[3, 0], corners[3, 1] = left, high


@bare
def _cut(corners: Floats, spare: Floats, number: int, p: float, q: float, c: float) -> int:
    """Clip by p·x + q·y <= c, with a tolerance of a nanosecond; return the number of corners."""
    scale = max(abs(p), abs(q))
    if c == np.inf or scale == 0.0:
        return number
    p, q, c = p / scale, q / scale, c / scale
    kept = 0
    for i in range(number):
        j = i + 1 if i + 1 < number else 0
        here = p * corners[i, 0] + q * corners[i, 1] - c
        there = p * corners[j, 0] + q * corners[j, 1] - c
        if here <= NEAR:
            spare[kept, 0], spare[kept, 1] = corners[i, 0], corners[i, 1]
            kept += 1
        if (here < -NEAR and there > NEAR) or (here > NEAR and there < -NEAR):
            share = here / (here - there)
            spare[kept, 0] = corners[i, 0] + share * (corners[j, 0] - corners[i, 0])
            spare[kept, 1] = corners[i, 1] + share * (corners[j, 1] - corners[i, 1])
            kept += 1
    for i in range(kept):
        corners[i, 0], corners[i, 1] = spare[i, 0], spare[i, 1]
    return kept
