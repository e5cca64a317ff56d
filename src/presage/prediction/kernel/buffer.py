"""Update-tuples in order of arrival in, those worth their place held: with the intervals in which each is in force.

The buffer manager of Ilarri et al. (§4.2). A tuple is in force from its own time until the next tuple of its key, at
most for the period. What ended `width` or more ago (the join's window and the allowed delay) is purged. With more than
`limit` tuples one of them, the new one included, is evicted:

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
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from presage.arrays.jit import Floats, Ints
from presage.model.state import State
from presage.prediction.kernel.buffer_chains import (
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
    SCALARS,
    Store,
)
from presage.prediction.kernel.buffer_heap import ARRIVAL, END, FIELDS, KEY, START, STOP, TIME
from presage.prediction.kernel.buffer_loop import feed_buffer, purge_buffer, rebuild_buffer

POLICIES = {"min-c": MIN_C, "if-full": IF_FULL, "oldest": OLDEST, "random": RANDOM}
# Arrivals for which there is room among the changes; longer batches are fed in parts.
PART = 1 << 16
LONG_AGO = -(1 << 62)
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


class Pieces(NamedTuple):
    """Functions in force: value + rate · (t − time) for t in [start, end). By key, then in order of time."""

    arrival: Ints
    key: Ints
    time: Ints
    start: Ints
    end: Ints
    values: Floats
    rates: Floats


class Changes(NamedTuple):
    """From arrival `at` on the tuple `piece` (its arrival number) is in force for [start, end); of several rows for one
    `at` and `piece` the last one holds. `why`: 0 held, 1 evicted or refused, 2 purged; of what has gone start = end."""

    at: Ints
    piece: Ints
    start: Ints
    end: Ints
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
        self._store = Store(
            slots=np.zeros((FIELDS, 0), np.int64),
            values=np.zeros((0, spec.attributes)),
            rates=np.zeros((0, spec.attributes)),
            heaps=np.zeros((2, 0), np.int64),
            tails=np.zeros(0, np.int64),
            held=np.zeros(0, np.int64),
            scalars=np.zeros(SCALARS, np.int64),
            changes=np.zeros((CHANGE, 0), np.int64),
        )
        self._store.scalars[CLOCK] = LONG_AGO

    @property
    def arrivals(self) -> int:
        return int(self._store.scalars[ARRIVALS])

    @property
    def count(self) -> int:
        return int(self._store.scalars[COUNT])

    def feed(self, time: Ints, key: Ints, values: Floats, rates: Floats, clock: Ints | None = None) -> Fed:
        """Arrivals in their order. `values` and `rates` have a row for each; `clock` is what time it was then, which is
        the latest time of any tuple so far if it is not given."""
        clock = time if clock is None else clock
        parts = [
            self._feed(time[i:j], key[i:j], values[i:j], rates[i:j], clock[i:j])
            for i, j in ((i, i + PART) for i in range(0, max(time.size, 1), PART))
        ]
        evicted, changes = zip(*parts, strict=True)
        return Fed(np.concatenate(evicted), Changes(*map(np.concatenate, zip(*changes, strict=True))))

    def _feed(self, time: Ints, key: Ints, values: Floats, rates: Floats, clock: Ints) -> Fed:
        self._reserve(time.size, int(key.max()) + 1 if key.size else 0)
        # Linking in changes three intervals at most, and so does an eviction; a purge changes one.
        store = self._noting(self.count + 7 * time.size)
        evicted = np.empty(time.size, np.int64)
        arrays = (_ints(time), _ints(key), _floats(values), _floats(rates), _ints(clock))
        spec = self.spec
        feed_buffer(store, evicted, *arrays, spec.limit, spec.width, spec.period, self._policy, spec.seed)
        return Fed(evicted, self._noted(store))

    def advance(self, clock: int) -> Changes:
        """What is purged because it has become so late, without an arrival."""
        self._store.scalars[CLOCK] = max(int(self._store.scalars[CLOCK]), clock)
        store = self._noting(self.count)
        purge_buffer(store, self.spec.width, self._policy)
        return self._noted(store)

    def pieces(self) -> Pieces:
        """What is in force now, and when. Tuples that their successor has overtaken at once are left out."""
        slots, slot = self._store.slots, self._store.held[: self.count]
        slot = slot[slots[START, slot] < slots[END, slot]]
        slot = slot[np.lexsort((slots[ARRIVAL, slot], slots[TIME, slot], slots[KEY, slot]))]
        arrival, key, time, start, end = (slots[row, slot] for row in (ARRIVAL, KEY, TIME, START, END))
        return Pieces(arrival, key, time, start, end, self._store.values[slot], self._store.rates[slot])

    def _noting(self, changes: int) -> Store:
        self._store.scalars[MADE] = 0
        return self._store._replace(changes=np.empty((CHANGE, changes), np.int64))

    def _noted(self, store: Store) -> Changes:
        return Changes(*store.changes[:, : store.scalars[MADE]])

    # -- state -----------------------------------------------------------------------------------------------

    def to_state(self) -> State:
        """The tuples held, in the order of the list that victims are drawn from; the rest follows from them."""
        store, slot = self._store, self._store.held[: self.count]
        columns = {name: pa.array(store.slots[row, slot]) for name, row in SAVED.items()}
        for a in range(self.spec.attributes):
            columns[f"value_{a}"] = pa.array(store.values[slot, a])
            columns[f"rate_{a}"] = pa.array(store.rates[slot, a])
        numbers = {"arrivals": self.arrivals, "clock": int(store.scalars[CLOCK])}
        return State("prediction.buffer", {"tuples": pa.table(columns)}, numbers)

    @classmethod
    def from_state(cls, spec: BufferSpec, state: State) -> Buffer:
        buffer = cls(spec)
        table = state.tables["tuples"]
        count = table.num_rows
        column = {name: table[name].to_numpy() for name in table.column_names}
        buffer._reserve(count, int(column["key"].max()) + 1 if count else 0)
        store = buffer._store
        for name, row in SAVED.items():
            store.slots[row, :count] = column[name]
        for a in range(spec.attributes):
            store.values[:count, a] = column[f"value_{a}"]
            store.rates[:count, a] = column[f"rate_{a}"]
        store.scalars[COUNT], store.scalars[ARRIVALS] = count, state.numbers["arrivals"]
        store.scalars[CLOCK] = state.numbers["clock"]
        rebuild_buffer(store, np.lexsort((column["arrival"], column["time"])), buffer._policy)
        return buffer

    # -- room ------------------------------------------------------------------------------------------------

    def _reserve(self, arrivals: int, keys: int) -> None:
        """Room for so many arrivals more, as far as the limit lets them stay, and for so many keys."""
        store, limit = self._store, self.spec.limit
        more_keys = max(keys, 2 * store.tails.size) - store.tails.size if keys > store.tails.size else 0
        old = store.held.size
        needed = min(limit, self.count + arrivals) + 1
        more = max(needed, min(2 * old, limit + 1)) - old if needed > old else 0
        if more or more_keys:
            self._store = store._replace(
                slots=_wider(store.slots, more),
                values=_longer(store.values, more),
                rates=_longer(store.rates, more),
                heaps=_wider(store.heaps, more),
                tails=np.concatenate([store.tails, np.full(more_keys, NONE, np.int64)]),
                held=np.concatenate([store.held, np.arange(old, old + more)]),
            )


def _wider(table: Ints, more: int) -> Ints:
    return np.concatenate([table, np.zeros((len(table), more), np.int64)], axis=1)


def _longer(table: Floats, more: int) -> Floats:
    return np.concatenate([table, np.zeros((more, table.shape[1]))])


# Loops have one signature: arrays that are contiguous and writable, copied only where they are not.
def _ints(array: Ints) -> Ints:
    return np.require(array, np.int64, ["C", "W"])


def _floats(array: Floats) -> Floats:
    return np.require(array, np.float64, ["C", "W"])
