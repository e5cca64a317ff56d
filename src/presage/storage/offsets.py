"""Deduplication and ordering by source offsets: an event is taken, held back, or dropped as a duplicate.

A source numbers its events densely, per partition. An event may arrive on several paths, such as an archive of the
source and its live feed. Its offset is the next one, a duplicate, or ahead of offsets that are still missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from presage.errors import error

MAX_OFFSET = 2**63 - 2  # the offset after it must be an int64 too
MAX_GAPS = 10_000  # ranges that are stored for one partition
Range = list[int]  # first and last offset, inclusive; ranges are ascending and never adjacent
Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SourceOffsets:
    """The columns with the source's own offsets in the rows of a load.

    `offset` and `partition` are columns of the rows, attributes of the stream or not. A new partition begins at
    `start`, by default at the least offset of its first load.
    """

    source: str
    offset: str
    partition: str | None = None
    start: int | None = None

    def __post_init__(self) -> None:
        if self.start is not None and not 0 <= self.start <= MAX_OFFSET:
            raise error("BAD_VALUE", what="start", found=self.start, expected="an offset, 0 or more")
        if self.partition == self.offset:
            raise error("BAD_VALUE", what="partition", found="the column of the offset", expected="two columns")


@dataclass(frozen=True)
class Gap:
    """A range of missing offsets, and how many rows after it, up to the next gap, are held back."""

    source: str
    partition: str
    first: int
    last: int
    held: int


@dataclass(frozen=True)
class Verdict:
    """The decision on the offsets of one load, in the given order. An offset in neither mask is a duplicate."""

    taken: Mask
    ahead: Mask
    # Rows that were held back with first <= offset < last are released.
    freed: tuple[int, int]


@dataclass
class PartitionOffsets:
    """The offsets of a partition that have arrived. Plain values, as in the journal."""

    next: int  # all earlier offsets have arrived or were skipped
    ahead: list[Range] = field(default_factory=list)  # later offsets that have arrived, with the number of held rows
    forgone: list[Range] = field(default_factory=list)  # earlier offsets that are missing: taken if they still arrive
    skipped: int = 0  # how many offsets were skipped

    @classmethod
    def begin(cls, first: int) -> PartitionOffsets:
        return cls(first, forgone=[[0, first - 1]] if first else [])

    @classmethod
    def of(cls, content: dict[str, Any]) -> PartitionOffsets:
        ahead, forgone = ([list(r) for r in content[name]] for name in ("ahead", "forgone"))
        return cls(content["next"], ahead, forgone, content["skipped"])

    def arrive(self, good: Numbers, bad: Numbers) -> Verdict:
        """Decide on the offsets of good rows, then on those of rejected rows, which are never held back."""
        given = np.concatenate([good, bad])
        # The first of equal offsets counts; good rows precede bad ones.
        unique, places = np.unique(given, return_index=True)
        fresh = ~_inside(unique, self.ahead) & ((unique >= self.next) | _inside(unique, self.forgone))
        unique, places = unique[fresh], places[fresh]
        cut = int(np.searchsorted(unique, self.next))
        before = self.next
        self.forgone = _subtract(self.forgone, _runs(unique[:cut], np.zeros(cut, np.int64)))
        self.ahead = _joined([*self.ahead, *_runs(unique[cut:], (places[cut:] < len(good)).astype(np.int64))])
        if self.ahead and self.ahead[0][0] == self.next:
            self.next = self.ahead.pop(0)[1] + 1
        taken, ahead = np.zeros(len(given), bool), np.zeros(len(given), bool)
        taken[places[unique < self.next]] = True
        ahead[places[unique >= self.next]] = True
        return Verdict(taken, ahead, (before, self.next))

    def skip(self, up_to: int) -> tuple[int, int]:
        """Stop waiting for missing offsets up to this one; the bounds of the held rows that are released."""
        before = self.next
        missing = [[first, min(last, up_to)] for first, last, _ in self.gaps() if first <= up_to]
        self.skipped += sum(last - first + 1 for first, last in missing)
        self.forgone = _joined([*self.forgone, *missing])
        self.next = max(self.next, up_to + 1)
        while self.ahead and self.ahead[0][0] <= self.next:
            self.next = max(self.next, self.ahead.pop(0)[1] + 1)
        return before, self.next

    def gaps(self) -> list[tuple[int, int, int]]:
        """First and last missing offset of each gap, and the number of rows held back after it."""
        firsts = [self.next, *(last + 1 for _, last, _ in self.ahead[:-1])]
        return [(first, after[0] - 1, after[2]) for first, after in zip(firsts, self.ahead, strict=False)]

    def ranges(self) -> int:
        return len(self.ahead) + len(self.forgone)


def gaps(sources: dict[str, dict[str, dict[str, Any]]]) -> list[Gap]:
    """The gaps of a stream, from `StreamState.sources`."""
    return [
        Gap(source, partition, *gap)
        for source, partitions in sources.items()
        for partition, content in partitions.items()
        for gap in PartitionOffsets.of(content).gaps()
    ]


def _inside(offsets: Numbers, ranges: list[Range]) -> Mask:
    if not ranges:
        return np.zeros(len(offsets), bool)
    firsts, lasts = (np.array([r[i] for r in ranges], np.int64) for i in (0, 1))
    at = np.searchsorted(firsts, offsets, side="right") - 1
    inside: Mask = (at >= 0) & (offsets <= lasts[np.maximum(at, 0)])
    return inside


def _runs(offsets: Numbers, held: Numbers) -> list[Range]:
    """Ascending offsets as contiguous ranges, each with the sum of `held`."""
    if not len(offsets):
        return []
    starts = np.concatenate([[0], np.flatnonzero(np.diff(offsets) != 1) + 1])
    ends = np.concatenate([starts[1:], [len(offsets)]]) - 1
    columns = (offsets[starts], offsets[ends], np.add.reduceat(held, starts))
    return [list(run) for run in zip(*(column.tolist() for column in columns), strict=True)]


def _joined(ranges: list[Range]) -> list[Range]:
    """Ranges in ascending order, adjacent ones joined; a third number is summed."""
    joined: list[Range] = []
    for first, last, *rows in sorted(ranges):
        if joined and joined[-1][1] + 1 == first:
            joined[-1] = [joined[-1][0], last, *(a + b for a, b in zip(joined[-1][2:], rows, strict=True))]
        else:
            joined.append([first, last, *rows])
    return joined


def _subtract(ranges: list[Range], runs: list[Range]) -> list[Range]:
    """The ranges without the runs. Each run lies inside one of the ranges, which are never adjacent."""
    left: list[Range] = []
    todo = list(reversed(runs))
    for start, last in ranges:
        first = start
        while todo and todo[-1][0] <= last:
            run = todo.pop()
            if first < run[0]:
                left.append([first, run[0] - 1])
            first = run[1] + 1
        if first <= last:
            left.append([first, last])
    return left
