"""The updates of a stream that are in force: of all updates, or of those that a bounded buffer held."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.arrays.columns import ints
from presage.arrays.jit import Ints
from presage.model.operator_state import State
from presage.operators.prediction.kernel.buffer.buffer import Buffer, BufferSpec
from presage.operators.prediction.kernel.buffer.versions import Versions, unchanged, versions_of
from presage.operators.prediction.kernel.pieces import InForce
from presage.operators.prediction.kernel.query import Stream
from presage.operators.prediction.kernel.regions.sides import ALWAYS, FOREVER
from presage.operators.prediction.kernel.updates import FOR_EVER, Updates

# Columns of the state: the arrival number of a row in its buffer, -1 before it arrived; since when its interval is
# visible as it is now.
ARRIVAL, SINCE = "_arrival", "_since"
NEW = {ARRIVAL: -1, SINCE: ALWAYS}
_TUPLES = "tuples"


class Unbounded:
    """Without a buffer all updates are in force at their times."""

    def __init__(self, stream: Stream, updates: Updates) -> None:
        self._updates = updates
        self._alive = updates.alive(stream.period)

    def alive(self) -> InForce:
        return self._alive

    def versions(self) -> tuple[InForce, None]:
        """All intervals are always visible."""
        return self._alive, None

    def feed(self, before: int | None) -> None:
        """Nothing to do without a buffer."""

    def kept(self, since: int) -> tuple[pa.Table, dict[str, pa.Table], dict[str, int]]:
        """The state: rows that can match after `since`, more tables, and numbers."""
        rows = np.zeros(len(self._updates), np.bool_)
        rows[self._alive.row[self._alive.end >= since]] = True
        return self._updates.rows.filter(pa.array(rows)), {}, {}


class Bounded:
    """Updates held by a buffer are in force. An update arrives at its own time; earlier times are evaluated with what
    was held until then."""

    def __init__(self, stream: Stream, updates: Updates, name: str, width: int, seed: int, state: State) -> None:
        assert stream.limit is not None
        self._updates = updates
        self._name = name
        period = FOR_EVER if stream.period is None else stream.period
        spec = BufferSpec(stream.limit, width, period, len(stream.value), stream.policy, seed)
        self._arrival = ints(updates.rows, ARRIVAL).copy()
        self._since = ints(updates.rows, SINCE).copy()
        self._buffer = self._restored(spec, state)
        held = self._buffer.in_force()
        self._versions: Versions = unchanged(held, self._since[self._row_of(held.arrival)])

    def _restored(self, spec: BufferSpec, state: State) -> Buffer:
        table = state.tables.get(f"{self._name}_{_TUPLES}")
        if table is None:
            return Buffer(spec)
        # Keys are recoded in every step.
        key = self._updates.key[self._row_of(ints(table, "arrival"))]
        table = table.set_column(table.column_names.index("key"), "key", pa.array(key))
        numbers = {n: state.numbers[f"{self._name}_{n}"] for n in ("arrivals", "clock")}
        return Buffer.from_state(spec, State("prediction.buffer", {_TUPLES: table}, numbers))

    def _row_of(self, arrival: Ints) -> Ints:
        order = np.argsort(self._arrival, kind="stable")
        return order[np.searchsorted(self._arrival[order], arrival)]

    def alive(self) -> InForce:
        """The intervals in force now."""
        held = self._buffer.in_force()
        return InForce(self._row_of(held.arrival), held.start, held.end, held.end_open)

    def versions(self) -> tuple[InForce, Ints]:
        """The intervals in force since the last step, and when each was visible, see `Versions`. A probability covers
        all of them, however many steps there are."""
        made = self._versions
        return InForce(self._row_of(made.arrival), made.start, made.end, made.end_open), made.visible

    def feed(self, before: int | None) -> None:
        """Feed the updates before a moment; None: all of them."""
        new = self._arrival < 0
        if before is not None:
            new &= self._updates.time < before
        rows = np.flatnonzero(new)
        if not len(rows):
            return
        first, held = self._buffer.arrivals, self._buffer.in_force()
        self._arrival[rows] = first + np.arange(len(rows))
        # A missing value contributes nothing.
        value, rate = (
            np.nan_to_num(x[rows], nan=0.0, posinf=0.0, neginf=0.0) for x in (self._updates.value, self._updates.rate)
        )
        time = self._updates.time[rows]
        changes = self._buffer.feed(time, self._updates.key[rows], value, rate).changes
        since = self._since[self._row_of(held.arrival)]
        self._versions = versions_of(held, since, changes, time[changes.at - first])
        lasts = self._versions.visible[:, 1] == FOREVER
        self._since[self._row_of(self._versions.arrival[lasts])] = self._versions.visible[lasts, 0]

    def kept(self, since: int) -> tuple[pa.Table, dict[str, pa.Table], dict[str, int]]:
        # Only updates purge: the buffer must not depend on when a step ends.
        state = self._buffer.to_state()
        held = np.isin(self._arrival, ints(state.tables[_TUPLES], "arrival")) | (self._arrival < 0)
        rows = self._updates.rows
        for name, values in ((ARRIVAL, self._arrival), (SINCE, self._since)):
            rows = rows.set_column(rows.column_names.index(name), name, pa.array(values))
        numbers = {f"{self._name}_{n}": value for n, value in state.numbers.items()}
        return rows.filter(pa.array(held)), {f"{self._name}_{_TUPLES}": state.tables[_TUPLES]}, numbers
