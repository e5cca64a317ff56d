"""Chunks of history: the spans of time that a recall reads, newest first (Moirae, section 4.3).

The rows of a file are assumed to be spread evenly over its span of time. Sums are integers of 2**-64 rows, so that a
file adds exactly nothing after its end and the cuts are the same everywhere.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import NamedTuple

from presage.errors import error

CHUNK_ROWS = 500_000
SMALL_CHUNKS = 5
GROWTH = 2
# In a deployed statement other events wait while a chunk is read: it is at most so many times the first.
MOST_GROWTH = 8
ROW = 1 << 64


class Chunk(NamedTuple):
    """Events with low <= time < high, in microseconds."""

    low: int
    high: int


def history_chunks(
    files: Iterable[tuple[int, int, int]],
    chunk_rows: int = CHUNK_ROWS,
    small_chunks: int = SMALL_CHUNKS,
    growth: int = GROWTH,
    most_rows: int | None = None,
) -> list[Chunk]:
    """Chunks that have every event exactly once. `files`: (first time, last time, rows), of one stream or several.

    `small_chunks` chunks of about `chunk_rows` each, so that first answers are early; then each is `growth` times the
    one before, so that long histories need few chunks. A chunk has between a half and one and a half of its size if no
    microsecond has more rows than that; the oldest may be smaller. Within these bounds it is cut where the fewest rows
    are in files on both sides, which are read twice. `most_rows`: no chunk grows beyond that.
    """
    if min(chunk_rows, small_chunks, growth) < 1:
        sizes = (chunk_rows, small_chunks, growth)
        raise error("BAD_VALUE", what="the size, number or growth of chunks", found=sizes, expected="at least 1")
    history = RowsByTime([file for file in files if file[2] > 0])
    chunks: list[Chunk] = []
    high = history.end
    size = chunk_rows
    while high > history.start:
        if len(chunks) >= small_chunks:
            size = size * growth if most_rows is None else max(min(size * growth, most_rows), size)
        low = history.cut(high, size * ROW)
        chunks.append(Chunk(low, high))
        high = low
    return chunks


class RowsByTime:
    """The number of rows by time, from the borders of files."""

    def __init__(self, files: list[tuple[int, int, int]]) -> None:
        slope: dict[int, int] = defaultdict(int)
        begins: dict[int, int] = defaultdict(int)
        ends: dict[int, int] = defaultdict(int)
        for first, last, rows in files:
            density = rows * ROW // (last + 1 - first)
            slope[first] += density
            slope[last + 1] -= density
            begins[first] += rows
            ends[last + 1] += rows
        self.borders = borders = sorted(slope)
        self.start, self.end = (borders[0], borders[-1]) if borders else (0, 0)
        # Of the stretch after each border: rows in a microsecond, and rows of the files that cover it.
        self.slopes = list(accumulate(slope[border] for border in borders))
        self.inside = list(accumulate(begins[border] - ends[border] for border in borders))
        steps = [(after - border) * each for (border, after), each in zip(pairwise(borders), self.slopes, strict=False)]
        self.before = list(accumulate(steps, initial=0))
        # A file that begins at a border is not divided by it.
        self.divided = [inside - begins[border] for border, inside in zip(borders, self.inside, strict=True)]

    def cut(self, high: int, size: int) -> int:
        """Where the chunk that ends at `high` begins."""
        rows = self.rows_before(high)
        if rows <= size + size // 2:
            return self.start
        wanted = rows - size
        # Inside a file, as near as microseconds allow, which is not near if a microsecond has very many rows.
        time = self.time_of(wanted)
        choices = [min((abs(self.rows_before(t) - wanted), t) for t in (time, time + 1) if t < high)]
        least, most = wanted - size // 2, wanted + size // 2
        for i in range(bisect_left(self.before, least), bisect_right(self.before, most)):
            if self.borders[i] < high:
                choices.append((abs(self.before[i] - wanted), self.borders[i]))
        chosen = min(choices, key=lambda choice: (self._divided_at(choice[1]), *choice))[1]
        # An empty stretch before the cut counts as read.
        i = self._stretch(chosen)
        return self.borders[i - 1] if i and self.borders[i] == chosen and not self.inside[i - 1] else chosen

    def _stretch(self, time: int) -> int:
        return bisect_right(self.borders, time) - 1

    def rows_before(self, time: int) -> int:
        i = self._stretch(time)
        return self.before[i] + (time - self.borders[i]) * self.slopes[i]

    def time_of(self, rows: int) -> int:
        """The last microsecond with no more than so many rows before it."""
        i = max(bisect_left(self.before, rows) - 1, 0)
        return self.borders[i] + (rows - self.before[i]) // self.slopes[i]

    def _divided_at(self, time: int) -> int:
        i = self._stretch(time)
        return self.divided[i] if self.borders[i] == time else self.inside[i]
