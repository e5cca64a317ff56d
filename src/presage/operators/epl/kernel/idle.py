"""Idle keys: those whose pattern is as it was when it was started.

An idle key needs no state: its pattern starts again with its next event and gives the same rows. So the state of a
pattern with keys holds only keys with partial matches.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Ints, compiled_in_place, inlined
from presage.operators.epl.kernel.network import memory as m
from presage.operators.epl.kernel.network.memory import next_term
from presage.operators.epl.kernel.network.tables import AND, KIND, UNTIL, WITHIN


@inlined
def collected(memory: Ints, term: int) -> int:
    """How many matches an AND holds; -1 if one of them has an event."""
    count, cell = 0, memory[term + m.A]
    while cell >= 0:
        if memory[cell + m.CELL_MATCH] >= 0:
            return -1
        count += 1
        cell = memory[cell + m.CELL_NEXT]
    return count


@compiled_in_place
def shape_of(net: Ints, memory: Ints, root: int) -> Ints:
    """The shape of a pattern that was just started: each term's node and how many matches it holds. Empty if it has a
    timer, because then it depends on when it was started."""
    size, at = 0, root
    while at >= 0:
        size += 1
        at = next_term(memory, root, at)
    shape = np.zeros((size, 2), np.int64)
    number, at = 0, root
    while at >= 0:
        kind = net[memory[at + m.NODE] + KIND]
        if kind != UNTIL and memory[at + m.DUE] != m.FOREVER:
            return np.zeros((0, 2), np.int64)
        shape[number, 0] = memory[at + m.NODE]
        if kind == AND:
            shape[number, 1] = collected(memory, at)
        number += 1
        at = next_term(memory, root, at)
    return shape


@inlined
def has_shape(net: Ints, memory: Ints, root: int, shape: Ints, filled: Bools) -> bool:
    number, serial, at = 0, -1, root
    while at >= 0:
        kind = net[memory[at + m.NODE] + KIND]
        if number == shape.shape[0] or memory[at + m.NODE] != shape[number, 0] or memory[at + m.SERIAL] < serial:
            return False
        if memory[at + m.BEGIN] >= 0 or (kind != UNTIL and memory[at + m.DUE] != m.FOREVER):
            return False
        if kind in (UNTIL, WITHIN) and memory[at + m.COUNT] > 0:
            return False
        if kind == AND and collected(memory, at) != shape[number, 1]:
            return False
        if memory[at + m.SET] >= 0 and filled[memory[at + m.SET]]:
            return False
        serial = memory[at + m.SERIAL]
        number += 1
        at = next_term(memory, root, at)
    return number == shape.shape[0]  # type: ignore[no-any-return]


@compiled_in_place
def drop_idle(net: Ints, memory: Ints, keys: int, shape: Ints, filled: Bools) -> None:
    """`shape`: see `shape_of`; `filled`: which sets of EVERY-DISTINCT have a key."""
    for key in range(keys):
        at = memory[m.KEYS_AT] + key * m.KEY_WORDS + m.ROOT
        if memory[at] >= 0 and has_shape(net, memory, memory[at], shape, filled):
            memory[at] = m.NOT_STARTED
