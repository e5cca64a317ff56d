"""What is in force of a stream: of all updates, or of those that a bounded buffer held as time went on."""

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
from presage.operators.prediction.kernel.regions.evaluation import ALWAYS, FOREVER
from presage.operators.prediction.kernel.updates import FOR_EVER, Updates

# The number of a row among all that its buffer was ever given, -1 if it was not given yet; after when it is in force as
# it is now.
ARRIVAL, SINCE = "_arrival", "_since"
NEW = {ARRIVAL: -1, SINCE: ALWAYS}
_TUPLES = "tuples"


class Unbounded:
    """Everything is in force when it is."""

    def __init__(self, stream: Stream, updates: Updates) -> None:
        self._updates = updates
        self._alive = updates.alive(stream.period)

    def alive(self) -> InForce:
        return self._alive

    def versions(self) -> tuple[InForce, None]:
        """Nothing depends on when an update is heard of."""
        return self._alive, None

    def feed(self, before: int | None) -> None:
        """All is known anyway."""

    def kept(self, since: int) -> tuple[pa.Table, dict[str, pa.Table], dict[str, int]]:
        """The rows that can matter from then on, and what else must be remembered."""
        rows = np.zeros(len(self._updates), np.bool_)
        rows[self._alive.row[self._alive.end >= since]] = True
        return self._updates.rows.filter(pa.array(rows)), {}, {}


class Bounded:
    """What the buffer holds is in force: an update is heard of at its own time, and whoever asks for a time before that
    is told what was held until then."""

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
        # Codes of keys are those of this step.
        key = self._updates.key[self._row_of(ints(table, "arrival"))]
        table = table.set_column(table.column_names.index("key"), "key", pa.array(key))
        numbers = {n: state.numbers[f"{self._name}_{n}"] for n in ("arrivals", "clock")}
        return Buffer.from_state(spec, State("prediction.buffer", {_TUPLES: table}, numbers))

    def _row_of(self, arrival: Ints) -> Ints:
        order = np.argsort(self._arrival, kind="stable")
        return order[np.searchsorted(self._arrival[order], arrival)]

    def alive(self) -> InForce:
        """What is in force now."""
        held = self._buffer.in_force()
        return InForce(self._row_of(held.arrival), held.start, held.end, held.end_open)

    def versions(self) -> tuple[InForce, Ints]:
        """What was in force since the last step, and of each the times at which it was so, see `Versions`: a chance
        is sought over all of them, however many steps they are cut into."""
        made = self._versions
        return InForce(self._row_of(made.arrival), made.start, made.end, made.end_open), made.known

    def feed(self, before: int | None) -> None:
        """Hear of the updates before a moment; None: of all."""
        new = self._arrival < 0
        if before is not None:
            new &= self._updates.time < before
        rows = np.flatnonzero(new)
        if not len(rows):
            return
        first, held = self._buffer.arrivals, self._buffer.in_force()
        self._arrival[rows] = first + np.arange(len(rows))
        # What says nothing is worth nothing.
        value, rate = (
            np.nan_to_num(x[rows], nan=0.0, posinf=0.0, neginf=0.0) for x in (self._updates.value, self._updates.rate)
        )
        time = self._updates.time[rows]
        changes = self._buffer.feed(time, self._updates.key[rows], value, rate).changes
        since = self._since[self._row_of(held.arrival)]
        self._versions = versions_of(held, since, changes, time[changes.at - first])
        lasts = self._versions.known[:, 1] == FOREVER
        self._since[self._row_of(self._versions.arrival[lasts])] = self._versions.known[lasts, 0]

    def kept(self, since: int) -> tuple[pa.Table, dict[str, pa.Table], dict[str, int]]:
        # What is purged must not depend on when a step ends: only updates make the buffer look.
        state = self._buffer.to_state()
        held = np.isin(self._arrival, ints(state.tables[_TUPLES], "arrival")) | (self._arrival < 0)
        rows = self._updates.rows
        for name, values in ((ARRIVAL, self._arrival), (SINCE, self._since)):
            rows = rows.set_column(rows.column_names.index(name), name, pa.array(values))
        numbers = {f"{self._name}_{n}": value for n, value in state.numbers.items()}
        return rows.filter(pa.array(held)), {f"{self._name}_{_TUPLES}": state.tables[_TUPLES]}, numbers
