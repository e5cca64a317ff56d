"""Closings of batches come in, rows over the last closed batch of every group of the window go out.

`#groupwin(k)#length_batch(2)` holds one closed batch for each k. When a batch closes it takes the place of the one
before it, an empty one too (a span of `#time_batch` without events), and aggregates run over all batches that are held
then. State: the events of those batches, until when they are held, and their slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.codes import first_of, paired
from presage.arrays.columns import Universe, Values, take, unique
from presage.arrays.jit import Ints
from presage.arrays.rows import changes, ordinals
from presage.operators.windows.kernel.formulas import evaluate
from presage.operators.windows.kernel.script import Script
from presage.operators.windows.kernel.slots import script_total
from presage.operators.windows.kernel.slotting import SLOT, Slotting
from presage.operators.windows.kernel.spec import ORDINAL, SEQ, TIME, TIMER, Aggregate

UNTIL = "#until"


@dataclass(frozen=True)
class Closings:
    """Batches that close, in order: the window's group of each (of `keys`), the moment (equal for those that one timer
    closes) and the columns TIME, SEQ and order of the rows that it emits."""

    key: Ints
    keys: int
    moment: Ints
    place: list[Ints]


@dataclass(frozen=True)
class Entering:
    """Events of the batches that close: `rows` of a table in the order of their batches, the number of the closing of
    each, and until when its batch is held."""

    events: Universe
    rows: Ints
    closing: Ints
    until: Ints


@dataclass(frozen=True)
class HeldQuery:
    """What is selected from the batches that are held. `group_by` is what divides aggregates; a row is for each group
    that a closing changed if `per_group`, else for each event that entered."""

    group_by: tuple[str, ...]
    per_group: bool
    aggregates: tuple[Aggregate, ...]
    carry: tuple[str, ...]
    order: tuple[str, ...]
    keys: tuple[str, ...]  # of the window: kept for the closings to come


def hold(
    query: HeldQuery, held: pa.Table | None, held_keys: Ints, entering: Entering, closings: Closings
) -> tuple[pa.Table, pa.Table]:
    """The events that are held after the closings, and the rows."""
    arguments = [a.column for a in query.aggregates if a.column is not None]
    names = unique([*query.keys, *query.group_by, *arguments, *query.carry])
    elements = Universe(held, entering.events.table(names, entering.rows, {}))
    kept, count = elements.kept_rows, closings.key.size
    first, following = _next_of_key(closings.key, closings.keys)
    leave = np.concatenate([first[held_keys], following[entering.closing]])
    group, groups = elements.codes(query.group_by)

    gone = np.flatnonzero(leave < count)
    new = np.arange(kept, elements.rows)
    # What leaves goes before what enters.
    at = np.concatenate([leave[gone], entering.closing])
    enters = np.repeat([0, 1], [gone.size, new.size])
    element = np.concatenate([gone, new])
    order = np.lexsort((element, enters, at))
    ops = np.concatenate([np.arange(kept), np.where(enters > 0, element, ~element)[order]])
    done = kept + np.cumsum(np.bincount(at, minlength=count))
    if query.per_group:
        # Groups that gained before those that only lost, each as it appears.
        touching = np.lexsort((element, 1 - enters, at))
        pair, pairs = paired(at[touching], group[element[touching]], groups)
        emitting = touching[first_of(pair, pairs)]
        closing, emit_group = at[emitting], group[element[emitting]]
        live = script_total(ops, group, groups, done[closing], emit_group, np.ones(elements.rows, np.int64)) > 0
        closing, emit_group = closing[live], emit_group[live]
    else:
        closing, emit_group = entering.closing, group[kept:]
    script = Script(ops, kept, group, groups, done[closing], emit_group)
    given = {name: elements.kept_ints(name) for name in (held.column_names if held else ()) if name.startswith(SLOT)}
    engine = Slotting(lambda: script, given)
    columns = [
        evaluate(a, f"#{j}", None if a.column is None else elements.values(a.column), engine)
        for j, a in enumerate(query.aggregates)
    ]
    # Of a group its last event stands for it.
    shown = engine.last("", Values(pa.array(np.arange(elements.rows)))).to_numpy() if query.per_group else new
    until = np.concatenate([elements.kept_ints(UNTIL), entering.until])
    stay = np.flatnonzero(leave == count)
    beside = {UNTIL: until[stay], **{name: slots[stay] for name, slots in engine.slots.items()}}
    moment = closings.moment[closing]
    rows = pa.Table.from_arrays(
        [
            *(pa.array(p[closing]) for p in closings.place),
            pa.array(ordinals(changes([moment], moment.size))),
            *(take(elements.column(name), shown) for name in query.carry),
            *columns,
        ],
        names=[TIME, SEQ, *query.order, ORDINAL, *query.carry, *(a.output for a in query.aggregates)],
    )
    return elements.table(names, stay, beside), rows


def closings_of_time(times: Ints, key: Ints, keys: int, order: Sequence[str]) -> tuple[Closings, Ints]:
    """The closings that timers make at some times, for some groups of the window; and which of them each of the times
    is. Those of one moment are in the order in which the groups appeared."""
    found, number = np.unique(np.stack([times, key], axis=1), axis=0, return_inverse=True)
    time, nothing = found[:, 0], np.zeros(len(found), np.int64)
    place = [time, nothing + TIMER, *(nothing for _ in order)]
    return Closings(found[:, 1], keys, time, place), number.reshape(-1)


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
