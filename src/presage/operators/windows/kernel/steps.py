"""The common order of the events and timers of one call: a step is an event's arrival or a timer, and has a rank.

Ranks are dense int64: BEFORE for steps of earlier calls, 0 … last-1 for those of this call, `last` for later ones. A
timer due at x ranks before the events with time x. Cost: linear, except for a sort of timers, which is linear too where
they are sorted runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.columns import ints
from presage.arrays.jit import Ints, compiled
from presage.arrays.rows import changes
from presage.operators.windows.kernel.spec import SEQ, TIME, TIMER

BEFORE = -1
# Times that no event has: of a step of an earlier call, and of one that never happens or is not known yet.
EARLIER = np.iinfo(np.int64).min
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Moments:
    """A step for each row, as (time, index): index is the dense number of the event in this call, -1 for a timer."""

    time: Ints
    index: Ints


def event_index(events: pa.Table, order: Sequence[str]) -> Ints:
    """The dense number of each row's event; rows with equal (TIME, SEQ, order) are one event, of several items."""
    keys = [ints(events, name) for name in (TIME, SEQ, *order)]
    return np.cumsum(changes(keys, events.num_rows), dtype=np.int64) - 1


class Steps:
    """The steps of one call in order: events (by `index`) and the timers of all `moments` that are due at `clock`."""

    def __init__(self, events: pa.Table, index: Ints, moments: Sequence[Moments], clock: int) -> None:
        self._events = events
        self._clock = clock
        event_rows = np.flatnonzero(changes([index], len(index)))
        event_times = ints(events, TIME)[event_rows]
        due = [m.time[(m.index < 0) & (m.time <= clock) & (m.time > EARLIER)] for m in moments]
        # A stable sort merges sorted runs: the timers of a window are sorted as a rule.
        timers = np.sort(np.concatenate([np.zeros(0, np.int64), *due]), kind="stable")
        self._timers = timers[changes([timers], len(timers))]
        self._event_rank, self._timer_rank = _merge(event_times, self._timers)
        self.last = len(event_rows) + len(self._timers)
        # By rank: the time of the step, and a row of its event (-1: a timer).
        self._time = np.empty(self.last, np.int64)
        self._time[self._timer_rank] = self._timers
        self._time[self._event_rank] = event_times
        self._row = np.full(self.last, -1, np.int64)
        self._row[self._event_rank] = event_rows

    def ranks(self, moments: Moments) -> Ints:
        return _ranks(
            moments.time, moments.index, self._event_rank, self._timers, self._timer_rank, self._clock, self.last
        )

    def columns(self, ranks: Ints, order: Sequence[str]) -> dict[str, pa.Array]:
        """TIME, SEQ and order columns of rows that are emitted at the steps `ranks`."""
        rows = self._row[ranks]
        timer = rows < 0
        columns = {TIME: pa.array(self._time[ranks])}
        for name, of_timer in ((SEQ, TIMER), *((o, 0) for o in order)):
            if self._events.num_rows:
                columns[name] = pa.array(np.where(timer, of_timer, ints(self._events, name)[rows]))
            else:
                columns[name] = pa.array(np.full(len(ranks), of_timer, np.int64))
        return columns


@compiled
def _merge(events: Ints, timers: Ints) -> tuple[Ints, Ints]:
    """Ranks of events and of timers, both given by ascending times, in their common order."""
    event_rank, timer_rank = np.empty(events.size, np.int64), np.empty(timers.size, np.int64)
    at = 0
    for i in range(events.size):
        while at < timers.size and timers[at] <= events[i]:
            timer_rank[at] = at + i
            at += 1
        event_rank[i] = at + i
    for j in range(at, timers.size):
        timer_rank[j] = j + events.size
    return event_rank, timer_rank


@compiled
def _ranks(time: Ints, index: Ints, event_rank: Ints, timers: Ints, timer_rank: Ints, clock: int, last: int) -> Ints:
    ranks = np.empty(len(time), np.int64)
    at = 0
    for i in range(len(time)):
        if index[i] >= 0:
            ranks[i] = event_rank[index[i]]
        elif time[i] == EARLIER:
            ranks[i] = BEFORE
        elif time[i] > clock:
            ranks[i] = last
        else:
            # Neighbouring rows have neighbouring timers as a rule: try those before a search.
            if timers[at] != time[i]:
                if at + 1 < len(timers) and timers[at + 1] == time[i]:
                    at += 1
                else:
                    at = int(np.searchsorted(timers, time[i]))
            ranks[i] = timer_rank[at]
    return ranks
