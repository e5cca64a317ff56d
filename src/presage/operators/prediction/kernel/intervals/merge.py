"""Merging intervals: the maximal intervals of each group."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.regions.evaluation import Found


class Intervals(NamedTuple):
    """`start`, `end`: the nearest microseconds; `start_part`, `end_part`: the remaining fractions of a microsecond. A
    group is a number; its probability (NaN: there is none) is the greatest of its intervals."""

    group: Ints
    start: Ints
    end: Ints
    start_part: Floats
    end_part: Floats
    start_open: Bools
    end_open: Bools
    probability: Floats

    def __len__(self) -> int:
        return len(self.group)


def intervals_of(group: Ints, found: Found) -> Intervals:
    """The result of an evaluation step, with the group of each row."""
    (_, _, start, end, _), (start_part, end_part, probability), opens = (part.T.copy() for part in found)
    return Intervals(group, start, end, start_part, end_part, opens[0], opens[1], probability)


def merge(intervals: Intervals) -> tuple[Intervals, Ints]:
    """Maximal intervals by group and time, and for each input interval the row that it went into.

    Two intervals become one if they overlap, or touch in a point that belongs to either. Touching is decided in whole
    microseconds: results from two pairs of pieces agree no further. O(n log n).
    """
    order = np.argsort(intervals.group, kind="stable")
    first, last, probability, row = merge_sorted(order, intervals)
    start, end = intervals.start[first], intervals.end[last]
    point = start == end
    return Intervals(
        intervals.group[first],
        start,
        end,
        intervals.start_part[first],
        intervals.end_part[last],
        # Shorter than a microsecond, but not empty: a point.
        intervals.start_open[first] & ~point,
        intervals.end_open[last] & ~point,
        probability,
    ), row


@compiled
def merge_sorted(order: Ints, intervals: Intervals) -> tuple[Ints, Ints, Floats, Ints]:
    """For each maximal interval the input rows that it starts and ends with, and its probability; for each input row
    the maximal interval. `order`: by group. Groups are small: each is sorted by insertion."""
    group, start, end, start_part, end_part, start_open, end_open, probability = intervals
    n = len(order)
    order = order.copy()
    first, last, chance, row = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64)
    made = 0
    begin = 0
    while begin < n:
        stop = begin
        while stop < n and group[order[stop]] == group[order[begin]]:
            stop += 1
            # Insertion: by start, closed before open.
            i, at = stop - 1, order[stop - 1]
            while i > begin and _before(at, order[i - 1], start, start_part, start_open):
                order[i] = order[i - 1]
                i -= 1
            order[i] = at
        for i in range(begin, stop):
            at = order[i]
            joins = False
            if i > begin:
                end_of = last[made - 1]
                if start[at] < end[end_of]:
                    joins = True
                elif start[at] == end[end_of]:
                    joins = start_part[at] < end_part[end_of] or not start_open[at] or not end_open[end_of]
            if not joins:
                first[made], last[made], chance[made] = at, at, probability[at]
                made += 1
            else:
                if not chance[made - 1] >= probability[at]:
                    chance[made - 1] = probability[at]
                if _ends_before(last[made - 1], at, end, end_part, end_open):
                    last[made - 1] = at
            row[at] = made - 1
        begin = stop
    return first[:made].copy(), last[:made].copy(), chance[:made].copy(), row


@bare
def _before(a: int, b: int, start: Ints, start_part: Floats, start_open: Bools) -> bool:
    if start[a] != start[b]:
        return bool(start[a] < start[b])
    if start_part[a] != start_part[b]:
        return bool(start_part[a] < start_part[b])
    return bool(start_open[b] and not start_open[a])


@bare
def _ends_before(a: int, b: int, end: Ints, end_part: Floats, end_open: Bools) -> bool:
    if end[a] != end[b]:
        return bool(end[a] < end[b])
    if end_part[a] != end_part[b]:
        return bool(end_part[a] < end_part[b])
    return bool(end_open[a] and not end_open[b])
