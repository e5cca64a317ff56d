"""The moments of VALIDATE EVERY at which intervals are cut."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from presage.arrays.jit import Ints


def ticks_within(start: Ints, end: Ints, ticks: range) -> Iterator[int]:
    """The ticks t with start < t <= end for some interval, in order, each once. O(n log n) in the intervals; ticks
    between them are not visited."""
    first = np.maximum((start - ticks.start) // ticks.step + 1, 0)
    last = np.minimum((end - ticks.start) // ticks.step, len(ticks) - 1)
    some = first <= last
    first, last = first[some], last[some]
    order = np.argsort(first, kind="stable")
    reached = np.maximum.accumulate(last[order]) if len(order) else last
    # A run of ticks begins after all previous intervals have ended.
    begins = np.flatnonzero(np.concatenate([[True], first[order][1:] > reached[:-1]])[: len(order)])
    stops = np.concatenate([begins[1:], [len(order)]])[: len(begins)] - 1
    for low, high in zip(first[order][begins].tolist(), reached[stops].tolist(), strict=True):
        yield from ticks[low : high + 1]
