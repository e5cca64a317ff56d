"""Kernels that buffer rows until the watermark passes them: rows ahead of it, and rows with a time of their own.

The step driver uses them between operators. Like every kernel they give the same rows however the input is cut into
steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.model.operator_state import State
from presage.plan.nodes import TIME

NOTHING_KNOWN = -(2**62)  # the watermark before any event


@dataclass(frozen=True)
class HoldKernel:
    """Emits rows once the watermark has reached their time. Input may be ahead of the watermark, never behind it."""

    def initial(self) -> State:
        return State("hold")

    def step(self, state: State, events: pa.Table, watermark: int, end: bool = False) -> tuple[State, pa.Table]:
        rows = _after(state.tables.get("held"), events)
        if end:
            return State("hold"), rows
        due = rows[TIME].to_numpy() <= watermark
        if due.all():
            return State("hold"), rows
        return State("hold", {"held": rows.filter(pa.array(~due)).combine_chunks()}), rows.filter(pa.array(due))


@dataclass(frozen=True)
class RetimeKernel:
    """Turns rows of a statement, in the order of emission, into events at the time in `column`.

    A row more than `max_delay` before the greatest time so far is late and dropped; a row without a time is dropped.
    The others are buffered up to the watermark, which `watermark_of` reads from the state.
    """

    column: str
    max_delay: int
    renamed: tuple[tuple[str, str], ...]  # order columns: name before, name after

    def initial(self) -> State:
        return State("retime", numbers={"greatest": NOTHING_KNOWN})

    def watermark_of(self, state: State) -> int:
        greatest = state.numbers["greatest"]
        return greatest if greatest == NOTHING_KNOWN else greatest - self.max_delay

    def step(self, state: State, events: pa.Table, watermark: int, end: bool = False) -> tuple[State, pa.Table]:
        events = events.filter(events[self.column].is_valid())
        times = events[self.column].cast(pa.int64()).to_numpy()
        before = np.empty(len(times), np.int64)
        greatest = state.numbers["greatest"]
        if len(times):
            reached = np.maximum(np.maximum.accumulate(times), greatest)
            before[0], before[1:] = greatest, reached[:-1]
            greatest = int(reached[-1])
        in_time = (before == NOTHING_KNOWN) | (times >= before - self.max_delay)
        made = _renamed(events, self.renamed)
        made = made.set_column(made.schema.get_field_index(TIME), TIME, pa.array(times, pa.int64()))
        rows = _after(state.tables.get("held"), made.filter(pa.array(in_time)))
        numbers = {"greatest": greatest}
        if end:
            return State("retime", numbers=numbers), rows
        due = pa.array(rows[TIME].to_numpy() <= self.watermark_of(State("retime", numbers=numbers)))
        held = rows.filter(pa.array(~due.to_numpy(zero_copy_only=False))).combine_chunks()
        return State("retime", {"held": held}, numbers), rows.filter(due)


def _renamed(table: pa.Table, pairs: tuple[tuple[str, str], ...]) -> pa.Table:
    """The table with renamed order columns; the time of emission becomes one of them."""
    columns = {new: table[old] for old, new in pairs}
    kept = {name: table[name] for name in table.column_names if name not in columns}
    return pa.table({**kept, **columns})


def _after(held: pa.Table | None, rows: pa.Table) -> pa.Table:
    if held is None or held.num_rows == 0:
        return rows
    return pa.concat_tables([held.select(rows.column_names).cast(rows.schema), rows])
