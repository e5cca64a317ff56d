"""AND: combinations of a match of one side with the matches of the others."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Ints, inlined
from presage.operators.epl.kernel.network.endings import end_term
from presage.operators.epl.kernel.network.memory import (
    BEGIN,
    BIND_WORDS,
    CELL_MATCH,
    CELL_NEXT,
    CELL_SLOT,
    CELL_WORDS,
    FIRST,
    FREE_CELLS,
    NEED,
    NEXT,
    NODE,
    OPEN,
    PARENT,
    SLOT,
    TASKS,
    TOP,
    A,
    B,
    extend,
    grown,
)
from presage.operators.epl.kernel.network.tables import CHILDREN, KIND, NOT
from presage.operators.epl.kernel.network.tasks import TRUE, push


@inlined
def keep_match(memory: Ints, term: int, slot: int, match: int) -> None:
    """The caller has checked that there is memory for one cell."""
    cell = memory[FREE_CELLS]
    if cell >= 0:
        memory[FREE_CELLS] = memory[cell + CELL_NEXT]
    else:
        cell = memory[TOP]
        memory[TOP] += CELL_WORDS
    memory[cell + CELL_NEXT] = -1
    memory[cell + CELL_SLOT] = slot
    memory[cell + CELL_MATCH] = match
    if memory[term + B] >= 0:
        memory[memory[term + B] + CELL_NEXT] = cell
    else:
        memory[term + A] = cell
    memory[term + B] = cell
    if match != memory[term + BEGIN]:
        memory[OPEN] += 1


@inlined
def conjoin(net: Ints, memory: Ints, stack: Ints, term: int, sender: int, match: int, ended: int) -> bool:
    """Combines the match with all matches of the other sides. False: more memory is needed, nothing was done."""
    sides, here, begin = net[memory[term + NODE] + CHILDREN], memory[sender + SLOT], memory[term + BEGIN]
    counts = np.zeros(sides, np.int64)
    longest = np.zeros(sides, np.int64)
    cell = memory[term + A]
    while cell >= 0:
        slot = memory[cell + CELL_SLOT]
        counts[slot] += 1
        longest[slot] = max(longest[slot], grown(memory, memory[cell + CELL_MATCH], begin))
        cell = memory[cell + CELL_NEXT]
    combinations, bindings = 1, 0
    for slot in range(sides):
        if slot != here:
            combinations *= counts[slot]
            bindings += longest[slot]
    if combinations == 0:
        keep_match(memory, term, here, match)
        return True
    needed = combinations * bindings * BIND_WORDS + CELL_WORDS
    if memory[TOP] + needed > memory.size or memory[TASKS] + combinations > stack.shape[0]:
        memory[NEED] = max(needed, combinations)
        return False
    # A NOT turns true only once; no further match of it is expected.
    others = False
    child = memory[term + FIRST]
    while child >= 0:
        if child != sender and net[memory[child + NODE] + KIND] != NOT:
            others = True
        child = memory[child + NEXT]
    waits = others or (ended == 0 and net[memory[sender + NODE] + KIND] != NOT)
    most = 0
    for slot in range(sides):
        most = max(most, counts[slot])
        counts[slot] = 0
    collected = np.empty((sides, most), np.int64)
    cell = memory[term + A]
    while cell >= 0:
        slot = memory[cell + CELL_SLOT]
        collected[slot, counts[slot]] = memory[cell + CELL_MATCH]
        counts[slot] += 1
        cell = memory[cell + CELL_NEXT]
    # Keep the match only while another side may still turn true.
    if others:
        keep_match(memory, term, here, match)
    parent = memory[term + PARENT]
    if not waits:
        end_term(net, memory, term)
    # The first combination is reported first, so it is pushed last; the first side varies slowest.
    for number in range(combinations - 1, -1, -1):
        rest, found, size = number, match, combinations
        for slot in range(sides):
            if slot != here:
                size //= counts[slot]
                found = extend(memory, found, collected[slot, rest // size], begin)
                rest %= size
        last = not waits and number == combinations - 1
        push(memory, stack, TRUE, parent, term, found, 1 if last else 0)
    return True
