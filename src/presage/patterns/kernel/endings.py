"""A running term comes in that is to end; it and all below it leave the lists they are in. Parts of the one loop."""

from __future__ import annotations

from presage.arrays.jit import inlined
from presage.patterns.kernel.network import (
    AND,
    CLOCKED,
    FILTER,
    INTERVAL,
    KIND,
    LISTENER,
    QUEUED,
    UNTIL,
    Network,
)
from presage.patterns.kernel.pools import (
    ALIVE,
    BEGIN,
    CELL_FREE,
    CELL_MATCH,
    CELL_NEXT,
    COUNT,
    DUE,
    FIRST,
    FLAG,
    FOREVER,
    GONE,
    GONE_LAST,
    KEY,
    NEXT,
    NODE,
    OPEN,
    PARENT,
    A,
    Pools,
    is_alive,
    orphan,
    remove,
)


@inlined
def bury(net: Network, pools: Pools, i: int) -> None:
    """One instance without children leaves its lists. Its line can be read until the moment is over."""
    terms, registers = pools.terms, pools.registers
    node = terms[i, NODE]
    kind = net.nodes[node, KIND]
    if kind == FILTER:
        remove(terms, pools.listening, terms[i, KEY] * net.listeners.size + net.nodes[node, LISTENER], i)
        if terms[i, BEGIN] >= 0:
            registers[OPEN] -= 1
    elif kind == INTERVAL:
        if terms[i, BEGIN] >= 0:
            registers[OPEN] -= 1
    elif kind == AND:
        cell = terms[i, A]
        while cell >= 0:
            after = pools.cells[cell, CELL_NEXT]
            if pools.cells[cell, CELL_MATCH] != terms[i, BEGIN]:
                registers[OPEN] -= 1
            pools.cells[cell, CELL_NEXT] = registers[CELL_FREE]
            registers[CELL_FREE] = cell
            cell = after
    elif kind == UNTIL and terms[i, COUNT] > 0:
        registers[OPEN] -= 1
    if net.nodes[node, CLOCKED] == QUEUED and terms[i, DUE] != FOREVER:
        remove(terms, pools.queues, node, i)
    terms[i, FLAG] &= ~ALIVE
    terms[i, FIRST] = registers[GONE]
    if registers[GONE] < 0:
        registers[GONE_LAST] = i
    registers[GONE] = i


@inlined
def end_term(net: Network, pools: Pools, i: int) -> None:
    """An instance and all below it."""
    terms = pools.terms
    if not is_alive(terms, i):
        return
    orphan(terms, i)
    at = i
    while True:
        first = terms[at, FIRST]
        if first >= 0:
            at = first
            continue
        parent, after = terms[at, PARENT], terms[at, NEXT]
        bury(net, pools, at)
        if at == i:
            return
        terms[parent, FIRST] = after
        at = parent
