"""AND: combinations of a match of one side with the matches of the others."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Ints, inlined
from presage.operators.epl.kernel.network import memory as m
from presage.operators.epl.kernel.network.endings import end_term
from presage.operators.epl.kernel.network.memory import extend, grown
from presage.operators.epl.kernel.network.tables import CHILDREN, KIND, NOT
from presage.operators.epl.kernel.network.tasks import TRUE, push


@inlined
def keep_match(memory: Ints, term: int, slot: int, match: int) -> None:
    """The caller has checked that there is memory for one cell."""
    cell = memory[m.FREE_CELLS]
    if cell >= 0:
        memory[m.FREE_CELLS] = memory[cell + m.CELL_NEXT]
    else:
        cell = memory[m.TOP]
        memory[m.TOP] += m.CELL_WORDS
    memory[cell + m.CELL_NEXT] = -1
    memory[cell + m.CELL_SLOT] = slot
    memory[cell + m.CELL_MATCH] = match
    if memory[term + m.B] >= 0:
        memory[memory[term + m.B] + m.CELL_NEXT] = cell
    else:
        memory[term + m.A] = cell
    memory[term + m.B] = cell
    if match != memory[term + m.BEGIN]:
        memory[m.OPEN] += 1


@inlined
def conjoin(net: Ints, memory: Ints, stack: Ints, term: int, sender: int, match: int, ended: int) -> bool:
    """Combines the match with all matches of the other sides. False: more memory is needed, nothing was done."""
    sides, here, begin = net[memory[term + m.NODE] + CHILDREN], memory[sender + m.SLOT], memory[term + m.BEGIN]
    counts = np.zeros(sides, np.int64)
    longest = np.zeros(sides, np.int64)
    cell = memory[term + m.A]
    while cell >= 0:
        slot = memory[cell + m.CELL_SLOT]
        counts[slot] += 1
        longest[slot] = max(longest[slot], grown(memory, memory[cell + m.CELL_MATCH], begin))
        cell = memory[cell + m.CELL_NEXT]
    combinations, bindings = 1, 0
    for slot in range(sides):
        if slot != here:
            combinations *= counts[slot]
            bindings += longest[slot]
    if combinations == 0:
        keep_match(memory, term, here, match)
        return True
    needed = combinations * bindings * m.BIND_WORDS + m.CELL_WORDS
    if memory[m.TOP] + needed > memory.size or memory[m.TASKS] + combinations > stack.shape[0]:
        memory[m.NEED] = max(needed, combinations)
        return False
    # A NOT turns true only once; no further match of it is expected.
    others = False
    child = memory[term + m.FIRST]
    while child >= 0:
        if child != sender and net[memory[child + m.NODE] + KIND] != NOT:
            others = True
        child = memory[child + m.NEXT]
    waits = others or (ended == 0 and net[memory[sender + m.NODE] + KIND] != NOT)
    most = 0
    for slot in range(sides):
        most = max(most, counts[slot])
        counts[slot] = 0
    collected = np.empty((sides, most), np.int64)
    cell = memory[term + m.A]
    while cell >= 0:
        slot = memory[cell + m.CELL_SLOT]
        collected[slot, counts[slot]] = memory[cell + m.CELL_MATCH]
        counts[slot] += 1
        cell = memory[cell + m.CELL_NEXT]
    # Keep the match only while another side may still turn true.
    if others:
        keep_match(memory, term, here, match)
    parent = memory[term + m.PARENT]
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
