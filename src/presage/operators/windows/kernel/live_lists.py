"""The live elements of a group in order of arrival, at each row of a script: the oldest, the newest, all of them.

The live elements of a group are a doubly linked list: O(1) for each change, and a list costs no more than its length.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Ints, compiled, inlined
from presage.operators.windows.kernel.script import Script


@inlined
def _change(op: int, group: Ints, oldest: Ints, newest: Ints, older: Ints, newer: Ints) -> None:
    if op >= 0:
        g = group[op]
        older[op] = newest[g]
        newer[op] = -1
        if newest[g] >= 0:
            newer[newest[g]] = op
        else:
            oldest[g] = op
        newest[g] = op
    else:
        e = ~op
        g = group[e]
        if older[e] >= 0:
            newer[older[e]] = newer[e]
        else:
            oldest[g] = newer[e]
        if newer[e] >= 0:
            older[newer[e]] = older[e]
        else:
            newest[g] = older[e]


@inlined
def _empty_lists(script: Script) -> tuple[Ints, Ints, Ints, Ints]:
    """By group the oldest and the newest element, by element the one before and the one after it."""
    oldest, older = np.full(script.groups, -1, np.int64), np.full(script.group.size, -1, np.int64)
    return oldest, oldest.copy(), older, older.copy()


@compiled
def script_ends(script: Script) -> tuple[Ints, Ints]:
    """Oldest and newest live element of the group of each row (-1: none)."""
    ops, group, emit_at, emit_group = script.ops, script.group, script.emit_at, script.emit_group
    oldest, newest, older, newer = _empty_lists(script)
    first = np.empty(emit_at.size, np.int64)
    last = np.empty(emit_at.size, np.int64)
    o = 0
    for r in range(emit_at.size):
        while o < emit_at[r]:
            _change(ops[o], group, oldest, newest, older, newer)
            o += 1
        first[r] = oldest[emit_group[r]]
        last[r] = newest[emit_group[r]]
    return first, last


@compiled
def script_lists(script: Script, offsets: Ints) -> Ints:
    """The live elements for each row, one list after the other; `offsets` come from the counts of live elements."""
    ops, group, emit_at, emit_group = script.ops, script.group, script.emit_at, script.emit_group
    oldest, newest, older, newer = _empty_lists(script)
    out = np.empty(offsets[-1], np.int64)
    o = 0
    for r in range(emit_at.size):
        while o < emit_at[r]:
            _change(ops[o], group, oldest, newest, older, newer)
            o += 1
        at = offsets[r]
        e = oldest[emit_group[r]]
        while e >= 0:
            out[at] = e
            at += 1
            e = newer[e]
    return out
