"""The state of a sliding window: stepped as a whole, or only the live rows that new events touch.

Events affect each other only within one aggregation group and one key of the window. If the state is large compared to
the new events, the rows that equal one of these in the columns that group and key share are taken out and stepped; the
others stay where they are. Rows are found by marks (see `key_marks`), which are held in memory from step to step and
not stored. A row that has left may remain for a while, with the place GONE.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.columns import bools_of, column, ints
from presage.arrays.columns import taken as taken_column
from presage.arrays.jit import Bools, Ints
from presage.arrays.key_marks import Marks, marks_of, rows_with
from presage.model.operator_state import Since, State
from presage.operators.windows.kernel.pieces import gathered, pieces_of, taken, thinned
from presage.operators.windows.kernel.sliding import EARLIEST, PLACE, Slid, kept_columns, slide
from presage.operators.windows.kernel.spec import PASS, Aggregate, Window

LIVE = "live"
GONE = EARLIEST
# A smaller state, or one that is fewer times as large as the new events, is stepped as a whole.
LEAST_ROWS = 50_000
LEAST_TIMES = 8
# If more than this share of the rows is touched, stepping all of them is faster.
MOST_TOUCHED = 0.5
# Changes of a smaller state are not recorded.
LEAST_RECORDED = 512


@dataclass(frozen=True)
class Marked:
    """Marks of the live rows, by some columns."""

    by: tuple[str, ...]
    marks: Marks


@dataclass(frozen=True)
class Sliding:
    """Aggregates over a sliding window. `partition`: see AggregateKernel."""

    window: Window
    group_by: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    partition: tuple[str, ...] = ()

    @property
    def shared(self) -> tuple[str, ...]:
        """Events that differ in one of these columns never affect each other."""
        if self.window.type.time_only:
            return self.group_by
        key = self.window.key
        return tuple(name for name in self.group_by if name in key or name in self.partition)

    def step(self, state: State, events: pa.Table, clock: int) -> tuple[State, Slid]:
        live, by = state.tables.get(LIVE), self.shared
        if live is None or not by or live.num_rows < max(LEAST_ROWS, LEAST_TIMES * events.num_rows, 1):
            return self._step_whole(state, events, clock)
        memo = state.memo
        marks = memo.marks if isinstance(memo, Marked) and memo.by == by else _marks(live, by)
        arriving = _marks(events, by)
        rows = rows_with(marks, arriving)
        new = arriving[bools_of(events, PASS)]
        if rows.size <= MOST_TOUCHED * live.num_rows:
            return self._step_touched(state, events, clock, rows, Marked(by, marks), new)
        after, slid = self._step_whole(state, events, clock)
        kept = marks if slid.universe.kept_rows == live.num_rows else marks[ints(live, PLACE) != GONE]
        after.memo = Marked(by, np.concatenate([kept, new])[_as_slice(slid.stay)])
        return after, slid

    def _slide(self, live: pa.Table | None, events: pa.Table, clock: int) -> Slid:
        return slide(self.window, self.group_by, self.aggregates, live, events, clock)

    def _step_whole(self, state: State, events: pa.Table, clock: int) -> tuple[State, Slid]:
        live = state.tables.get(LIVE)
        if live is None:
            slid = self._slide(None, events, clock)
            return State(state.kernel, {LIVE: slid.table()}), slid
        there = ints(live, PLACE) != GONE
        all_there = bool(there.all())
        slid = self._slide(live if all_there else live.filter(pa.array(there)), events, clock)
        table = slid.table()
        after = State(state.kernel, {LIVE: table})
        if live.num_rows >= LEAST_RECORDED:
            stayed = slid.stay[: np.searchsorted(slid.stay, slid.universe.kept_rows)]
            kept = np.zeros(live.num_rows, np.bool_)
            kept[_as_slice(stayed if all_there else np.flatnonzero(there)[stayed])] = True
            positions = {name: None for name in table.column_names if name not in slid.names}
            after.since = Since(weakref.ref(state), {LIVE: kept}, {LIVE: positions})
        return after, slid

    def _step_touched(
        self, state: State, events: pa.Table, clock: int, rows: Ints, marked: Marked, new: Marks
    ) -> tuple[State, Slid]:
        """`rows` are the touched ones, `new` the marks of the events that pass WHERE."""
        live = state.tables[LIVE]
        rows = rows[ints(live, PLACE)[rows] != GONE]
        data = live.select(kept_columns(self.window, self.group_by, self.aggregates))
        positions = {name: _values(live, name) for name in live.column_names if name not in data.column_names}
        pieces = pieces_of(data)
        part = taken(pieces, data.schema, rows)
        for name, values in positions.items():
            part = part.append_column(name, pa.array(values[rows]))
        slid = self._slide(part, events, clock)

        left = np.ones(rows.size, np.bool_)
        left[slid.stay[slid.stay < rows.size]] = False
        now = slid.positions(np.arange(rows.size))
        now[PLACE] = np.where(left, GONE, now[PLACE])
        came = slid.stay[slid.stay >= rows.size]
        pieces, there = thinned(pieces, self._left(live, positions[PLACE], rows[left], clock))
        if came.size:
            pieces.append(_piece(slid, came - rows.size, data.schema))
        data = pa.Table.from_batches(gathered(pieces), data.schema)
        changed = {name: there[rows] & (positions[name][rows] != values) for name, values in now.items()}
        places = _places_after(there, rows)
        for name, values in slid.positions(came).items():
            positions[name] = np.concatenate([positions[name][there], values])
            positions[name][places[changed[name]]] = now[name][changed[name]]
        table = pa.table(
            [data[n] if n in slid.names else pa.array(positions[n]) for n in live.column_names], live.schema
        )
        after = State(state.kernel, {LIVE: table})
        after.memo = Marked(marked.by, np.concatenate([marked.marks[there], new[came - rows.size]]))
        after.since = Since(weakref.ref(state), {LIVE: there}, {LIVE: _numbered(changed, places)})
        return after, slid

    def _left(self, live: pa.Table, place: Ints, now: Ints, clock: int) -> Bools:
        """Rows that have left, `now` or before. Rows of a time window leave without being touched, too."""
        if self.window.type.time_only:
            size = ints(live, self.window.sizes) if self.window.sizes else self.window.size
            return np.asarray(place <= self.window.type.place(max(clock, EARLIEST)) - size)
        left: Bools = place == GONE
        left[now] = True
        return left


def _marks(table: pa.Table, by: tuple[str, ...]) -> Marks:
    return marks_of([table.column(name) for name in by], table.num_rows)


def _values(table: pa.Table, name: str) -> np.ndarray:
    """A column of positions: of numbers, or of truth values."""
    return np.asarray(column(table, name).to_numpy(zero_copy_only=False))


def _piece(slid: Slid, new: Ints, schema: pa.Schema) -> pa.RecordBatch:
    """Some of the new rows, as they are in the state."""
    arrays = [taken_column(slid.universe.new, field.name, new) for field in schema]
    return pa.RecordBatch.from_arrays([a.cast(f.type) for a, f in zip(arrays, schema, strict=True)], schema=schema)


def _as_slice(rows: Ints) -> Ints | slice:
    """Ascending rows, as a slice if they are contiguous, which is much cheaper: in time windows they are."""
    if rows.size and rows[-1] - rows[0] == rows.size - 1:
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def _places_after(there: Bools, rows: Ints) -> Ints:
    """The places of rows that are still there, after others are removed."""
    gone = np.flatnonzero(~there)
    if not gone.size or gone[-1] == gone.size - 1:
        return rows - gone.size
    return rows - np.searchsorted(gone, rows)


def _numbered(changed: Mapping[str, Bools], places: Ints) -> dict[str, Ints]:
    found = {name: places[mask] for name, mask in changed.items()}
    return {name: rows for name, rows in found.items() if rows.size}
