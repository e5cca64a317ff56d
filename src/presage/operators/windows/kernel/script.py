"""Scripts: the changes of a window in order, and after which change each row is emitted.

For windows whose events leave in any order. An element is an event, a join tuple, or (for DISTINCT) a value that some
live event has. `ops[o] = e` lets element e enter, `ops[o] = ~e` lets it leave. Row r is emitted for group
`emit_group[r]` after the first `emit_at[r]` changes. The first `initial` changes enter the elements of the state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Bools, Ints, compiled


class Script(NamedTuple):
    ops: Ints
    initial: int
    group: Ints  # of each element
    groups: int
    emit_at: Ints
    emit_group: Ints


def arrivals(group: Ints, groups: int, kept: int, leave: Ints) -> Script:
    """The script of a window: element e leaves before new row `leave[e]` enters; a row is emitted when it enters."""
    ops, emit_at = _arrival_ops(leave, kept)
    return Script(ops, kept, group, groups, emit_at, group[kept:])


@compiled
def _arrival_ops(leave: Ints, kept: int) -> tuple[Ints, Ints]:
    new = leave.size - kept
    start = np.zeros(new + 2, np.int64)
    for e in range(leave.size):
        start[leave[e] + 1] += 1
    for r in range(new + 1):
        start[r + 1] += start[r]
    free = start.copy()
    leaving = np.empty(leave.size, np.int64)
    for e in range(leave.size):
        leaving[free[leave[e]]] = e
        free[leave[e]] += 1
    # Elements that leave at `new` are live at the end of the step.
    ops = np.empty(leave.size + start[new], np.int64)
    emit_at = np.empty(new, np.int64)
    o = 0
    for e in range(kept):
        ops[o] = e
        o += 1
    for r in range(new):
        for i in range(start[r], start[r + 1]):
            ops[o] = ~leaving[i]
            o += 1
        ops[o] = kept + r
        o += 1
        emit_at[r] = o
    return ops, emit_at


def whole(codes: Ints, count: int) -> Script:
    """The script of closed batches: all rows enter, then one row is emitted for each code."""
    rows = np.arange(codes.size, dtype=np.int64)
    return Script(rows, 0, codes, count, np.full(count, codes.size, np.int64), np.arange(count, dtype=np.int64))


def leave_by_place(place: Ints, size: int | Ints, kept: int) -> Ints:
    """The new row before which each element leaves; one window for all, in which places only grow."""
    leave: Ints = np.searchsorted(place[kept:], place + size, side="left").astype(np.int64)
    return leave


def leave_by_key(place: Ints, key: Ints, size: int | Ints, order: Ints, start: Ints, passed_before: Ints) -> Ints:
    """The same with one window of `size` events for each key.

    `order` and `start` are the new events by key, passing or not: all of them count. `passed_before[i]` is how many
    passing events come before new event i, so it is also the first new row that sees the window after event i.
    """
    successor = start[key] + place + size
    never = passed_before.size - 1
    exists = successor < start[key + 1]
    event = np.full(place.size, never, np.int64)
    event[exists] = order[successor[exists]]
    leave: Ints = passed_before[event]
    return leave


def distinct_script(script: Script, pair: Ints, pairs: int) -> Script:
    """The script of the distinct (group, value) pairs of the elements; pair -1 (null) takes no part."""
    ops, initial, emit_at = _pair_ops(script, pair, pairs)
    group = np.zeros(pairs, np.int64)
    present = pair >= 0
    group[pair[present]] = script.group[present]
    return Script(ops, initial, group, script.groups, emit_at, script.emit_group)


@compiled
def _pair_ops(script: Script, pair: Ints, pairs: int) -> tuple[Ints, int, Ints]:
    ops, initial, emit_at = script.ops, script.initial, script.emit_at
    holders = np.zeros(pairs, np.int64)
    out = np.empty(ops.size, np.int64)
    emits = np.empty(emit_at.size, np.int64)
    used = 0
    first = 0
    r = 0
    for o in range(ops.size):
        while r < emit_at.size and emit_at[r] <= o:
            emits[r] = used
            r += 1
        e = ops[o]
        if e >= 0:
            p = pair[e]
            if p >= 0:
                if holders[p] == 0:
                    out[used] = p
                    used += 1
                holders[p] += 1
        else:
            p = pair[~e]
            if p >= 0:
                holders[p] -= 1
                if holders[p] == 0:
                    out[used] = ~p
                    used += 1
        if o + 1 == initial:
            first = used
    while r < emit_at.size:
        emits[r] = used
        r += 1
    return out[:used].copy(), first, emits


@compiled
def changelog_ops(change: Ints, identity: Ints, identities: int, kept: int) -> tuple[Ints, Bools]:
    """Ops of a changelog whose rows carry +1 or -1; a -1 lets the live element with the same identity leave.

    `identity` covers the kept elements first. New elements are numbered after them in order of their +1 rows. The
    second result is false for a -1 row without a live element.
    """
    live = np.full(identities, -1, np.int64)
    ops = np.empty(kept + change.size, np.int64)
    found = np.ones(change.size, np.bool_)
    for e in range(kept):
        live[identity[e]] = e
        ops[e] = e
    element = kept
    for i in range(change.size):
        key = identity[kept + i]
        if change[i] > 0:
            live[key] = element
            ops[kept + i] = element
            element += 1
        else:
            found[i] = live[key] >= 0
            ops[kept + i] = ~live[key]
            live[key] = -1
    return ops, found
