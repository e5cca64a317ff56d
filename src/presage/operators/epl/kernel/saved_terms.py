"""Loops of saving: the running terms and bindings in memory that can still matter, as lists and back."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Ints, compiled_in_place
from presage.operators.epl.kernel.network.memory import (
    ALIVE,
    BEFORE,
    BEGIN,
    BOUND_ROW,
    BOUND_TAG,
    CELL_MATCH,
    CELL_NEXT,
    CELL_SLOT,
    CELL_WORDS,
    DUE,
    FINAL,
    FIRST,
    FLAG,
    FOREVER,
    KEY,
    KEY_WORDS,
    KEYS_AT,
    NEXT,
    NODE,
    NUMBER,
    PARENT,
    PREV,
    ROOT,
    SERIAL,
    TERM_WORDS,
    TOP,
    WAITING,
    A,
    B,
    adopt,
    append,
    listeners_of,
    next_term,
    queue_of,
)
from presage.operators.epl.kernel.network.seen_keys import place_of
from presage.operators.epl.kernel.network.tables import (
    CLOCKED,
    FILTER,
    INTERVAL,
    KIND,
    LISTENER,
    QUEUE,
    QUEUED,
    UNTIL,
)


@compiled_in_place
def link_terms(net: Ints, memory: Ints, first: int, count: int, cells: Ints) -> None:
    """Instances one behind the other from `first` on, each key's in the order of creation, have their own fields; put
    them into their lists. `cells`: address of an AND, side, match."""
    for k in range(count):
        term = first + k * TERM_WORDS
        node = memory[term + NODE]
        kind = net[node + KIND]
        memory[term + FIRST] = -1
        memory[term + FINAL] = -1
        memory[term + NEXT] = -1
        memory[term + PREV] = -1
        memory[term + SERIAL] = k
        memory[term + FLAG] = ALIVE
        if memory[term + PARENT] >= 0:
            adopt(memory, memory[term + PARENT], term)
        else:
            memory[memory[KEYS_AT] + memory[term + KEY] * KEY_WORDS + ROOT] = term
        if kind != UNTIL:
            memory[term + A] = -1
            memory[term + B] = -1
        if kind in (FILTER, INTERVAL) and memory[term + BEGIN] < 0:
            memory[WAITING] += 1
        if kind == FILTER:
            append(memory, listeners_of(memory, memory[term + KEY], net[node + LISTENER]), term)
        if net[node + CLOCKED] == QUEUED and memory[term + DUE] != FOREVER:
            append(memory, queue_of(memory, memory[term + KEY], net[node + QUEUE]), term)
    for k in range(cells.shape[0]):
        term, cell = cells[k, 0], memory[TOP]
        memory[TOP] += CELL_WORDS
        memory[cell + CELL_NEXT] = -1
        memory[cell + CELL_SLOT] = cells[k, 1]
        memory[cell + CELL_MATCH] = cells[k, 2]
        if memory[term + B] >= 0:
            memory[memory[term + B] + CELL_NEXT] = cell
        else:
            memory[term + A] = cell
        memory[term + B] = cell


@compiled_in_place
def enter_keys(seen: Ints, index: Ints, count: int) -> None:
    """The lines of `seen` go into an empty hash table (-1 everywhere)."""
    for line in range(count):
        index[place_of(seen, index, line)] = line


@compiled_in_place
def running_terms(memory: Ints, keys: int) -> Ints:
    """Addresses of all running terms."""
    count = 0
    for key in range(keys):
        root = memory[memory[KEYS_AT] + key * KEY_WORDS + ROOT]
        at = root
        while at >= 0:
            count += 1
            at = next_term(memory, root, at)
    found = np.empty(count, np.int64)
    count = 0
    for key in range(keys):
        root = memory[memory[KEYS_AT] + key * KEY_WORDS + ROOT]
        at = root
        while at >= 0:
            found[count] = at
            count += 1
            at = next_term(memory, root, at)
    return found


@compiled_in_place
def held_cells(memory: Ints, ands: Ints) -> Ints:
    """(address of the AND, side, match) of what they have collected."""
    count = 0
    for k in range(ands.size):
        cell = memory[ands[k] + A]
        while cell >= 0:
            count += 1
            cell = memory[cell + CELL_NEXT]
    held = np.empty((count, 3), np.int64)
    count = 0
    for k in range(ands.size):
        cell = memory[ands[k] + A]
        while cell >= 0:
            held[count, 0] = ands[k]
            held[count, 1] = memory[cell + CELL_SLOT]
            held[count, 2] = memory[cell + CELL_MATCH]
            count += 1
            cell = memory[cell + CELL_NEXT]
    return held


@compiled_in_place
def number_bindings(memory: Ints, matches: Ints) -> Ints:
    """(number of the one before, tag, row) of all bindings of these matches, each once, earlier ones first; their
    NUMBER is where they stand."""
    count = 0
    for k in range(matches.size):
        at = matches[k]
        while at >= 0 and memory[at + NUMBER] == -1:
            memory[at + NUMBER] = -2
            count += 1
            at = memory[at + BEFORE]
    lines = np.empty((count, 3), np.int64)
    path = np.empty(count, np.int64)
    used = 0
    for k in range(matches.size):
        at, length = matches[k], 0
        while at >= 0 and memory[at + NUMBER] == -2:
            path[length] = at
            length += 1
            memory[at + NUMBER] = -3
            at = memory[at + BEFORE]
        for j in range(length - 1, -1, -1):
            at = path[j]
            before = memory[at + BEFORE]
            lines[used, 0] = memory[before + NUMBER] if before >= 0 else -1
            lines[used, 1] = memory[at + BOUND_TAG]
            lines[used, 2] = memory[at + BOUND_ROW]
            memory[at + NUMBER] = used
            used += 1
    return lines
