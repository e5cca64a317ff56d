"""The maximal intervals of each pair of objects, from intervals found and those carried from former steps.

As `merge` does it, for the deployed join, where nearly all of a step's work passes here: pairs are brought together by
counting, what is over stands before what is still open, and nothing is copied twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled
from presage.operators.prediction.kernel.intervals.merge import merge_sorted
from presage.operators.prediction.kernel.regions.evaluation import FROM, LEFT, RIGHT, TO


class Carried(NamedTuple):
    """Intervals that reach the moment `end` and may go on: the codes of both objects, where each begins."""

    codes: Ints
    start: Ints
    start_open: Bools
    probability: Floats
    end: int


class United(NamedTuple):
    """Maximal intervals by pair. `origin`: the carried one that it goes on from, -1 if it is new. The first `over` of
    them end before the moment that was looked up to."""

    codes: Ints
    start: Ints
    end: Ints
    start_open: Bools
    end_open: Bools
    probability: Floats
    origin: Ints
    over: int


def nothing_carried() -> Carried:
    none = np.empty(0, np.int64)
    return Carried(np.empty((0, 2), np.int64), none, np.empty(0, np.bool_), np.empty(0), 0)


def joined_blocks(blocks: list[United]) -> United:
    """One below the other: first all that are over."""
    parts = [[column[: block.over] for column in block[:-1]] for block in blocks]
    parts += [[column[block.over :] for column in block[:-1]] for block in blocks]
    codes, start, end, start_open, end_open, probability, origin = (
        np.concatenate(several) for several in zip(*parts, strict=True)
    )
    over = sum(block.over for block in blocks)
    return United(codes, start, end, start_open, end_open, probability, origin, over)


@compiled
def pair_columns(
    whole: Ints,
    parts: Floats,
    opens: Bools,
    code_a: Ints,
    code_b: Ints,
    rows: Ints,
    codes: Ints,
    start: Ints,
    start_open: Bools,
    probability: Floats,
    end: int,
) -> tuple[Ints, Ints, Ints, Ints, Floats, Floats, Bools, Bools, Floats]:
    """The carried `rows`, then what was found: both codes; from and to, in microseconds and parts of them; opens;
    probability."""
    old, n = len(rows), len(rows) + len(whole)
    left, right, low, high = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    low_part, high_part, chance = np.zeros(n), np.zeros(n), np.empty(n)
    low_open, high_open = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    for i in range(old):
        at = rows[i]
        left[i], right[i], low[i], high[i] = codes[at, 0], codes[at, 1], start[at], end
        low_open[i], chance[i] = start_open[at], probability[at]
    for i in range(len(whole)):
        at = old + i
        left[at], right[at] = code_a[whole[i, LEFT]], code_b[whole[i, RIGHT]]
        low[at], high[at] = whole[i, FROM], whole[i, TO]
        low_part[at], high_part[at], chance[at] = parts[i, 0], parts[i, 1], parts[i, 2]
        low_open[at], high_open[at] = opens[i, 0], opens[i, 1]
    return left, right, low, high, low_part, high_part, low_open, high_open, chance


@compiled
def pair_order(left: Ints, right: Ints, width: int) -> Ints:
    """Rows by left, then right, equal ones as they came; codes of the right are below `width`. Two counting sorts: O(n)
    and the range of the codes."""
    n = len(left)
    by_right, order = np.empty(n, np.int64), np.empty(n, np.int64)
    if n == 0:
        return order
    places = np.zeros(width + 1, np.int64)
    for i in range(n):
        places[right[i] + 1] += 1
    for code in range(width):
        places[code + 1] += places[code]
    for i in range(n):
        by_right[places[right[i]]] = i
        places[right[i]] += 1
    least, most = left.min(), left.max()
    places = np.zeros(most - least + 2, np.int64)
    for i in range(n):
        places[left[i] - least + 1] += 1
    for code in range(most - least + 1):
        places[code + 1] += places[code]
    for row in by_right:
        order[places[left[row] - least]] = row
        places[left[row] - least] += 1
    return order


@compiled
def over_first(
    first: Ints,
    last: Ints,
    chance: Floats,
    rows: Ints,
    left: Ints,
    right: Ints,
    low: Ints,
    high: Ints,
    low_open: Bools,
    high_open: Bools,
    moment: int,
) -> tuple[Ints, Ints, Ints, Bools, Bools, Floats, Ints, int]:
    """The columns of `United`, from whose start (`first`) and whose end (`last`) each interval has."""
    n, over = len(first), 0
    for i in range(n):
        if high[last[i]] < moment:
            over += 1
    codes, start, end = np.empty((n, 2), np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    start_open, end_open, origin = np.empty(n, np.bool_), np.empty(n, np.bool_), np.empty(n, np.int64)
    probability = np.empty(n)
    done, lasting = 0, over
    for i in range(n):
        a, b = first[i], last[i]
        if high[b] < moment:
            at = done
            done += 1
        else:
            at = lasting
            lasting += 1
        # Shorter than a microsecond, but not empty: a point.
        point = low[a] == high[b]
        codes[at, 0], codes[at, 1], start[at], end[at] = left[a], right[a], low[a], high[b]
        start_open[at], end_open[at] = low_open[a] and not point, high_open[b] and not point
        probability[at] = chance[i]
        # What is carried begins before all that is found since.
        origin[at] = rows[a] if a < len(rows) else -1
    return codes, start, end, start_open, end_open, probability, origin, over


def unite_pairs(
    found: tuple[Ints, Floats, Bools], codes: tuple[Ints, Ints], width: int, carried: Carried, rows: Ints, moment: int
) -> United:
    """`found`: see `evaluation.evaluate`; `codes`: of the segments of both sides; those of the right are below `width`.
    `rows`: of what is carried, the pairs that are dealt with here."""
    left, right, low, high, low_part, high_part, low_open, high_open, chance = pair_columns(
        *found, *codes, rows, carried.codes, carried.start, carried.start_open, carried.probability, carried.end
    )
    order = pair_order(left, right, width)
    group = left * width + right
    first, last, chance, _ = merge_sorted(order, group, low, high, low_part, high_part, low_open, high_open, chance)
    return United(*over_first(first, last, chance, rows, left, right, low, high, low_open, high_open, moment))
