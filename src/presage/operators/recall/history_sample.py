"""Slices of older history, evenly spread, that are read as a sample.

How rare a term is in all of history, a sample says nearly as well as all of it (Moirae compares with recent events, and
these know only what is rare lately). A sample of single events would read all files; slices of time read parts of few.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from presage.operators.recall.history_chunks import ROW, Chunk, RowsByTime

# So many past events are looked for, in so many slices; and so many rows of all streams are read for that at most.
SAMPLE_EVENTS, SLICES, MOST_ROWS = 32_768, 128, 2_000_000
# With fewer slices than this, values that come and go would be taken for those that stay.
FEWEST_SLICES = 8


class Slice(NamedTuple):
    """Events with low <= time < high, each of which stands for `weight` events of the history around."""

    low: int
    high: int
    weight: int


def plan_slices(
    files: Iterable[tuple[int, int, int]], held: Chunk, events: int, back: int, window: int
) -> list[Slice] | None:
    """The slices, newest first. None where what is older is hardly more than the sample would be, and may as well be
    read; no slices where there is nothing, or where many would read too much.

    `files`: (first time, last time, rows) of all streams that past events and their contexts are made of. `held`: what
    has been read, with so many past `events` in it. `back`: nothing before it counts. `window`: how far before a past
    event its contexts look at most, which is read with every slice.
    """
    rows = RowsByTime([file for file in files if file[2] > 0])
    low, high = max(back, rows.start), min(held.low, rows.end)
    if high <= low:
        return []
    before, older = rows.rows_before(low), rows.rows_before(high) - rows.rows_before(low)
    known = rows.rows_before(max(min(held.high, rows.end), high)) - rows.rows_before(high)
    beside = older * window // (high - low)
    count = SLICES if beside == 0 else min(SLICES, MOST_ROWS * ROW // beside)
    wanted = min(SAMPLE_EVENTS * known // max(events, 1), MOST_ROWS * ROW)
    weight = older // max(wanted, 1)
    if weight < 2:
        return None
    if count < FEWEST_SLICES or wanted == 0:
        return []
    stretch = older // count
    # The middle of each stretch.
    begins = [before + i * stretch + (stretch - stretch // weight) // 2 for i in range(count)]
    times = [(rows.time_of(begin), rows.time_of(begin + stretch // weight)) for begin in reversed(begins)]
    return [Slice(first, stop, weight) for first, stop in times if stop > first]
