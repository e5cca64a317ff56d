"""The end of a running term: it and all terms below it leave their lists."""

from __future__ import annotations

from presage.arrays.jit import Ints, inlined, inlined_always
from presage.operators.epl.kernel.network import memory as m
from presage.operators.epl.kernel.network.memory import is_alive, listeners_of, orphan, remove
from presage.operators.epl.kernel.network.tables import AND, FILTER, INTERVAL, KIND, LISTENER, UNTIL


@inlined_always
def bury(net: Ints, memory: Ints, term: int) -> None:
    """Removes an instance without children from its lists. Its block can be read until the moment is over."""
    node = memory[term + m.NODE]
    kind = net[node + KIND]
    if kind in (FILTER, INTERVAL):
        memory[m.OPEN if memory[term + m.BEGIN] >= 0 else m.WAITING] -= 1
    if kind == FILTER:
        remove(memory, listeners_of(memory, memory[term + m.KEY], net[node + LISTENER]), term)
    elif kind == AND:
        cell = memory[term + m.A]
        while cell >= 0:
            after = memory[cell + m.CELL_NEXT]
            if memory[cell + m.CELL_MATCH] != memory[term + m.BEGIN]:
                memory[m.OPEN] -= 1
            memory[cell + m.CELL_NEXT] = memory[m.FREE_CELLS]
            memory[m.FREE_CELLS] = cell
            cell = after
    elif kind == UNTIL and memory[term + m.COUNT] > 0:
        memory[m.OPEN] -= 1
    memory[term + m.FLAG] &= ~m.ALIVE
    memory[term + m.FIRST] = memory[m.GONE]
    if memory[m.GONE] < 0:
        memory[m.GONE_LAST] = term
    memory[m.GONE] = term


@inlined
def end_term(net: Ints, memory: Ints, term: int) -> None:
    """Ends an instance and all below it."""
    if not is_alive(memory, term):
        return
    orphan(memory, term)
    at = term
    while True:
        first = memory[at + m.FIRST]
        if first >= 0:
            at = first
            continue
        parent, after = memory[at + m.PARENT], memory[at + m.NEXT]
        bury(net, memory, at)
        if at == term:
            return
        memory[parent + m.FIRST] = after
        at = parent
