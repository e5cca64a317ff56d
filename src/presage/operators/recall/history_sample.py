"""Slices of older history, evenly spread, that are read as a sample.

A sample estimates the rarity of terms in all of history nearly as well as all of it (Moirae uses recent events, which
show only recent rarity). A sample of single events would read all files; slices of time read parts of few files.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from presage.operators.recall.history_chunks import ROW, Chunk, RowsByTime

# The target number of past events, the number of slices, and the most rows of all streams that are read for them.
SAMPLE_EVENTS, SLICES, MOST_ROWS = 32_768, 128, 2_000_000
# Fewer slices would take values of a short period for values of all history.
FEWEST_SLICES = 8


class Slice(NamedTuple):
    """Events with low <= time < high, each of which represents `weight` events of the history around it."""

    low: int
    high: int
    weight: int


def plan_slices(
    files: Iterable[tuple[int, int, int]], held: Chunk, events: int, back: int, window: int
) -> list[Slice] | None:
    """The slices, newest first. None if older history is hardly more than the sample, and may be read as a whole; no
    slices if there is none, or if many slices would read too much.

    `files`: (first time, last time, rows) of all streams that past events and their contexts are read from. `held`: the
    span that has been read, with so many past `events` in it. `back`: events before it do not count. `window`: the
    greatest window of contexts, which is read with every slice.
    """
    rows = RowsByTime([file for file in files if file[2] > 0])
    low, high = max(back, rows.start), min(held.low, rows.end)
    if high <= low:
        return []
    before, older = rows.rows_before(low), rows.rows_before(high) - rows.rows_before(low)
    read = rows.rows_before(max(min(held.high, rows.end), high)) - rows.rows_before(high)
    per_window = older * window // (high - low)
    count = SLICES if per_window == 0 else min(SLICES, MOST_ROWS * ROW // per_window)
    wanted = min(SAMPLE_EVENTS * read // max(events, 1), MOST_ROWS * ROW)
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
