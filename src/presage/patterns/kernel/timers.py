"""Timers: an instance and its time go in, the one that falls due first comes out.

Timers of a node with a constant period fall due in the order in which they were made: a queue, where taking one out is
a matter of two links. Timers whose period an event gives are in a heap by (time, creation); those that ended remain
there until they come up.
"""

from __future__ import annotations

from presage.arrays.jit import Ints, inlined
from presage.patterns.kernel.network import CLOCKED, HEAPED, Network
from presage.patterns.kernel.pools import (
    CAUSE,
    DUE,
    FOREVER,
    HEAP,
    KEY,
    KEY_CAUSE,
    NEXT_DUE,
    NODE,
    SERIAL,
    Pools,
    append,
    is_alive,
)


@inlined
def set_timer(net: Network, pools: Pools, i: int, due: int) -> None:
    """FOREVER: it never falls due, so that it need not be kept."""
    terms, registers = pools.terms, pools.registers
    if due == FOREVER:
        return
    terms[i, DUE] = due
    terms[i, CAUSE] = pools.keys[terms[i, KEY], KEY_CAUSE]
    if due < registers[NEXT_DUE]:
        registers[NEXT_DUE] = due
    if net.nodes[terms[i, NODE], CLOCKED] == HEAPED:
        push_heap(registers, pools.heap, due, terms[i, SERIAL], i)
    else:
        append(terms, pools.queues, terms[i, NODE], i)


@inlined
def first_timer(net: Network, pools: Pools) -> int:
    """The instance whose timer is the first to fall due; -1 if there is none. Keeps NEXT_DUE right."""
    terms, registers, heap = pools.terms, pools.registers, pools.heap
    best = -1
    for k in range(net.clocked.size):
        head = pools.queues[net.clocked[k], 0]
        if head >= 0 and (best < 0 or _before(terms, head, best)):
            best = head
    while registers[HEAP] > 0:
        top = heap[0, 2]
        if is_alive(terms, top) and terms[top, SERIAL] == heap[0, 1] and terms[top, DUE] == heap[0, 0]:
            if best < 0 or _before(terms, top, best):
                best = top
            break
        pop_heap(registers, heap)
    registers[NEXT_DUE] = terms[best, DUE] if best >= 0 else FOREVER
    return best


@inlined
def _before(terms: Ints, a: int, b: int) -> bool:
    if terms[a, DUE] != terms[b, DUE]:
        return terms[a, DUE] < terms[b, DUE]  # type: ignore[no-any-return]
    return terms[a, SERIAL] < terms[b, SERIAL]  # type: ignore[no-any-return]


@inlined
def push_heap(registers: Ints, heap: Ints, due: int, serial: int, i: int) -> None:
    at = registers[HEAP]
    registers[HEAP] += 1
    while at > 0:
        up = (at - 1) >> 1
        if heap[up, 0] < due or (heap[up, 0] == due and heap[up, 1] < serial):
            break
        heap[at] = heap[up]
        at = up
    heap[at, 0] = due
    heap[at, 1] = serial
    heap[at, 2] = i


@inlined
def pop_heap(registers: Ints, heap: Ints) -> None:
    registers[HEAP] -= 1
    size = registers[HEAP]
    due, serial, i = heap[size, 0], heap[size, 1], heap[size, 2]
    at = 0
    while True:
        down = 2 * at + 1
        if down >= size:
            break
        right = down + 1
        if right < size and (
            heap[right, 0] < heap[down, 0] or (heap[right, 0] == heap[down, 0] and heap[right, 1] < heap[down, 1])
        ):
            down = right
        if due < heap[down, 0] or (due == heap[down, 0] and serial < heap[down, 1]):
            break
        heap[at] = heap[down]
        at = down
    heap[at, 0] = due
    heap[at, 1] = serial
    heap[at, 2] = i
