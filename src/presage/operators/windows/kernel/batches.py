"""Events of a batch window come in, rows of the batches that close go out: length_batch, time_batch, groupwin of them.

State: the events of open batches; for time_batch also when the first event of each key came, from which its batches are
counted for ever; what `held_batches` keeps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.codes import first_of, last_of, paired, positions
from presage.arrays.columns import Universe, Values, bools, bools_of, ints, selected, take, unique
from presage.arrays.equality import equality_codes, first_occurrences
from presage.arrays.jit import Bools, Ints
from presage.arrays.rows import changes, ordinals
from presage.operators.windows.kernel.folding import Folding
from presage.operators.windows.kernel.formulas import evaluate
from presage.operators.windows.kernel.held_batches import (
    UNTIL,
    Closings,
    Entering,
    HeldQuery,
    closings_of_time,
    hold,
)
from presage.operators.windows.kernel.script import whole
from presage.operators.windows.kernel.sizes import size_columns, sizes_of
from presage.operators.windows.kernel.slotting import Slotting
from presage.operators.windows.kernel.spec import ORDINAL, PASS, SEQ, STATEMENT, TIME, TIMER, Aggregate, Window
from presage.operators.windows.window_types import TIME_BATCH

ORIGIN = "#origin"
HELD = "held"
Tables = dict[str, pa.Table]


@dataclass(frozen=True)
class BatchQuery:
    """What is selected from the batches of a window."""

    window: Window
    group_by: tuple[str, ...]
    grouped: bool
    aggregates: tuple[Aggregate, ...]
    carry: tuple[str, ...]
    order: tuple[str, ...]
    apart: bool = False  # what is aggregated together is in one group of the window, whatever its columns are called

    @property
    def held(self) -> HeldQuery | None:
        """Where an aggregate runs over the batches of several groups of the window."""
        groups = set(self.window.group) - {STATEMENT}
        if self.apart or not self.aggregates or groups <= set(self.group_by):
            return None
        own = [name for name in self.window.group if name == STATEMENT]
        group_by = tuple(unique([*self.group_by, *own]))
        per_group = self.grouped or not self.carry
        return HeldQuery(group_by, per_group, self.aggregates, self.carry, self.order, self.window.group)

    @property
    def arguments(self) -> list[str]:
        return [a.column for a in self.aggregates if a.column is not None]

    @property
    def kept_columns(self) -> list[str]:
        return unique([*self.window.group, *size_columns(self.window), *self.group_by, *self.arguments, *self.carry])


@dataclass(frozen=True)
class _Closing:
    """Passing events of the batches that close, batch by batch in the order in which their rows leave.

    `row` is the event's row in the universe, `batch` its batch, `moment` the step at which the batch closes (equal for
    batches that one timer closes), `place` the columns TIME, SEQ and order of the rows that this event may emit.
    """

    row: Ints
    batch: Ints
    moment: Ints
    place: list[Ints]


def step_batches(query: BatchQuery, tables: Tables, events: pa.Table, clock: int) -> tuple[Tables, pa.Table]:
    """New tables of the state, and the rows."""
    if query.window.type.retention == TIME_BATCH:
        return _step_time(query, tables, events, clock)
    return _step_length(query, tables, events)


def _step_time(query: BatchQuery, tables: Tables, events: pa.Table, clock: int) -> tuple[Tables, pa.Table]:
    key_columns = query.window.group
    passes = bools_of(events, PASS)
    universe = Universe(tables.get("open"), selected(events, passes))
    origins, held = tables.get("origins"), tables.get(HELD)
    known = 0 if origins is None else origins.num_rows

    # Keys of origins, of open events, of all new events and of held ones in one numbering; origins come first, so they
    # are 0, 1, 2 …
    parts = [t.select(key_columns) for t in (origins, tables.get("open"), events, held) if t is not None]
    every = Universe(None, pa.concat_tables(parts))
    total = known + universe.kept_rows + events.num_rows
    counted = total + (0 if held is None else held.num_rows)
    codes, keys = equality_codes([every.new.column(name) for name in key_columns], counted)
    codes, held_keys = codes[:total], codes[total:]
    first = first_of(codes, keys)
    open_times = universe.kept_ints(TIME)
    new_times = ints(events, TIME)
    times = np.concatenate([np.empty(0, np.int64) if origins is None else ints(origins, ORIGIN), open_times, new_times])
    origin = times[first]
    after = {"origins": every.table(key_columns, first, {ORIGIN: origin})}

    key = np.concatenate([codes[known : known + universe.kept_rows], codes[known + universe.kept_rows :][passes]])
    time = np.concatenate([open_times, new_times[passes]])
    size = sizes_of(query.window, universe)
    end = query.window.type.closes(time, origin[key], size)
    due = end <= clock
    after["open"] = universe.table([TIME, *query.kept_columns], np.flatnonzero(~due), {})

    row = np.flatnonzero(due)
    if key_columns:
        # Batches that close at one moment: in the order in which their keys appeared.
        row = row[np.lexsort((key[row], end[row]))]
    if query.held is not None:
        until = query.window.type.closes(end[row], origin[key[row]], size if isinstance(size, int) else size[row])
        expiring = np.concatenate([until, np.empty(0, np.int64) if held is None else ints(held, UNTIL)])
        expires = expiring <= clock
        times = np.concatenate([end[row], expiring[expires]])
        of_keys = np.concatenate([key[row], np.concatenate([key[row], held_keys])[expires]])
        closings, number = closings_of_time(times, of_keys, keys, query.order)
        entering = Entering(universe, row, number[: row.size], until)
        after[HELD], rows = hold(query.held, held, held_keys, entering, closings)
        return after, rows
    if key_columns:
        period, _ = equality_codes([pa.chunked_array([pa.array(end[row])])], row.size)
        batch, _ = paired(period, key[row], keys)
    else:
        batch = end[row]  # one window for all: its batches follow one another as the events do
    nothing = np.zeros(row.size, np.int64)
    place = [end[row], np.full(row.size, TIMER, np.int64), *(nothing for _ in query.order)]
    return after, _rows(query, universe, _Closing(row, batch, end[row], place))


def _step_length(query: BatchQuery, tables: Tables, events: pa.Table) -> tuple[Tables, pa.Table]:
    if PASS not in events.column_names:
        events = events.append_column(PASS, pa.array(np.ones(events.num_rows, np.bool_)))
    universe = Universe(tables.get("open"), events)
    size = sizes_of(query.window, universe)
    held, group = tables.get(HELD), query.window.group
    every = universe
    if held is not None:
        every = Universe(held.select(group), universe.table(group, np.arange(universe.rows), {}))
    codes, keys = every.codes(group)
    held_keys, key = np.split(codes, [every.rows - universe.rows])
    number, seen = positions(key, keys)
    complete = number // size < seen[key] // size
    # Events that do not pass are kept too while their batch is open: they count towards its size.
    after = {"open": universe.table([PASS, *query.kept_columns], np.flatnonzero(~complete), {})}

    batch, batches = paired(number // size, key, keys)
    closer = last_of(batch, batches)[batch]
    if query.held is not None:
        # Batches of which no event passes take the place of those before them, too.
        closers, closing = np.unique(closer[complete], return_inverse=True)
        event = closers - universe.kept_rows
        place = [ints(events, name)[event] for name in (TIME, SEQ, *query.order)]
        order = np.argsort(closing, kind="stable")
        order = order[bools(universe.column(PASS))[complete][order]]
        row, closing = np.flatnonzero(complete)[order], closing[order]
        entering = Entering(universe, row, closing, np.zeros(row.size, np.int64))
        closings = Closings(key[closers], keys, closers, place)
        after[HELD], rows = hold(query.held, held, held_keys, entering, closings)
        return after, rows
    row = np.flatnonzero(complete & bools(universe.column(PASS)))
    row = row[np.argsort(closer[row], kind="stable")]
    event = closer[row] - universe.kept_rows  # a batch is closed by a new event
    place = [ints(events, name)[event] for name in (TIME, SEQ, *query.order)]
    return after, _rows(query, universe, _Closing(row, batch[row], closer[row], place))


def _rows(query: BatchQuery, universe: Universe, closing: _Closing) -> pa.Table:
    count = closing.row.size
    segment = np.cumsum(changes([closing.batch], count)) - 1
    segments = int(segment[-1]) + 1 if count else 0
    if query.grouped:
        # Batches follow one another, so groups numbered as they appear are in the order in which their rows leave.
        group, groups = universe.codes(query.group_by)
        segment, segments = paired(segment, group[closing.row], groups)
    values = {name: Values(take(universe.column(name), closing.row)) for name in unique(query.arguments)}

    def is_first(name: str, argument: Values) -> Bools:
        codes, distinct = equality_codes([pa.chunked_array([argument.array])], count)
        return first_occurrences(paired(segment, codes, distinct)[0])

    engine = Folding(segment, segments, {}, False, Slotting(lambda: whole(segment, segments), {}), is_first)
    columns = [
        evaluate(a, f"#{j}", None if a.column is None else values[a.column], engine)
        for j, a in enumerate(query.aggregates)
    ]
    if query.grouped or not query.carry:
        emitting = last_of(segment, segments)
    else:
        emitting = np.arange(count)
        columns = [take(c, segment) for c in columns]
    moment = closing.moment[emitting]
    return pa.Table.from_arrays(
        [
            *(pa.array(p[emitting]) for p in closing.place),
            pa.array(ordinals(changes([moment], moment.size))),
            *(take(universe.column(name), closing.row[emitting]) for name in query.carry),
            *columns,
        ],
        names=[TIME, SEQ, *query.order, ORDINAL, *query.carry, *(a.output for a in query.aggregates)],
    )
