"""The step of `#hop`: rows of the overlapping spans that end.

An event is in the spans whose ends lie in [first, last], one every `slide`. It enters when it comes and leaves right
after the end of its last span, so that at each end exactly the events of that span are live: an event is held once,
however many spans it is in. State: the events of open spans, the next end of each, and their slots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from presage.arrays.codes import grouped_order
from presage.arrays.columns import Universe, Values, bools_of, ints, selected, take
from presage.arrays.jit import Ints
from presage.operators.windows.kernel.batches import BatchQuery, Tables
from presage.operators.windows.kernel.engine import aggregate_columns
from presage.operators.windows.kernel.script import Script
from presage.operators.windows.kernel.slot_engine import SlotEngine, kept_slots
from presage.operators.windows.kernel.spec import PASS, TIME, TIMER

OPEN = "open"
NEXT = "#next"  # the first end of an event's spans that has not been emitted
BEFORE = -(2**63)


class _Ends(NamedTuple):
    """Of each event the next end of its spans, and the last one."""

    following: Ints
    last: Ints


def step_spans(query: BatchQuery, tables: Tables, events: pa.Table, clock: int) -> tuple[Tables, pa.Table]:
    """The next tables of the state, and the rows: one for each group of a span that ends, or for each of its events."""
    live, slide = tables.get(OPEN), query.window.slide
    new = selected(events, bools_of(events, PASS))
    ends = _ends_of_new(query, new)
    if np.any(ends.following > ends.last):  # between spans that lie apart
        new = selected(new, ends.following <= ends.last)
        ends = _ends_of_new(query, new)
    universe = Universe(live, new)
    kept = universe.kept_ints(NEXT)
    time = np.concatenate([universe.kept_ints(TIME), ints(new, TIME)])
    size = query.window.sizes_of(universe)
    ends = _Ends(np.concatenate([kept, ends.following]), time - time % slide + size)

    group, groups = universe.codes(query.group_by)
    row, end = _emitted(
        ends, slide, clock, *((group, groups) if query.per_group else (np.arange(time.size), time.size))
    )
    engine = SlotEngine(
        lambda: _script(time, ends.last, kept.size, group, groups, row, end, clock), kept_slots(universe, live)
    )
    columns = aggregate_columns(query.aggregates, universe.values, engine)
    first = shown = row
    if query.per_group:
        numbers = Values(pa.array(np.arange(universe.rows)))
        first, shown = engine.first("", numbers).to_numpy(), engine.last("", numbers).to_numpy()
    order = np.lexsort((first, end))
    nothing = np.zeros(row.size, np.int64)
    place = [end[order], nothing + TIMER, *(nothing for _ in query.order)]
    rows = query.rows(place, end[order], universe, shown[order], [take(each, order) for each in columns])
    stay = np.flatnonzero(ends.last > clock)
    done = np.maximum((clock - ends.following[stay]) // slide + 1, 0)
    further = {NEXT: ends.following[stay] + done * slide, **{n: slots[stay] for n, slots in engine.slots.items()}}
    return {OPEN: universe.table([TIME, *query.kept_columns], stay, further)}, rows


def _ends_of_new(query: BatchQuery, new: pa.Table) -> _Ends:
    time, slide = ints(new, TIME), query.window.slide
    size = query.window.sizes_of(Universe(None, new))
    return _Ends((time - size) // slide * slide + slide + size, time - time % slide + size)


def _emitted(ends: _Ends, slide: int, clock: int, group: Ints, groups: int) -> tuple[Ints, Ints]:
    """The ends up to the watermark of spans that a group is in, in order, each with an event of the group."""
    order, start = grouped_order(group, groups)
    # An event adds the ends after those of the event of its group before it.
    before = np.empty(order.size, np.int64)
    before[order[1:]] = ends.last[order[:-1]] + slide
    before[order[start[:-1]]] = BEFORE
    low = np.maximum(ends.following, before)
    count = np.maximum((np.minimum(ends.last, clock) - low) // slide + 1, 0)
    row = np.repeat(np.arange(order.size), count)
    number = np.arange(row.size) - np.repeat(np.cumsum(count) - count, count)
    end = low[row] + number * slide
    order = np.argsort(end, kind="stable")
    return row[order], end[order]


def _script(time: Ints, last: Ints, kept: int, group: Ints, groups: int, row: Ints, end: Ints, clock: int) -> Script:
    """Events enter before the first end that follows them, and leave after their last end."""
    ends, closing = np.unique(end, return_inverse=True)
    gone = np.flatnonzero(last <= clock)
    new = np.arange(kept, time.size)
    at = np.concatenate([np.searchsorted(ends, last[gone]) + 1, np.searchsorted(ends, time[kept:], "right")])
    enters = np.repeat([0, 1], [gone.size, new.size])
    element = np.concatenate([gone, new])
    order = np.lexsort((element, enters, at))
    ops = np.concatenate([np.arange(kept), np.where(enters > 0, element, ~element)[order]])
    done = kept + np.cumsum(np.bincount(at, minlength=ends.size + 1))
    return Script(ops, kept, group, groups, done[closing], group[row])
