"""The bounded buffer of update-tuples, with the intervals in which each is in force.

The buffer manager of Ilarri et al. (section 4.2). A tuple is in force from its own time until the next tuple of its
key, at most for the period. Tuples that ended more than `width` ago (the join's window and the allowed delay) are
purged. With more than `limit` tuples one of them, possibly the new one, is evicted:

- min-c: the tuple with the least contribution. That is the error which the better of its two neighbours of the same key
  would make in its place, integrated over its interval and summed over attributes; the last tuple of a key has an
  infinite one, and if there are no others the victim is random. Of equal tuples the first arrival is evicted.
- oldest: the tuple with the earliest time, except the new one. random: any tuple.
- if-full: the new tuple.

A neighbour then replaces the evicted tuple for its interval: the one with the smaller error, or the only one. With
if-full, and when a tuple is purged, the interval stays empty. Random numbers depend on the seed and the number of the
arrival alone: the buffer does not depend on how arrivals are cut into batches.
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
from presage.operators.prediction.kernel.buffer.loop import Arrivals, Limits, Store, feed_buffer, rebuild_buffer

POLICIES = {"min-c": MIN_C, "if-full": IF_FULL, "oldest": OLDEST, "random": RANDOM}
# Longer batches are fed in parts, which bounds the memory for changes.
PART = 1 << 16
LONG_AGO = -(1 << 60)
FUNCTION = {"value": VALUE, "rate": RATE, "threshold": THRESHOLD}
SAVED = {"arrival": ARRIVAL, "key": KEY, "time": TIME, "start": START, "stop": STOP}


@dataclass(frozen=True)
class BufferSpec:
    """`limit`: tuples held; `width`, `period`: microseconds; `attributes`: the values and rates of a tuple."""

    limit: int
    width: int
    period: int
    attributes: int
    policy: str = "min-c"
    seed: int = 0


class InForce(NamedTuple):
    """Functions, values + rates · (t − time), in force from `start` to `end`, which is included unless `end_open`. By
    key, then time."""

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
    """From arrival `at` on the tuple `piece` (its arrival number) is in force from `start` to `end`. Of several rows
    for one `at` and `piece` the last counts. `why`: 0 held, 1 evicted or rejected, 2 purged. A removed tuple has an
    empty interval: start = end, open."""

    at: Ints
    piece: Ints
    start: Ints
    end: Ints
    end_open: Bools
    why: Ints


class Fed(NamedTuple):
    """`evicted[i]`: the arrival number of the tuple that the i-th arrival drove out, possibly its own, or -1."""

    evicted: Ints
    changes: Changes


class Buffer:
    """Keys are codes from 0 up. `arrivals` counts all arrivals so far: it is the number of the next one."""

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
        watermark: Ints | None = None,
    ) -> Fed:
        """Feed tuples in order of arrival. `values`, `rates` and `thresholds` (by default 0) have a row for each;
        `watermark` at each arrival: by default the latest time of any tuple so far."""
        lines = np.stack([values, rates, np.zeros(values.shape) if thresholds is None else thresholds])
        watermark = time if watermark is None else watermark
        parts = [
            self._feed(time[i:j], key[i:j], lines[:, i:j], watermark[i:j])
            for i, j in ((i, i + PART) for i in range(0, time.size, PART))
        ]
        evicted, changes = zip(*parts, strict=True) if parts else ((_NOTHING,), (_UNCHANGED,))
        return Fed(np.concatenate(evicted), Changes(*map(np.concatenate, zip(*changes, strict=True))))

    def advance(self, watermark: int) -> Changes:
        """Purge tuples as the watermark advances without an arrival."""
        self._scalars[CLOCK] = max(int(self._scalars[CLOCK]), watermark)
        return self._feed(_NOTHING, _NOTHING, self._lines[:, :0], _NOTHING).changes

    def _feed(self, time: Ints, key: Ints, lines: Floats, watermark: Ints) -> Fed:
        self._reserve(time.size, int(key.max()) + 1 if key.size else 0)
        # Inserting a tuple changes three intervals at most, and so does an eviction; a purge changes one.
        changes = np.empty((CHANGE, self.count + 7 * time.size), np.int64)
        evicted = np.empty(time.size, np.int64)
        self._scalars[MADE] = 0
        limit, width, period, seed = self.spec.limit, self.spec.width, self.spec.period, self.spec.seed
        times, keys, watermarks = (_own(array, np.int64) for array in (time, key, watermark))
        feed_buffer(
            Store(self._slots, self._lines, self._tails, self._scalars, changes),
            Arrivals(times, keys, _own(lines, np.float64), watermarks),
            Limits(limit, width, period, self._policy, seed),
            evicted,
        )
        at, piece, start, end, why = changes[:, : self._scalars[MADE]]
        return Fed(evicted, Changes(at, piece, start, end >> 1, end & 1 == 0, why))

    def in_force(self) -> InForce:
        """The tuples in force. Those that their successor replaced at once are left out."""
        slots, slot = self._slots, self._slots[ALL, : self.count]
        slot = slot[2 * slots[START, slot] < slots[END, slot]]
        slot = slot[np.lexsort((slots[ARRIVAL, slot], slots[TIME, slot], slots[KEY, slot]))]
        arrival, key, time, start, end = (slots[row, slot] for row in (ARRIVAL, KEY, TIME, START, END))
        return InForce(arrival, key, time, start, end >> 1, end & 1 == 0, *self._lines[:, slot])

    # -- state -----------------------------------------------------------------------------------------------

    def to_state(self) -> State:
        """The tuples held, in the order of the list that random victims are taken from; the rest is derived."""
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

    # -- memory ----------------------------------------------------------------------------------------------

    def _reserve(self, arrivals: int, keys: int) -> None:
        """Allocate memory for more arrivals, as far as the limit allows, and for so many keys."""
        old_keys = self._tails.size
        if keys > old_keys:
            more = max(keys, 2 * old_keys) - old_keys
            self._tails = np.concatenate([self._tails, np.full(more, NONE, np.int64)])
        limit, old = self.spec.limit, self._slots.shape[1]
        needed = min(limit, self.count + arrivals) + 1
        if needed > old:
            more = max(needed, min(2 * old, limit + 1)) - old
            self._slots = np.concatenate([self._slots, np.zeros((ROWS, more), np.int64)], axis=1)
            self._slots[ALL, old:] = np.arange(old, old + more)
            self._lines = np.concatenate([self._lines, np.zeros((len(FUNCTION), more, self.spec.attributes))], axis=1)


def _own(array: npt.NDArray[Any], kind: type) -> npt.NDArray[Any]:
    """Contiguous and writable, copied only if it is not, so that loops are compiled once."""
    return np.require(array, kind, ["C", "W"])


_NOTHING = np.zeros(0, np.int64)
_UNCHANGED = Changes(_NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING == 0, _NOTHING)
