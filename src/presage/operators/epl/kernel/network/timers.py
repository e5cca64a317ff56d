"""The heap of timers, by due time, then creation.

A timer whose instance has ended stays in the heap until it is due. The heap is rebuilt for each key that is processed.
"""

from __future__ import annotations

from presage.arrays.jit import Ints, inlined, inlined_always
from presage.operators.epl.kernel.network import memory as m
from presage.operators.epl.kernel.network.memory import is_alive, next_term
from presage.operators.epl.kernel.network.tables import TIMED


@inlined
def set_timer(memory: Ints, heap: Ints, term: int, due: int) -> None:
    if due == m.FOREVER:
        return
    memory[term + m.DUE] = due
    memory[term + m.CAUSE] = memory[memory[m.KEYS_AT] + memory[term + m.KEY] * m.KEY_WORDS + m.KEY_CAUSE]
    if due < memory[m.NEXT_DUE]:
        memory[m.NEXT_DUE] = due
    push_heap(memory, heap, due, memory[term + m.SERIAL], term)


@inlined
def first_timer(memory: Ints, heap: Ints) -> int:
    """The instance of the current key whose timer is due first; -1: none. Updates NEXT_DUE."""
    while memory[m.HEAP] > 0:
        term = heap[0, 2]
        if is_alive(memory, term) and memory[term + m.SERIAL] == heap[0, 1] and memory[term + m.DUE] == heap[0, 0]:
            memory[m.NEXT_DUE] = memory[term + m.DUE]
            return term  # type: ignore[no-any-return]
        pop_heap(memory, heap)
    memory[m.NEXT_DUE] = m.FOREVER
    return -1


@inlined
def fill_heap(net: Ints, memory: Ints, heap: Ints) -> bool:
    """The timers of the current key. False: more memory is needed."""
    memory[m.HEAP] = 0
    root = memory[memory[m.KEYS_AT] + memory[m.KEY_NOW] * m.KEY_WORDS + m.ROOT]
    at = root
    while at >= 0:
        if net[memory[at + m.NODE] + TIMED] and memory[at + m.DUE] != m.FOREVER:
            if memory[m.HEAP] + 1 >= heap.shape[0]:
                return False
            push_heap(memory, heap, memory[at + m.DUE], memory[at + m.SERIAL], at)
        at = next_term(memory, root, at)
    return True


@inlined
def push_heap(memory: Ints, heap: Ints, due: int, serial: int, term: int) -> None:
    at = memory[m.HEAP]
    memory[m.HEAP] += 1
    while at > 0:
        up = (at - 1) >> 1
        if heap[up, 0] < due or (heap[up, 0] == due and heap[up, 1] < serial):
            break
        _copy(heap, up, at)
        at = up
    heap[at, 0] = due
    heap[at, 1] = serial
    heap[at, 2] = term


@inlined_always
def _copy(heap: Ints, line: int, to: int) -> None:
    for k in range(3):
        heap[to, k] = heap[line, k]


@inlined
def pop_heap(memory: Ints, heap: Ints) -> None:
    memory[m.HEAP] -= 1
    size = memory[m.HEAP]
    due, serial, term = heap[size, 0], heap[size, 1], heap[size, 2]
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
        _copy(heap, down, at)
        at = down
    heap[at, 0] = due
    heap[at, 1] = serial
    heap[at, 2] = term
