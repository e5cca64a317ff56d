"""The step of a batch window (and groupwin of it): rows of the batches that close.

State: the events of open batches; of batches that a timer closes also the time of each key's first event, from which
its batches are counted for ever; the batches that are held.

`#groupwin(k)#length_batch(2)` holds one closed batch for each k. When a batch closes it replaces the one before it, an
empty one too (a span of `#time_batch` without events), and aggregates run over all batches that are held then. Their
events are kept with the time until which they are held, and their slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from presage.arrays.codes import first_of, last_of, paired, positions
from presage.arrays.columns import Universe, Values, bools, bools_of, ints, selected, take, unique
from presage.arrays.equality import equality_codes, first_occurrences
from presage.arrays.fold_engine import FoldEngine
from presage.arrays.jit import Bools, Ints
from presage.arrays.rows import changes, ordinals
from presage.operators.windows.kernel.engine import aggregate_columns
from presage.operators.windows.kernel.script import Script, whole
from presage.operators.windows.kernel.slot_engine import SlotEngine, kept_slots
from presage.operators.windows.kernel.slots import script_total
from presage.operators.windows.kernel.spec import ORDINAL, PASS, SEQ, STATEMENT, TIME, TIMER, Aggregate, Window
from presage.operators.windows.window_types import START, TIME_BATCH

ORIGIN = "#origin"
HELD = "held"
UNTIL = "#until"
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
    def held(self) -> BatchQuery | None:
        """The query over the batches that are held, if an aggregate or a group covers several groups of the window."""
        groups = set(self.window.group) - {STATEMENT}
        if self.apart or not (self.aggregates or self.grouped) or groups <= set(self.group_by):
            return None
        own = [name for name in self.window.group if name == STATEMENT]
        return replace(self, group_by=tuple(unique([*self.group_by, *own])))

    @property
    def per_group(self) -> bool:
        """Whether a row is for each group, and not for each event."""
        return self.grouped or not self.carry

    @property
    def arguments(self) -> list[str]:
        return [a.column for a in self.aggregates if a.column is not None]

    @property
    def kept_columns(self) -> list[str]:
        window = self.window
        carried = [name for name in self.carry if name != START]
        return unique([*window.key, *window.size_columns, *self.group_by, *self.arguments, *carried])

    def rows(
        self,
        place: Sequence[Ints],
        moment: Ints,
        carried: Universe,
        at: Ints,
        columns: list[pa.Array],
        start: Ints | None = None,
    ) -> pa.Table:
        """Rows in order: their TIME, SEQ and order columns, the moment of each, and the event that it carries."""
        return pa.Table.from_arrays(
            [
                *map(pa.array, place),
                pa.array(ordinals(changes([moment], moment.size))),
                *(pa.array(start) if name == START else take(carried.column(name), at) for name in self.carry),
                *columns,
            ],
            names=[TIME, SEQ, *self.order, ORDINAL, *self.carry, *(a.output for a in self.aggregates)],
        )


@dataclass(frozen=True)
class Closing:
    """Passing events of the batches that close, batch by batch in the order in which their rows are emitted.

    `row` is the event's row in the universe, `batch` its batch, `moment` the step at which the batch closes (equal for
    batches that one timer closes), `place` the columns TIME, SEQ and order of the rows that this event may emit,
    `start` the start of its session.
    """

    row: Ints
    batch: Ints
    moment: Ints
    place: list[Ints]
    start: Ints | None = None


@dataclass(frozen=True)
class _Closings:
    """Batches that close, in order: the window's group of each (of `keys`), the moment (equal for those that one timer
    closes) and the columns TIME, SEQ and order of the rows that it emits."""

    key: Ints
    keys: int
    moment: Ints
    place: list[Ints]


@dataclass(frozen=True)
class _Entering:
    """Events of the batches that close: `rows` of a table in the order of their batches, the number of the closing of
    each, and until when its batch is held."""

    events: Universe
    rows: Ints
    closing: Ints
    until: Ints


def step_batches(query: BatchQuery, tables: Tables, events: pa.Table, clock: int) -> tuple[Tables, pa.Table]:
    """The next tables of the state, and the rows."""
    if query.window.type.retention == TIME_BATCH:
        return _step_time(query, tables, events, clock)
    return _step_length(query, tables, events)


def _step_time(query: BatchQuery, tables: Tables, events: pa.Table, clock: int) -> tuple[Tables, pa.Table]:
    key_columns = query.window.group
    passes = bools_of(events, PASS)
    universe = Universe(tables.get("open"), selected(events, passes))
    origins, held = tables.get("origins"), tables.get(HELD)
    known = 0 if origins is None else origins.num_rows

    # One numbering for the keys of origins, open events, all new events and held ones; those of origins are 0, 1, 2 …
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
    after = {}
    if query.window.type.has_bounds:
        origin = np.full(max(keys, 1), query.window.offset)
    else:
        after["origins"] = every.table(key_columns, first, {ORIGIN: origin})

    key = np.concatenate([codes[known : known + universe.kept_rows], codes[known + universe.kept_rows :][passes]])
    time = np.concatenate([open_times, new_times[passes]])
    size = query.window.sizes_of(universe)
    end = query.window.type.closes(time, origin[key], size)
    due = end <= clock
    after["open"] = universe.table([TIME, *query.kept_columns], np.flatnonzero(~due), {})

    row = np.flatnonzero(due)
    if key_columns:
        # Batches that close at one moment are in the order in which their keys appeared.
        row = row[np.lexsort((key[row], end[row]))]
    if query.held is not None:
        until = query.window.type.closes(end[row], origin[key[row]], size if isinstance(size, int) else size[row])
        expiring = np.concatenate([until, np.empty(0, np.int64) if held is None else ints(held, UNTIL)])
        expires = expiring <= clock
        times = np.concatenate([end[row], expiring[expires]])
        of_keys = np.concatenate([key[row], np.concatenate([key[row], held_keys])[expires]])
        closings, number = _closings_of_time(times, of_keys, keys, query.order)
        entering = _Entering(universe, row, number[: row.size], until)
        after[HELD], rows = _hold(query.held, held, held_keys, entering, closings)
        return after, rows
    if key_columns:
        period, _ = equality_codes([pa.chunked_array([pa.array(end[row])])], row.size)
        batch, _ = paired(period, key[row], keys)
    else:
        batch = end[row]  # one window for all: its batches are in the order of the events
    nothing = np.zeros(row.size, np.int64)
    place = [end[row], np.full(row.size, TIMER, np.int64), *(nothing for _ in query.order)]
    return after, closed_rows(query, universe, Closing(row, batch, end[row], place))


def _step_length(query: BatchQuery, tables: Tables, events: pa.Table) -> tuple[Tables, pa.Table]:
    if PASS not in events.column_names:
        events = events.append_column(PASS, pa.array(np.ones(events.num_rows, np.bool_)))
    universe = Universe(tables.get("open"), events)
    size = query.window.sizes_of(universe)
    held, group = tables.get(HELD), query.window.group
    every = universe
    if held is not None:
        every = Universe(held.select(group), universe.table(group, np.arange(universe.rows), {}))
    codes, keys = every.codes(group)
    held_keys, key = np.split(codes, [every.rows - universe.rows])
    number, seen = positions(key, keys)
    complete = number // size < seen[key] // size
    # Events that do not pass stay while their batch is open, too: they count towards its size.
    after = {"open": universe.table([PASS, *query.kept_columns], np.flatnonzero(~complete), {})}

    batch, batches = paired(number // size, key, keys)
    closer = last_of(batch, batches)[batch]
    if query.held is not None:
        # Batches of which no event passes replace those before them, too.
        closers, closing = np.unique(closer[complete], return_inverse=True)
        event = closers - universe.kept_rows
        place = [ints(events, name)[event] for name in (TIME, SEQ, *query.order)]
        order = np.argsort(closing, kind="stable")
        order = order[bools(universe.column(PASS))[complete][order]]
        row, closing = np.flatnonzero(complete)[order], closing[order]
        entering = _Entering(universe, row, closing, np.zeros(row.size, np.int64))
        closings = _Closings(key[closers], keys, closers, place)
        after[HELD], rows = _hold(query.held, held, held_keys, entering, closings)
        return after, rows
    row = np.flatnonzero(complete & bools(universe.column(PASS)))
    row = row[np.argsort(closer[row], kind="stable")]
    event = closer[row] - universe.kept_rows  # a batch is closed by a new event
    place = [ints(events, name)[event] for name in (TIME, SEQ, *query.order)]
    return after, closed_rows(query, universe, Closing(row, batch[row], closer[row], place))


def closed_rows(query: BatchQuery, universe: Universe, closing: Closing) -> pa.Table:
    """The rows of batches that close."""
    count = closing.row.size
    segment = np.cumsum(changes([closing.batch], count)) - 1
    segments = int(segment[-1]) + 1 if count else 0
    if query.grouped:
        # Batches are in order, so groups numbered as they appear are in the order in which their rows are emitted.
        group, groups = universe.codes(query.group_by)
        segment, segments = paired(segment, group[closing.row], groups)
    values = {name: Values(take(universe.column(name), closing.row)) for name in unique(query.arguments)}

    def is_first(name: str, argument: Values) -> Bools:
        codes, distinct = equality_codes([pa.chunked_array([argument.array])], count)
        return first_occurrences(paired(segment, codes, distinct)[0])

    engine = FoldEngine(segment, segments, {}, False, SlotEngine(lambda: whole(segment, segments), {}), is_first)
    columns = aggregate_columns(query.aggregates, values.__getitem__, engine)
    if query.per_group:
        emitting = last_of(segment, segments)
    else:
        emitting = np.arange(count)
        columns = [take(c, segment) for c in columns]
    place = [p[emitting] for p in closing.place]
    start = None if closing.start is None else closing.start[emitting]
    return query.rows(place, closing.moment[emitting], universe, closing.row[emitting], columns, start)


def _hold(
    query: BatchQuery, held: pa.Table | None, held_keys: Ints, entering: _Entering, closings: _Closings
) -> tuple[pa.Table, pa.Table]:
    """The events that are held after the closings, and the rows: one for each group that a closing changes, or one for
    each event that enters. `query.group_by` divides the aggregates."""
    names = unique([*query.window.group, *query.group_by, *query.arguments, *query.carry])
    elements = Universe(held, entering.events.table(names, entering.rows, {}))
    kept, count = elements.kept_rows, closings.key.size
    first, following = _next_of_key(closings.key, closings.keys)
    leave = np.concatenate([first[held_keys], following[entering.closing]])
    group, groups = elements.codes(query.group_by)

    gone = np.flatnonzero(leave < count)
    new = np.arange(kept, elements.rows)
    # Elements leave before others enter.
    at = np.concatenate([leave[gone], entering.closing])
    enters = np.repeat([0, 1], [gone.size, new.size])
    element = np.concatenate([gone, new])
    order = np.lexsort((element, enters, at))
    ops = np.concatenate([np.arange(kept), np.where(enters > 0, element, ~element)[order]])
    done = kept + np.cumsum(np.bincount(at, minlength=count))
    if query.per_group:
        # Groups that gain an event come before those that only lose some, each as it appears.
        touching = np.lexsort((element, 1 - enters, at))
        pair, pairs = paired(at[touching], group[element[touching]], groups)
        emitting = touching[first_of(pair, pairs)]
        closing, emit_group = at[emitting], group[element[emitting]]
        changed = Script(ops, kept, group, groups, done[closing], emit_group)
        live = script_total(changed, np.ones(elements.rows, np.int64)) > 0
        closing, emit_group = closing[live], emit_group[live]
    else:
        closing, emit_group = entering.closing, group[kept:]
    script = Script(ops, kept, group, groups, done[closing], emit_group)
    engine = SlotEngine(lambda: script, kept_slots(elements, held))
    columns = aggregate_columns(query.aggregates, elements.values, engine)
    # The last event of a group represents it.
    shown = engine.last("", Values(pa.array(np.arange(elements.rows)))).to_numpy() if query.per_group else new
    until = np.concatenate([elements.kept_ints(UNTIL), entering.until])
    stay = np.flatnonzero(leave == count)
    further = {UNTIL: until[stay], **{name: slots[stay] for name, slots in engine.slots.items()}}
    place = [p[closing] for p in closings.place]
    return elements.table(names, stay, further), query.rows(place, closings.moment[closing], elements, shown, columns)


def _closings_of_time(times: Ints, key: Ints, keys: int, order: Sequence[str]) -> tuple[_Closings, Ints]:
    """The closings at some times, for some groups of the window; and the number of the closing of each time. Those of
    one moment are in the order in which the groups appeared."""
    distinct, number = np.unique(np.stack([times, key], axis=1), axis=0, return_inverse=True)
    time, nothing = distinct[:, 0], np.zeros(len(distinct), np.int64)
    place = [time, nothing + TIMER, *(nothing for _ in order)]
    return _Closings(distinct[:, 1], keys, time, place), number.reshape(-1)


def _next_of_key(key: Ints, keys: int) -> tuple[Ints, Ints]:
    """The first closing of each key, and after each closing the next of its key; the number of closings if none."""
    count = key.size
    order = np.argsort(key, kind="stable")
    following = np.full(count, count, np.int64)
    same = key[order[:-1]] == key[order[1:]]
    following[order[:-1][same]] = order[1:][same]
    first = np.full(keys, count, np.int64)
    first[key[order[::-1]]] = order[::-1]
    return first, following
