"""The kernel of the output rate: OUTPUT (ALL | LAST | FIRST) EVERY d.

Intervals [k*d, (k+1)*d) of event time, aligned to the epoch. ALL: every row, when its interval ends. LAST: the last
row of each group, when its interval ends. FIRST: the first row of each group in the interval, at once. The end of
input ends the open interval; intervals without rows emit nothing. Without an interval (`every` is 0), LAST emits once,
at the end of input, with the time of the watermark. If the end of input has itself emitted rows of that
interval, the rows of the interval are marked as rows of the end. State: rows of the open interval (ALL), one for each
of its groups (LAST, FIRST).
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
from presage.model.operator_state import State
from presage.operators.windows.kernel.spec import ENDED, SEQ, TIME, TIMER

KERNEL = "output"
BEFORE = -(2**63)
OVER = "over"  # the last interval with a row of the end of input


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
        if self.mode not in ("all", "last", "first") or self.every < 0 or (not self.every and self.mode != "last"):
            raise error("INTERNAL", what=f"OUTPUT {self.mode} EVERY {self.every}")

    def initial(self) -> State:
        return State(KERNEL)

    def step(self, state: State, events: pa.Table, clock: int, end: bool = False) -> tuple[State, pa.Table]:
        """Emits TIME, SEQ, order, `ordinal`, columns. A row that waited has the end of its interval as TIME.

        An interval that the end of input cuts short, with rows of the end in it, has the time of its last row: a bound
        of the query may lie before the end of the interval.
        """
        if self.mode == "first":
            return self._step_first(state, events, clock)
        kept = tuple(dict.fromkeys((TIME, *self.columns, *(self.group_by if self.mode == "last" else ()))))
        rows = append_rows(state.tables.get("open"), events.select(kept))
        if not self.every:
            return self._step_once(rows, clock, end)
        time = ints(rows, TIME)
        interval = time // self.every
        over = int(max(state.numbers.get(OVER, BEFORE), self._ended(events)))
        if self.mode == "last":
            places = np.flatnonzero(self._firsts(rows, interval, backwards=True))
            rows, time, interval = take_rows(rows, places), time[places], interval[places]
        # Rows are in order of time: those of ended intervals come first.
        past = int(np.searchsorted((interval + 1) * self.every, clock, "right"))
        ended = rows.num_rows if end else past
        out, interval = rows.slice(0, ended), interval[:ended]
        short = (interval == over) & (np.arange(ended) >= past)
        leaves = np.where(short, time[-1] if len(time) else 0, (interval + 1) * self.every)
        place: dict[str, pa.Array] = {TIME: pa.array(leaves), SEQ: pa.array(np.where(short, ENDED, TIMER))}
        for name in self.order:
            place[name] = pa.array(np.zeros(ended, np.int64))
        after = State(KERNEL, {"open": rows.slice(ended).combine_chunks()})
        if over > BEFORE and not end:
            after.numbers[OVER] = over
        return after, self._emit(place, changes([interval], ended), out)

    def _step_once(self, rows: pa.Table, clock: int, end: bool) -> tuple[State, pa.Table]:
        places = np.flatnonzero(self._firsts(rows, np.zeros(rows.num_rows, np.int64), backwards=True))
        last = take_rows(rows, places)
        out = last if end else last.slice(0, 0)
        # Rows of a stream with a time of its own may be ahead of the last event, also those of earlier steps.
        time = int(ints(last, TIME).max(initial=clock))
        place = {TIME: time, SEQ: ENDED, **dict.fromkeys(self.order, 0)}
        columns = {name: pa.array(np.full(out.num_rows, value, np.int64)) for name, value in place.items()}
        starts = np.arange(out.num_rows) == 0
        return State(KERNEL, {"open": last.slice(out.num_rows)}), self._emit(columns, starts, out)

    def _ended(self, events: pa.Table) -> int:
        """The last interval with a row of the end of input."""
        times = ints(events, TIME)[ints(events, SEQ) == ENDED]
        return int(times[-1]) // self.every if len(times) else BEFORE

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
