"""Lifetimes of the rows of one item of FROM: the steps at which each enters and leaves its window.

By retention: TIME leaves by a timer; COUNT when the n-th later event of the same key arrives; FIRST lets only the first
event of each key in, for ever; FOREVER never leaves. COUNT_BATCH enters when the n-th event of its batch arrives and
leaves when the next batch closes. TIME_BATCH enters by a timer at the end of its interval, counted from the first event
of its key, and leaves one interval later. Rows of the state come first: they are exactly those that have not left, so
positions in a key are counted from them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from presage.arrays.codes import grouped_order
from presage.arrays.equality import first_occurrences
from presage.arrays.jit import Ints, compiled
from presage.operators.windows.kernel.spec import Window
from presage.operators.windows.kernel.steps import EARLIER, NEVER, Moments
from presage.operators.windows.window_types import COUNT, COUNT_BATCH, FIRST, FOREVER, TIME

# Retentions in which an event's lifetime depends on the events around it, whether or not they pass WHERE.
COUNTING = (COUNT, FIRST, COUNT_BATCH)


@dataclass(frozen=True)
class Lifetimes:
    enter: Moments
    leave: Moments


def find_lifetimes(
    window: Window, time: Ints, index: Ints, carried: int, cells: Ints, count: int, origins: Ints, clock: int
) -> Lifetimes:
    """When each row enters and leaves.

    `time` and `index` (dense number of the event, -1 if from the state) are those of all rows, the first `carried` of
    them from the state. `cells` are codes 0 … count-1 of the window's keys, `origins` the first time of each
    (TIME_BATCH only); `clock` is the watermark of the last call.
    """
    rows = len(time)
    arrival = Moments(np.where(np.arange(rows) < carried, EARLIER, time), index)
    kind, retention = window.type, window.type.retention
    size = window.size if kind.is_sized else kind.events
    if retention == FOREVER:
        return Lifetimes(arrival, _timers(np.full(rows, NEVER)))
    if retention == TIME:
        return Lifetimes(arrival, _timers(np.where(time > NEVER - size, NEVER, kind.leaves(time, size))))
    if retention == COUNT:
        return Lifetimes(arrival, _arrivals_of(_nth_later(*grouped_order(cells, count), size), arrival))
    if retention == FIRST:
        # The others never enter: they leave before the beginning, so that they are not in the state.
        return Lifetimes(arrival, _timers(np.where(first_occurrences(cells), NEVER, EARLIER)))
    if retention == COUNT_BATCH:
        closing, next_closing = _closing_rows(*grouped_order(cells, count), size)
        return Lifetimes(_arrivals_of(closing, arrival), _arrivals_of(next_closing, arrival))
    end = kind.closes(time, origins[cells], size)
    after = kind.closes(end, origins[cells], size)
    return Lifetimes(_timers(np.where(end <= clock, EARLIER, end)), _timers(after))


def _timers(time: Ints) -> Moments:
    return Moments(time, np.full(len(time), -1, np.int64))


def _arrivals_of(rows: Ints, arrival: Moments) -> Moments:
    """The arrivals of some rows; -1 is a row that has not arrived."""
    arrived = rows >= 0
    return Moments(np.where(arrived, arrival.time[rows], NEVER), np.where(arrived, arrival.index[rows], -1))


@compiled
def _nth_later(order: Ints, starts: Ints, n: int) -> Ints:
    """For each row the n-th later row of its cell, -1 if there is none. `order`: rows by cell, from `starts`."""
    later = np.full(order.size, -1, np.int64)
    for c in range(starts.size - 1):
        for p in range(starts[c], starts[c + 1] - n):
            later[order[p]] = order[p + n]
    return later


@compiled
def _closing_rows(order: Ints, starts: Ints, n: int) -> tuple[Ints, Ints]:
    """For each row the row that closes its batch of n, and the one that closes the next batch; -1 if there is none."""
    closing = np.full(order.size, -1, np.int64)
    next_closing = np.full(order.size, -1, np.int64)
    for c in range(starts.size - 1):
        for p in range(starts[c], starts[c + 1]):
            close = starts[c] + ((p - starts[c]) // n + 1) * n - 1
            if close < starts[c + 1]:
                closing[order[p]] = order[close]
            if close + n < starts[c + 1]:
                next_closing[order[p]] = order[close + n]
    return closing, next_closing
