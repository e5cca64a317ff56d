"""Pools in, the tables of a state out, and back: only what can still matter, with texts as texts.

Instances are stored in the order of their creation, from which all lists follow; bindings and rows that no instance
needs are left out.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Ints, compiled_in_place
from presage.patterns.kernel.network import (
    CLOCKED,
    FILTER,
    HEAPED,
    INTERVAL,
    KIND,
    LISTENER,
    QUEUED,
    UNTIL,
    WITHIN,
    Network,
)
from presage.patterns.kernel.pools import (
    ALIVE,
    BEGIN,
    CAUSE,
    CELL_MATCH,
    CELL_NEXT,
    CELL_SLOT,
    CELLS,
    COUNT,
    DUE,
    FIRST,
    FLAG,
    FOREVER,
    KEY,
    NEXT,
    NEXT_DUE,
    NODE,
    PARENT,
    ROOT,
    SERIAL,
    SET,
    SLOT,
    A,
    B,
    Pools,
    adopt,
    append,
)
from presage.patterns.kernel.seen_keys import place_of
from presage.patterns.kernel.timers import push_heap

# Columns of an instance in a state.
TERM_COLUMNS = (NODE, PARENT, SLOT, BEGIN, COUNT, A, B, DUE, KEY, SET, CAUSE)
TERM_NAMES = ("node", "parent", "slot", "begin", "count", "a", "b", "due", "key", "set", "cause")


@compiled_in_place
def link_terms(net: Network, pools: Pools, count: int, cells: Ints) -> None:
    """Instances 0 … count - 1 have their own columns; put them into their lists. `cells`: instance, side, match."""
    terms, registers = pools.terms, pools.registers
    for i in range(count):
        node = terms[i, NODE]
        kind = net.nodes[node, KIND]
        terms[i, FIRST] = -1
        terms[i, FIRST + 1] = -1
        terms[i, NEXT] = -1
        terms[i, NEXT + 1] = -1
        terms[i, SERIAL] = i
        terms[i, FLAG] = ALIVE
        if terms[i, PARENT] >= 0:
            adopt(terms, terms[i, PARENT], i)
        else:
            pools.keys[terms[i, KEY], ROOT] = i
        if kind != UNTIL:
            terms[i, A] = -1
            terms[i, B] = -1
        if kind == FILTER:
            append(terms, pools.listening, terms[i, KEY] * net.listeners.size + net.nodes[node, LISTENER], i)
        if kind in (WITHIN, INTERVAL) and terms[i, DUE] != FOREVER:
            registers[NEXT_DUE] = min(registers[NEXT_DUE], terms[i, DUE])
            if net.nodes[node, CLOCKED] == QUEUED:
                append(terms, pools.queues, node, i)
            elif net.nodes[node, CLOCKED] == HEAPED:
                push_heap(registers, pools.heap, terms[i, DUE], i, i)
    for k in range(cells.shape[0]):
        i = cells[k, 0]
        pools.cells[k, CELL_NEXT] = -1
        pools.cells[k, CELL_SLOT] = cells[k, 1]
        pools.cells[k, CELL_MATCH] = cells[k, 2]
        if terms[i, B] >= 0:
            pools.cells[terms[i, B], CELL_NEXT] = k
        else:
            terms[i, A] = k
        terms[i, B] = k
    registers[CELLS] = cells.shape[0]


@compiled_in_place
def enter_keys(seen: Ints, index: Ints, count: int) -> None:
    """The hash table over the lines of `seen`."""
    index[:] = -1
    for line in range(count):
        index[place_of(seen, index, line)] = line


@compiled_in_place
def needed_binds(binds: Ints, count: int, needed: Bools) -> Ints:
    """New numbers of the bindings that are needed or that needed ones build on; -1 for the others."""
    for i in range(count - 1, -1, -1):
        if needed[i] and binds[i, 0] >= 0:
            needed[binds[i, 0]] = True
    numbers = np.full(count + 1, -1, np.int64)  # the last stands for the empty match, which is -1
    used = 0
    for i in range(count):
        if needed[i]:
            numbers[i] = used
            used += 1
    return numbers


@compiled_in_place
def held_cells(terms: Ints, cells: Ints, ands: Ints) -> Ints:
    """(number in `ands`, side, match) of what the given instances of AND have collected."""
    count = 0
    for k in range(ands.size):
        cell = terms[ands[k], A]
        while cell >= 0:
            count += 1
            cell = cells[cell, CELL_NEXT]
    held = np.empty((count, 3), np.int64)
    count = 0
    for k in range(ands.size):
        cell = terms[ands[k], A]
        while cell >= 0:
            held[count, 0] = k
            held[count, 1] = cells[cell, CELL_SLOT]
            held[count, 2] = cells[cell, CELL_MATCH]
            count += 1
            cell = cells[cell, CELL_NEXT]
    return held
