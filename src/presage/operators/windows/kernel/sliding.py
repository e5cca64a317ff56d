"""The step of a sliding window: one row for each event.

A sliding window (and groupwin of it) is one of two: the events of the last `size` microseconds, or the last `size`
events of each key. `place` is an event's time, or its number among the events of its key; an event leaves when one
arrives whose place is `size` further on. State: the live events that pass WHERE, with their place, whether they are on
the front stack, and their slots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.codes import grouped_order, grouped_rank, positions
from presage.arrays.columns import Universe, bools_of, ints, selected, unique
from presage.arrays.jit import Bools, Ints
from presage.operators.windows.kernel.engine import Engine, aggregate_columns
from presage.operators.windows.kernel.fifo import Runs, fifo_heads
from presage.operators.windows.kernel.fifo_engine import FifoEngine
from presage.operators.windows.kernel.script import arrivals, leave_by_key, leave_by_place
from presage.operators.windows.kernel.slot_engine import SlotEngine, kept_slots
from presage.operators.windows.kernel.spec import PASS, TIME, Aggregate, Window

PLACE = "#place"
FRONT = "#front"
EARLIEST = -(1 << 62)  # a watermark before all events, from which any size can be subtracted


def leaves_in_order(window: Window, group_by: tuple[str, ...]) -> bool:
    """Whether the events of one aggregation group leave in order of arrival."""
    return set(window.key) <= set(group_by)


@dataclass(frozen=True)
class _Places:
    """Of each row its place and key; for each key the place that its events have reached."""

    place: Ints
    key: Ints
    reached: Ints
    leave: Callable[[], Ints]  # for each row, the new row before which it leaves

    def staying(self, size: int | Ints) -> Ints:
        return np.flatnonzero(self.place > self.reached[self.key] - size)


@dataclass(frozen=True)
class Slid:
    """The result of a step. Its rows are those of the given state, then the new ones that pass WHERE."""

    universe: Universe
    names: tuple[str, ...]  # columns of an event in the state
    stay: Ints  # rows that are in the window after the step
    positions: Callable[[Ints], dict[str, np.ndarray]]  # further columns of the state, for some rows
    columns: list[pa.Array]  # of the aggregates, for the new rows
    engine: Engine  # held so that its memory is freed with the rest: allocating it again for each step is slow

    def table(self) -> pa.Table:
        """The rows that stay, as they are in the state."""
        return self.universe.table(self.names, self.stay, self.positions(self.stay))


def slide(
    window: Window,
    group_by: tuple[str, ...],
    aggregates: tuple[Aggregate, ...],
    live: pa.Table | None,
    events: pa.Table,
    clock: int,
) -> Slid:
    """One step over the given live events."""
    passes = bools_of(events, PASS)
    universe = Universe(live, selected(events, passes))
    size = window.sizes_of(universe)
    kept = universe.kept_rows
    if window.type.time_only:
        places = _by_time(window, universe, size, clock)
    else:
        # If all events pass, they are coded once.
        everything = universe if universe.new is events else Universe(live, events)
        places = _by_number(window.key, everything, passes, size)
    group, groups = universe.codes(group_by)
    slots = SlotEngine(
        lambda: arrivals(group, groups, kept, places.leave()),
        kept_slots(universe, live),
    )
    engine: Engine = slots
    rank = ends = np.zeros(0, np.int64)
    queued = leaves_in_order(window, group_by)
    if queued:
        rank, start = grouped_rank(group, groups)
        fresh = start[:-1] + np.bincount(group[:kept], minlength=groups)
        split = start[:-1] + np.bincount(group[:kept][universe.kept_ints(FRONT) > 0], minlength=groups)
        head, ends = fifo_heads(places.place, places.place - size, rank, start, fresh, split)
        engine = FifoEngine(Runs(rank, head, start, fresh, split, kept), slots)
    columns = aggregate_columns(aggregates, universe.values, engine)

    def positions_of(rows: Ints) -> dict[str, np.ndarray]:
        place = places.place[rows]
        if not window.type.time_only:
            # Counted back from the next event of the key: keys without live events need no counter.
            place = place - places.reached[places.key[rows]] - 1
        front = rank[rows] < ends[group[rows]] if queued else np.zeros(rows.size, np.bool_)
        return {PLACE: place, FRONT: front, **{name: slot[rows] for name, slot in slots.slots.items()}}

    names = kept_columns(window, group_by, aggregates)
    return Slid(universe, names, places.staying(size), positions_of, columns, engine)


def kept_columns(window: Window, group_by: tuple[str, ...], aggregates: tuple[Aggregate, ...]) -> tuple[str, ...]:
    """Columns of an event in the state."""
    arguments = (a.column for a in aggregates if a.column is not None)
    return tuple(unique([*group_by, *window.key, *window.size_columns, *arguments]))


def _by_time(window: Window, universe: Universe, size: int | Ints, clock: int) -> _Places:
    place = np.concatenate([universe.kept_ints(PLACE), window.type.place(ints(universe.new, TIME))])
    kept = universe.kept_rows
    return _Places(
        place,
        np.zeros(universe.rows, np.int64),
        np.array([window.type.place(max(clock, EARLIEST))]),
        lambda: leave_by_place(place, size, kept),
    )


def _by_number(key_columns: tuple[str, ...], everything: Universe, passes: Bools, size: int | Ints) -> _Places:
    """`everything` includes the events that do not pass WHERE: they too take places in the window."""
    codes, keys = everything.codes(key_columns)
    kept = everything.kept_rows
    number, seen = positions(codes[kept:], keys)
    place = np.concatenate([everything.kept_ints(PLACE), number[passes]])
    key = np.concatenate([codes[:kept], codes[kept:][passes]])

    def leave() -> Ints:
        order, start = grouped_order(codes[kept:], keys)
        passed_before = np.concatenate([np.zeros(1, np.int64), np.cumsum(passes)])
        return leave_by_key(place, key, size, order, start, passed_before)

    return _Places(place, key, seen - 1, leave)
