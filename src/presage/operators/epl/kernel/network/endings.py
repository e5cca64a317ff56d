"""The end of a running term: it and all terms below it leave their lists."""

from __future__ import annotations

from presage.arrays.jit import Ints, inlined, inlined_always
from presage.operators.epl.kernel.network.memory import (
    ALIVE,
    BEGIN,
    CELL_MATCH,
    CELL_NEXT,
    COUNT,
    FIRST,
    FLAG,
    FREE_CELLS,
    GONE,
    GONE_LAST,
    KEY,
    NEXT,
    NODE,
    OPEN,
    PARENT,
    WAITING,
    A,
    is_alive,
    listeners_of,
    orphan,
    remove,
)
from presage.operators.epl.kernel.network.tables import (
    AND,
    FILTER,
    INTERVAL,
    KIND,
    LISTENER,
    UNTIL,
)


@inlined_always
def bury(net: Ints, memory: Ints, term: int) -> None:
    """Removes an instance without children from its lists. Its block can be read until the moment is over."""
    node = memory[term + NODE]
    kind = net[node + KIND]
    if kind in (FILTER, INTERVAL):
        memory[OPEN if memory[term + BEGIN] >= 0 else WAITING] -= 1
    if kind == FILTER:
        remove(memory, listeners_of(memory, memory[term + KEY], net[node + LISTENER]), term)
    elif kind == AND:
        cell = memory[term + A]
        while cell >= 0:
            after = memory[cell + CELL_NEXT]
            if memory[cell + CELL_MATCH] != memory[term + BEGIN]:
                memory[OPEN] -= 1
            memory[cell + CELL_NEXT] = memory[FREE_CELLS]
            memory[FREE_CELLS] = cell
            cell = after
    elif kind == UNTIL and memory[term + COUNT] > 0:
        memory[OPEN] -= 1
    memory[term + FLAG] &= ~ALIVE
    memory[term + FIRST] = memory[GONE]
    if memory[GONE] < 0:
        memory[GONE_LAST] = term
    memory[GONE] = term


@inlined
def end_term(net: Ints, memory: Ints, term: int) -> None:
    """Ends an instance and all below it."""
    if not is_alive(memory, term):
        return
    orphan(memory, term)
    at = term
    while True:
        first = memory[at + FIRST]
        if first >= 0:
            at = first
            continue
        parent, after = memory[at + PARENT], memory[at + NEXT]
        bury(net, memory, at)
        if at == term:
            return
        memory[parent + FIRST] = after
        at = parent
