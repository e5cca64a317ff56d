"""The maximal intervals of each group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled
from presage.operators.prediction.kernel.jit import bare


@dataclass(frozen=True)
class Intervals:
    """`start`, `end`: microseconds, the nearest; `start_part`, `end_part`: what is left of a microsecond. A group is a
    number; its probability (NaN: not asked for) is the greatest of the parts."""

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


def merge(found: Intervals) -> tuple[Intervals, Ints]:
    """By group and time, and the row into which each interval that came in went.

    Two become one if they overlap, or if they touch in a point that belongs to either. Touching is judged in whole
    microseconds: what was computed from two pairs of pieces agrees no farther. O(n log n).
    """
    order = np.argsort(found.group, kind="stable")
    return _merged(
        found,
        *merge_sorted(
            order,
            found.group,
            found.start,
            found.end,
            found.start_part,
            found.end_part,
            found.start_open,
            found.end_open,
            found.probability,
        ),
    )


def _merged(found: Intervals, first: Ints, last: Ints, probability: Floats, row: Ints) -> tuple[Intervals, Ints]:
    """`first`, `last`: whose start and whose end a row has."""
    start, end = found.start[first], found.end[last]
    point = start == end
    return Intervals(
        found.group[first],
        start,
        end,
        found.start_part[first],
        found.end_part[last],
        # Shorter than a microsecond, but not empty: a point.
        found.start_open[first] & ~point,
        found.end_open[last] & ~point,
        probability,
    ), row


@compiled
def merge_sorted(
    order: Ints,
    group: Ints,
    start: Ints,
    end: Ints,
    start_part: Floats,
    end_part: Floats,
    start_open: Bools,
    end_open: Bools,
    probability: Floats,
) -> tuple[Ints, Ints, Floats, Ints]:
    """`order`: by group. Groups are small, so that each is sorted by insertion."""
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
