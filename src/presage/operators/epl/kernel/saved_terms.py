"""Loops of saving: the running terms and bindings in memory that can still matter, as lists and back."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Ints, compiled_in_place
from presage.operators.epl.kernel.network import memory as m
from presage.operators.epl.kernel.network.memory import adopt, append, listeners_of, next_term
from presage.operators.epl.kernel.network.seen_keys import place_of
from presage.operators.epl.kernel.network.tables import FILTER, INTERVAL, KIND, LISTENER, UNTIL


@compiled_in_place
def link_terms(net: Ints, memory: Ints, first: int, count: int, cells: Ints) -> None:
    """Puts restored instances into their lists. They lie from `first` on, those of a key in the order of creation, with
    their own fields set. `cells`: address of an AND, side, match."""
    for k in range(count):
        term = first + k * m.TERM_WORDS
        node = memory[term + m.NODE]
        kind = net[node + KIND]
        memory[term + m.FIRST] = -1
        memory[term + m.FINAL] = -1
        memory[term + m.NEXT] = -1
        memory[term + m.PREV] = -1
        memory[term + m.SERIAL] = k
        memory[term + m.FLAG] = m.ALIVE
        if memory[term + m.PARENT] >= 0:
            adopt(memory, memory[term + m.PARENT], term)
        else:
            memory[memory[m.KEYS_AT] + memory[term + m.KEY] * m.KEY_WORDS + m.ROOT] = term
        if kind != UNTIL:
            memory[term + m.A] = -1
            memory[term + m.B] = -1
        if kind in (FILTER, INTERVAL) and memory[term + m.BEGIN] < 0:
            memory[m.WAITING] += 1
        if kind == FILTER:
            append(memory, listeners_of(memory, memory[term + m.KEY], net[node + LISTENER]), term)
    for k in range(cells.shape[0]):
        term, cell = cells[k, 0], memory[m.TOP]
        memory[m.TOP] += m.CELL_WORDS
        memory[cell + m.CELL_NEXT] = -1
        memory[cell + m.CELL_SLOT] = cells[k, 1]
        memory[cell + m.CELL_MATCH] = cells[k, 2]
        if memory[term + m.B] >= 0:
            memory[memory[term + m.B] + m.CELL_NEXT] = cell
        else:
            memory[term + m.A] = cell
        memory[term + m.B] = cell


@compiled_in_place
def enter_keys(seen: Ints, index: Ints, count: int) -> None:
    """Enters the lines of `seen` into an empty hash table (all -1)."""
    for line in range(count):
        index[place_of(seen, index, line)] = line


@compiled_in_place
def running_terms(memory: Ints, keys: int) -> Ints:
    """Addresses of all running terms."""
    count = 0
    for key in range(keys):
        root = memory[memory[m.KEYS_AT] + key * m.KEY_WORDS + m.ROOT]
        at = root
        while at >= 0:
            count += 1
            at = next_term(memory, root, at)
    terms = np.empty(count, np.int64)
    count = 0
    for key in range(keys):
        root = memory[memory[m.KEYS_AT] + key * m.KEY_WORDS + m.ROOT]
        at = root
        while at >= 0:
            terms[count] = at
            count += 1
            at = next_term(memory, root, at)
    return terms


@compiled_in_place
def held_cells(memory: Ints, ands: Ints) -> Ints:
    """(address of the AND, side, match) of all matches that they hold."""
    count = 0
    for k in range(ands.size):
        cell = memory[ands[k] + m.A]
        while cell >= 0:
            count += 1
            cell = memory[cell + m.CELL_NEXT]
    held = np.empty((count, 3), np.int64)
    count = 0
    for k in range(ands.size):
        cell = memory[ands[k] + m.A]
        while cell >= 0:
            held[count, 0] = ands[k]
            held[count, 1] = memory[cell + m.CELL_SLOT]
            held[count, 2] = memory[cell + m.CELL_MATCH]
            count += 1
            cell = memory[cell + m.CELL_NEXT]
    return held


@compiled_in_place
def number_bindings(memory: Ints, matches: Ints) -> Ints:
    """(number of the one before, tag, row) of all bindings of these matches, each once, earlier ones first. Sets their
    NUMBER to the line."""
    count = 0
    for k in range(matches.size):
        at = matches[k]
        while at >= 0 and memory[at + m.NUMBER] == -1:
            memory[at + m.NUMBER] = -2
            count += 1
            at = memory[at + m.BEFORE]
    lines = np.empty((count, 3), np.int64)
    path = np.empty(count, np.int64)
    used = 0
    for k in range(matches.size):
        at, length = matches[k], 0
        while at >= 0 and memory[at + m.NUMBER] == -2:
            path[length] = at
            length += 1
            memory[at + m.NUMBER] = -3
            at = memory[at + m.BEFORE]
        for j in range(length - 1, -1, -1):
            at = path[j]
            before = memory[at + m.BEFORE]
            lines[used, 0] = memory[before + m.NUMBER] if before >= 0 else -1
            lines[used, 1] = memory[at + m.BOUND_TAG]
            lines[used, 2] = memory[at + m.BOUND_ROW]
            memory[at + m.NUMBER] = used
            used += 1
    return lines
