"""The rows that MEASURES refer to (FIRST, LAST, PREV …), seen from any rows of the matches.

The rows of all matches form one line, match after match, as in `Matches.labels`. Of the rows with some labels, a row
sees a stretch, and FIRST and LAST count from its ends: O(line) for each set of labels, O(1) for each row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from presage.arrays.jit import Bools, Ints, compiled
from presage.operators.match.kernel.matches import Matches
from presage.operators.match.kernel.spec import Place

Labels = tuple[int, ...] | None


@dataclass(frozen=True)
class Views:
    """Rows with their match (-1: none), the row number, and how many rows of the match come up to it."""

    match: Ints
    row: Ints
    at: Ints


@dataclass(frozen=True)
class Chosen:
    """The places in the line that have some labels, and how many of them come before each place (and in all)."""

    line: Ints
    before: Ints


@compiled
def _counted(labels: Ints, wanted: Bools) -> tuple[Ints, Ints]:
    line, before = np.empty(len(labels), np.int64), np.empty(len(labels) + 1, np.int64)
    found = 0
    for i in range(len(labels)):
        before[i] = found
        if wanted[labels[i]]:
            line[found] = i
            found += 1
    before[len(labels)] = found
    return line[:found].copy(), before


class MatchedRows:
    def __init__(self, matches: Matches, variables: int) -> None:
        self._labels = matches.labels
        self._lengths = matches.lengths
        self._variables = variables
        self._chosen: dict[Labels, Chosen] = {}
        # A further empty match, which index -1 selects: rows without a match need no special case.
        self._offset = np.append(matches.offsets[:-1], matches.labels.size)
        self._start = np.append(matches.starts, 0)
        self._length = np.append(matches.lengths, 0)
        self._partition = np.append(matches.partition_begin, 0), np.append(matches.partition_end, 0)

    @cached_property
    def views(self) -> Views:
        """Each row in the line, with its match."""
        match = np.repeat(np.arange(self._lengths.size), self._lengths)
        within = np.arange(self._labels.size) - self._offset[match]
        return Views(match, self._start[match] + within, within + 1)

    def labels(self, line: Ints) -> Ints:
        return self._labels[line]

    def chosen(self, labels: Labels) -> Chosen:
        if labels not in self._chosen:
            self._chosen[labels] = self._choose(labels)
        return self._chosen[labels]

    def _choose(self, labels: Labels) -> Chosen:
        if labels is None:
            before = np.arange(self._labels.size + 1)
            return Chosen(before[:-1], before)
        wanted = np.zeros(self._variables, np.bool_)
        wanted[list(labels)] = True
        return Chosen(*_counted(self._labels, wanted))

    def stretch(self, labels: Labels, views: Views, final: bool) -> tuple[Ints, Ints]:
        """The chosen rows [begin, end) that each view sees."""
        before = self.chosen(labels).before
        begin = self._offset[views.match]
        return before[begin], before[begin + self._reach(views, final)]

    def _reach(self, views: Views, final: bool) -> Ints:
        return self._length[views.match] if final else views.at

    def rows_at(self, place: Place, views: Views) -> Ints:
        """The row at the place, -1 where there is none."""
        if place.current:
            rows = np.where(views.at > 0, views.row, -1)
        else:
            begin, end = self.stretch(place.labels, views, place.final)
            nth = begin + place.offset if place.first else end - 1 - place.offset
            there = (begin <= nth) & (nth < end)
            line = self.chosen(place.labels).line[nth[there]]
            match = views.match[there]
            rows = np.full(nth.size, -1, np.int64)
            rows[there] = self._start[match] + line - self._offset[match]
        if not place.moved:
            return rows
        first, last = self._partition
        moved = rows + place.moved
        known = (rows >= 0) & (moved >= first[views.match]) & (moved < last[views.match])
        return np.where(known, moved, -1)

    def labels_at(self, place: Place, views: Views) -> Ints:
        """The label of the row at the place; -1 where there is no row, or one outside of the match. PREV and NEXT see
        all labels of the match, also those after the row of a running measure: the match is complete."""
        rows = self.rows_at(place, views)
        within = rows - self._start[views.match]
        labelled = (rows >= 0) & (within >= 0) & (within < self._length[views.match])
        labels = np.full(rows.size, -1, np.int64)
        labels[labelled] = self._labels[(self._offset[views.match] + within)[labelled]]
        return labels
