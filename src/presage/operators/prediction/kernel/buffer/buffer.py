"""The bounded buffer of update-tuples, with the intervals in which each is in force.

The buffer manager of Ilarri et al. (§4.2). A tuple is in force from its own time until the next tuple of its key, at
most for the period. What ended more than `width` ago (the join's window and the allowed delay) is purged. With more
than `limit` tuples one of them, the new one included, is evicted:

- min-c: the one whose loss does least harm. Its contribution is the error that the better of its two neighbours of the
  same key would make in its place, integrated over its interval and summed over attributes; the last tuple of a key has
  no bound, and if there are only such the victim is drawn. Of equal ones the first to have come goes.
- oldest: of those that were there, the one with the earliest time. random: any of all, drawn.
- if-full: the new one.

A neighbour then stands in for what was evicted, as far as it would have been in force: the one with the smaller error,
or the one that there is. With if-full, and when a tuple is purged, nobody does. Draws follow from the seed and the
number of the arrival: however arrivals are cut into batches, the buffer is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from presage.arrays.jit import Bools, Floats, Ints
from presage.model.operator_state import State
from presage.operators.prediction.kernel.buffer.chains import (
    ARRIVALS,
    CHANGE,
    CLOCK,
    COUNT,
    IF_FULL,
    MADE,
    MIN_C,
    NONE,
    OLDEST,
    RANDOM,
    RATE,
    SCALARS,
    THRESHOLD,
    VALUE,
)
from presage.operators.prediction.kernel.buffer.heap import ALL, ARRIVAL, END, KEY, ROWS, START, STOP, TIME
from presage.operators.prediction.kernel.buffer.loop import feed_buffer, rebuild_buffer

POLICIES = {"min-c": MIN_C, "if-full": IF_FULL, "oldest": OLDEST, "random": RANDOM}
# Arrivals for which there is room among the changes; longer batches are fed in parts.
PART = 1 << 16
LONG_AGO = -(1 << 60)
FUNCTION = {"value": VALUE, "rate": RATE, "threshold": THRESHOLD}
SAVED = {"arrival": ARRIVAL, "key": KEY, "time": TIME, "start": START, "stop": STOP}


@dataclass(frozen=True)
class BufferSpec:
    """`limit`: tuples held; `width`, `period`: microseconds; `attributes`: how many values and rates a tuple has."""

    limit: int
    width: int
    period: int
    attributes: int
    policy: str = "min-c"
    seed: int = 0


class InForce(NamedTuple):
    """Functions, values + rates · (t − time), and when they hold: from `start` up to `end`, which belongs to it unless
    `end_open`. By key, then in order of time."""

    arrival: Ints
    key: Ints
    time: Ints
    start: Ints
    end: Ints
    end_open: Bools
    values: Floats
    rates: Floats
    thresholds: Floats


class Changes(NamedTuple):
    """From arrival `at` on the tuple `piece` (its arrival number) is in force from `start` up to `end`; of several rows
    for one `at` and `piece` the last one holds. `why`: 0 held, 1 evicted or refused, 2 purged. What has gone is in
    force at no moment: start = end, open."""

    at: Ints
    piece: Ints
    start: Ints
    end: Ints
    end_open: Bools
    why: Ints


class Fed(NamedTuple):
    """`evicted[i]`: the arrival number of the tuple that the i-th arrival drove out, its own perhaps, or -1."""

    evicted: Ints
    changes: Changes


class Buffer:
    """Keys are codes from 0 up. `arrivals` counts all that ever came: it is the number of the next one."""

    def __init__(self, spec: BufferSpec) -> None:
        self.spec = spec
        self._policy = POLICIES[spec.policy]
        self._slots = np.zeros((ROWS, 0), np.int64)
        self._lines = np.zeros((len(FUNCTION), 0, spec.attributes))
        self._tails = np.zeros(0, np.int64)
        self._scalars = np.zeros(SCALARS, np.int64)
        self._scalars[CLOCK] = LONG_AGO

    @property
    def arrivals(self) -> int:
        return int(self._scalars[ARRIVALS])

    @property
    def count(self) -> int:
        return int(self._scalars[COUNT])

    def feed(
        self,
        time: Ints,
        key: Ints,
        values: Floats,
        rates: Floats,
        thresholds: Floats | None = None,
        clock: Ints | None = None,
    ) -> Fed:
        """Arrivals in their order. `values`, `rates` and `thresholds` (0 if they are not given) have a row for each;
        `clock` is what time it was then, which is the latest time of any tuple so far if it is not given."""
        lines = np.stack([values, rates, np.zeros(values.shape) if thresholds is None else thresholds])
        clock = time if clock is None else clock
        parts = [
            self._feed(time[i:j], key[i:j], lines[:, i:j], clock[i:j])
            for i, j in ((i, i + PART) for i in range(0, time.size, PART))
        ]
        evicted, changes = zip(*parts, strict=True) if parts else ((_NOTHING,), (_UNCHANGED,))
        return Fed(np.concatenate(evicted), Changes(*map(np.concatenate, zip(*changes, strict=True))))

    def advance(self, clock: int) -> Changes:
        """What is purged because it has become so late, without an arrival."""
        self._scalars[CLOCK] = max(int(self._scalars[CLOCK]), clock)
        return self._feed(_NOTHING, _NOTHING, self._lines[:, :0], _NOTHING).changes

    def _feed(self, time: Ints, key: Ints, lines: Floats, clock: Ints) -> Fed:
        self._reserve(time.size, int(key.max()) + 1 if key.size else 0)
        # Linking in changes three intervals at most, and so does an eviction; a purge changes one.
        changes = np.empty((CHANGE, self.count + 7 * time.size), np.int64)
        evicted = np.empty(time.size, np.int64)
        self._scalars[MADE] = 0
        spec = self.spec
        feed_buffer(
            self._slots,
            self._lines,
            self._tails,
            self._scalars,
            changes,
            evicted,
            _own(time, np.int64),
            _own(key, np.int64),
            _own(lines, np.float64),
            _own(clock, np.int64),
            spec.limit,
            spec.width,
            spec.period,
            self._policy,
            spec.seed,
        )
        at, piece, start, end, why = changes[:, : self._scalars[MADE]]
        return Fed(evicted, Changes(at, piece, start, end >> 1, end & 1 == 0, why))

    def in_force(self) -> InForce:
        """What holds, and when. Tuples that their successor has overtaken at once are left out."""
        slots, slot = self._slots, self._slots[ALL, : self.count]
        slot = slot[2 * slots[START, slot] < slots[END, slot]]
        slot = slot[np.lexsort((slots[ARRIVAL, slot], slots[TIME, slot], slots[KEY, slot]))]
        arrival, key, time, start, end = (slots[row, slot] for row in (ARRIVAL, KEY, TIME, START, END))
        return InForce(arrival, key, time, start, end >> 1, end & 1 == 0, *self._lines[:, slot])

    # -- state -----------------------------------------------------------------------------------------------

    def to_state(self) -> State:
        """The tuples held, in the order of the list that victims are drawn from; the rest follows from them."""
        slot = self._slots[ALL, : self.count]
        columns = {name: pa.array(self._slots[row, slot]) for name, row in SAVED.items()}
        for a in range(self.spec.attributes):
            columns |= {f"{name}_{a}": pa.array(self._lines[row, slot, a]) for name, row in FUNCTION.items()}
        numbers = {"arrivals": self.arrivals, "clock": int(self._scalars[CLOCK])}
        return State("prediction.buffer", {"tuples": pa.table(columns)}, numbers)

    @classmethod
    def from_state(cls, spec: BufferSpec, state: State) -> Buffer:
        buffer = cls(spec)
        table = state.tables["tuples"]
        count = table.num_rows
        column = {name: table[name].to_numpy() for name in table.column_names}
        buffer._reserve(count, int(column["key"].max()) + 1 if count else 0)
        for name, row in SAVED.items():
            buffer._slots[row, :count] = column[name]
        for a in range(spec.attributes):
            for name, row in FUNCTION.items():
                buffer._lines[row, :count, a] = column[f"{name}_{a}"]
        buffer._scalars[COUNT], buffer._scalars[ARRIVALS] = count, state.numbers["arrivals"]
        buffer._scalars[CLOCK] = state.numbers["clock"]
        order = np.lexsort((column["arrival"], column["time"]))
        rebuild_buffer(buffer._slots, buffer._lines, buffer._tails, order, buffer._policy)
        return buffer

    # -- room ------------------------------------------------------------------------------------------------

    def _reserve(self, arrivals: int, keys: int) -> None:
        """Room for so many arrivals more, as far as the limit lets them stay, and for so many keys."""
        known = self._tails.size
        if keys > known:
            more = max(keys, 2 * known) - known
            self._tails = np.concatenate([self._tails, np.full(more, NONE, np.int64)])
        limit, old = self.spec.limit, self._slots.shape[1]
        needed = min(limit, self.count + arrivals) + 1
        if needed > old:
            more = max(needed, min(2 * old, limit + 1)) - old
            self._slots = np.concatenate([self._slots, np.zeros((ROWS, more), np.int64)], axis=1)
            self._slots[ALL, old:] = np.arange(old, old + more)
            self._lines = np.concatenate([self._lines, np.zeros((len(FUNCTION), more, self.spec.attributes))], axis=1)


def _own(array: npt.NDArray[Any], kind: type) -> npt.NDArray[Any]:
    """Contiguous and writable, copied only where it is not: so loops have one signature."""
    return np.require(array, kind, ["C", "W"])


_NOTHING = np.zeros(0, np.int64)
_UNCHANGED = Changes(_NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING == 0, _NOTHING)
