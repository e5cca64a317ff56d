"""A match of one side of AND comes in, the matches of all sides together go out as tasks. A part of the one loop."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import inlined
from presage.patterns.kernel.endings import end_term
from presage.patterns.kernel.network import CHILDREN, KIND, NOT, Network
from presage.patterns.kernel.pools import (
    BEGIN,
    BINDS,
    CELL_FREE,
    CELL_MATCH,
    CELL_NEXT,
    CELL_SLOT,
    CELLS,
    FIRST,
    NEED_BINDS,
    NEED_STACK,
    NEXT,
    NODE,
    OPEN,
    PARENT,
    SLOT,
    TOP,
    A,
    B,
    Pools,
    extend,
    grown,
)
from presage.patterns.kernel.tasks import TRUE, push


@inlined
def keep_match(pools: Pools, i: int, slot: int, match: int) -> None:
    """There is room for one cell."""
    terms, cells, registers = pools.terms, pools.cells, pools.registers
    cell = registers[CELL_FREE]
    if cell >= 0:
        registers[CELL_FREE] = cells[cell, CELL_NEXT]
    else:
        cell = registers[CELLS]
        registers[CELLS] += 1
    cells[cell, CELL_NEXT] = -1
    cells[cell, CELL_SLOT] = slot
    cells[cell, CELL_MATCH] = match
    if terms[i, B] >= 0:
        cells[terms[i, B], CELL_NEXT] = cell
    else:
        terms[i, A] = cell
    terms[i, B] = cell
    if match != terms[i, BEGIN]:
        registers[OPEN] += 1


@inlined
def conjoin(net: Network, pools: Pools, i: int, sender: int, match: int, ended: int) -> bool:
    """The match with each combination of what the other sides have. False: more room is needed, nothing was done."""
    terms, cells, registers = pools.terms, pools.cells, pools.registers
    sides, here, begin = net.nodes[terms[i, NODE], CHILDREN], terms[sender, SLOT], terms[i, BEGIN]
    counts = np.zeros(sides, np.int64)
    longest = np.zeros(sides, np.int64)
    cell = terms[i, A]
    while cell >= 0:
        slot = cells[cell, CELL_SLOT]
        counts[slot] += 1
        longest[slot] = max(longest[slot], grown(pools.binds, cells[cell, CELL_MATCH], begin))
        cell = cells[cell, CELL_NEXT]
    combinations, bindings = 1, 0
    for slot in range(sides):
        if slot != here:
            combinations *= counts[slot]
            bindings += longest[slot]
    # A NOT says once that it is true; it is not waited for.
    others = False
    child = terms[i, FIRST]
    while child >= 0:
        if child != sender and net.nodes[terms[child, NODE], KIND] != NOT:
            others = True
        child = terms[child, NEXT]
    waits = others or (ended == 0 and net.nodes[terms[sender, NODE], KIND] != NOT)
    if combinations == 0:
        keep_match(pools, i, here, match)
        return True
    if registers[BINDS] + combinations * bindings > pools.binds.shape[0]:
        registers[NEED_BINDS] = combinations * bindings
        return False
    if registers[TOP] + combinations > pools.stack.shape[0]:
        registers[NEED_STACK] = combinations
        return False
    collected = np.empty((sides, counts.max() if sides else 0), np.int64)
    counts[:] = 0
    cell = terms[i, A]
    while cell >= 0:
        slot = cells[cell, CELL_SLOT]
        collected[slot, counts[slot]] = cells[cell, CELL_MATCH]
        counts[slot] += 1
        cell = cells[cell, CELL_NEXT]
    # A match is kept only while another side may still turn true.
    if others:
        keep_match(pools, i, here, match)
    parent = terms[i, PARENT]
    if not waits:
        end_term(net, pools, i)
    # The first combination is told first, so it is pushed last; the first side turns slowest.
    for number in range(combinations - 1, -1, -1):
        rest, found, size = number, match, combinations
        for slot in range(sides):
            if slot != here:
                size //= counts[slot]
                found = extend(registers, pools.binds, found, collected[slot, rest // size], begin)
                rest %= size
        last = not waits and number == combinations - 1
        push(registers, pools.stack, TRUE, parent, i, found, 1 if last else 0)
    return True
