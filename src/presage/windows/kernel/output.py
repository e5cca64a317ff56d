"""Result rows in, the rows that OUTPUT (ALL | LAST | FIRST) EVERY d lets out.

Intervals [k*d, (k+1)*d) of event time, aligned to the epoch. ALL: every row, when its interval ends. LAST: the last
row of each group, when its interval ends. FIRST: the first row of each group in the interval, at once. The end of
input ends the open interval; intervals without rows emit nothing. State: rows of the open interval (ALL), one for
each of its groups (LAST, FIRST).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.codes import last_of
from presage.arrays.columns import ints
from presage.arrays.equality import equality_codes, first_occurrences
from presage.arrays.jit import Bools, Ints
from presage.arrays.rows import append_rows, changes, ordinals, take_rows
from presage.errors import error
from presage.model.state import State
from presage.windows.kernel.spec import SEQ, TIME, TIMER

KERNEL = "output"


@dataclass(frozen=True)
class OutputKernel:
    """Output rate. `ordinal` names the column that numbers the rows of one step; `order` may hold the input's own."""

    mode: str  # all last first
    every: int
    group_by: tuple[str, ...]
    columns: tuple[str, ...]
    order: tuple[str, ...] = ()
    ordinal: str = "_ord2"

    def __post_init__(self) -> None:
        if self.mode not in ("all", "last", "first") or self.every <= 0:
            raise error("INTERNAL", what=f"OUTPUT {self.mode} EVERY {self.every}")

    def initial(self) -> State:
        return State(KERNEL)

    def step(self, state: State, events: pa.Table, clock: int, end: bool = False) -> tuple[State, pa.Table]:
        """Columns out: TIME, SEQ, order, `ordinal`, columns. A row that waited has its interval's end as TIME."""
        if self.mode == "first":
            return self._step_first(state, events, clock)
        kept = tuple(dict.fromkeys((TIME, *self.columns, *(self.group_by if self.mode == "last" else ()))))
        rows = append_rows(state.tables.get("open"), events.select(kept))
        interval = ints(rows, TIME) // self.every
        if self.mode == "last":
            places = np.flatnonzero(self._firsts(rows, interval, backwards=True))
            rows, interval = take_rows(rows, places), interval[places]
        # Rows come in order of time: those of ended intervals stand in front.
        ended = rows.num_rows if end else int(np.searchsorted((interval + 1) * self.every, clock, "right"))
        out, interval = rows.slice(0, ended), interval[:ended]
        place: dict[str, pa.Array] = {TIME: pa.array((interval + 1) * self.every)}
        for name, value in ((SEQ, TIMER), *((o, 0) for o in self.order)):
            place[name] = pa.array(np.full(ended, value, np.int64))
        waiting = rows.slice(ended).combine_chunks()
        return State(KERNEL, {"open": waiting}), self._emit(place, changes([interval], ended), out)

    def _step_first(self, state: State, events: pa.Table, clock: int) -> tuple[State, pa.Table]:
        names = tuple(dict.fromkeys((TIME, *self.group_by)))
        rows = append_rows(state.tables.get("seen"), events.select(names))
        carried = rows.num_rows - events.num_rows
        interval = ints(rows, TIME) // self.every
        first = self._firsts(rows, interval)
        out = take_rows(events.select([TIME, SEQ, *self.order, *self.columns]), np.flatnonzero(first[carried:]))
        place = {name: out[name] for name in (TIME, SEQ, *self.order)}
        starts = changes([ints(out, name) for name in place], out.num_rows)
        seen = take_rows(rows, np.flatnonzero(first & ((interval + 1) * self.every > clock)))
        return State(KERNEL, {"seen": seen}), self._emit(place, starts, out)

    def _firsts(self, rows: pa.Table, interval: Ints, backwards: bool = False) -> Bools:
        """The first row of each group in each interval, or the last one."""
        columns = [pa.chunked_array([pa.array(interval)]), *(rows[name] for name in self.group_by)]
        codes, count = equality_codes(columns, rows.num_rows)
        if not backwards:
            return first_occurrences(codes)
        marks = np.zeros(len(codes), np.bool_)
        marks[last_of(codes, count)] = True
        return marks

    def _emit(self, place: dict[str, pa.Array], starts: Bools, rows: pa.Table) -> pa.Table:
        return pa.table(
            {**place, self.ordinal: pa.array(ordinals(starts)), **{name: rows[name] for name in self.columns}}
        )
