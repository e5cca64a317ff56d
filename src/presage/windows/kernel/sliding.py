"""Events of a window that they leave again come in, one row for each goes out: time, length, unique, lastevent.

All of them (and groupwin of them) are one of two: the events of the last `size` microseconds, or the last `size` events
of each key. `place` is an event's time, or its number among the events of its key; an event leaves when one comes whose
place is `size` further on. State: the live events that pass WHERE, with their place, which of them are on the front
stack, and their slots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.codes import grouped_order, grouped_rank, positions
from presage.arrays.columns import Universe, bools_of, ints, selected
from presage.arrays.jit import Bools, Ints
from presage.windows.kernel.engine import Engine
from presage.windows.kernel.fifo import fifo_heads
from presage.windows.kernel.formulas import evaluate
from presage.windows.kernel.queueing import Queueing
from presage.windows.kernel.script import arrivals, leave_by_key, leave_by_place
from presage.windows.kernel.sizes import size_columns, sizes_of
from presage.windows.kernel.slotting import SLOT, Slotting
from presage.windows.kernel.spec import PASS, TIME, Aggregate, Window

PLACE = "#place"
FRONT = "#front"
EARLIEST = -(1 << 62)  # a clock before all events, from which any size can be subtracted
Tables = dict[str, pa.Table]


def window_key(window: Window) -> tuple[str, ...]:
    """Columns whose values have a window each. Time windows need none: an event's time to leave is its own."""
    if window.kind == "time":
        return ()
    return (*window.group, *window.by) if window.kind == "unique" else window.group


def leaves_in_order(window: Window, group_by: tuple[str, ...]) -> bool:
    """Whether the events of one aggregation group leave in order of arrival."""
    return set(window_key(window)) <= set(group_by)


@dataclass(frozen=True)
class _Places:
    """Of each row its place and key; for each key the place up to which its events have come."""

    place: Ints
    key: Ints
    reached: Ints
    leave: Callable[[], Ints]  # for each row, the new row before which it leaves

    def staying(self, size: int | Ints) -> Ints:
        return np.flatnonzero(self.place > self.reached[self.key] - size)


def step_sliding(
    window: Window,
    group_by: tuple[str, ...],
    aggregates: tuple[Aggregate, ...],
    tables: Tables,
    events: pa.Table,
    clock: int,
) -> tuple[Tables, pa.Table, list[pa.Array]]:
    """New tables of the state, the events that emit a row, and the columns of the aggregates."""
    live = tables.get("live")
    passes = bools_of(events, PASS)
    universe = Universe(live, selected(events, passes))
    size = sizes_of(window, universe)
    kept = universe.kept_rows
    if window.kind == "time":
        places = _by_time(universe, size, clock)
    else:
        # Where all events pass, they are coded once.
        everything = universe if universe.new is events else Universe(live, events)
        places = _by_number(window_key(window), everything, passes, size)
    group, groups = universe.codes(group_by)
    slotting = Slotting(
        lambda: arrivals(group, groups, kept, places.leave()),
        {name: universe.kept_ints(name) for name in (live.column_names if live else ()) if name.startswith(SLOT)},
    )
    engine: Engine = slotting
    stay = places.staying(size)
    front = np.zeros(stay.size, np.bool_)
    if leaves_in_order(window, group_by):
        rank, start = grouped_rank(group, groups)
        fresh = start[:-1] + np.bincount(group[:kept], minlength=groups)
        split = start[:-1] + np.bincount(group[:kept][universe.kept_ints(FRONT) > 0], minlength=groups)
        head, ends = fifo_heads(places.place, places.place - size, rank, start, fresh, split)
        engine = Queueing(rank, head, start, fresh, split, kept, slotting)
        front = rank[stay] < ends[group[stay]]
    columns = [
        evaluate(a, f"#{j}", None if a.column is None else universe.values(a.column), engine)
        for j, a in enumerate(aggregates)
    ]

    names = [
        *group_by,
        *window_key(window),
        *size_columns(window),
        *(a.column for a in aggregates if a.column is not None),
    ]
    place = places.place[stay]
    if window.kind != "time":
        # Numbers count back from the next event of the key, so that no counter is kept for keys without live events.
        place = place - places.reached[places.key[stay]] - 1
    slots = {name: values[stay] for name, values in slotting.slots.items()}
    after = universe.table(names, stay, {PLACE: place, FRONT: front, **slots})
    return {"live": after}, universe.new, columns


def _by_time(universe: Universe, size: int | Ints, clock: int) -> _Places:
    place = np.concatenate([universe.kept_ints(PLACE), ints(universe.new, TIME)])
    kept = universe.kept_rows
    return _Places(
        place,
        np.zeros(universe.rows, np.int64),
        np.array([max(clock, EARLIEST)]),
        lambda: leave_by_place(place, size, kept),
    )


def _by_number(key_columns: tuple[str, ...], everything: Universe, passes: Bools, size: int | Ints) -> _Places:
    """`everything` has also the events that do not pass WHERE: they take places in the window like others."""
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
