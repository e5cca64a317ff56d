"""The heap of timers, by due time, then creation.

A timer whose instance has ended stays in the heap until it is due. The heap is rebuilt for each key that is processed.
"""

from __future__ import annotations

from presage.arrays.jit import Ints, inlined, inlined_always
from presage.operators.epl.kernel.network.memory import (
    CAUSE,
    DUE,
    FOREVER,
    HEAP,
    KEY,
    KEY_CAUSE,
    KEY_NOW,
    KEY_WORDS,
    KEYS_AT,
    NEXT_DUE,
    NODE,
    ROOT,
    SERIAL,
    is_alive,
    next_term,
)
from presage.operators.epl.kernel.network.tables import TIMED


@inlined
def set_timer(memory: Ints, heap: Ints, term: int, due: int) -> None:
    if due == FOREVER:
        return
    memory[term + DUE] = due
    memory[term + CAUSE] = memory[memory[KEYS_AT] + memory[term + KEY] * KEY_WORDS + KEY_CAUSE]
    if due < memory[NEXT_DUE]:
        memory[NEXT_DUE] = due
    push_heap(memory, heap, due, memory[term + SERIAL], term)


@inlined
def first_timer(memory: Ints, heap: Ints) -> int:
    """The instance of the current key whose timer is due first; -1: none. Updates NEXT_DUE."""
    while memory[HEAP] > 0:
        term = heap[0, 2]
        if is_alive(memory, term) and memory[term + SERIAL] == heap[0, 1] and memory[term + DUE] == heap[0, 0]:
            memory[NEXT_DUE] = memory[term + DUE]
            return term  # type: ignore[no-any-return]
        pop_heap(memory, heap)
    memory[NEXT_DUE] = FOREVER
    return -1


@inlined
def fill_heap(net: Ints, memory: Ints, heap: Ints) -> bool:
    """The timers of the current key. False: more memory is needed."""
    memory[HEAP] = 0
    root = memory[memory[KEYS_AT] + memory[KEY_NOW] * KEY_WORDS + ROOT]
    at = root
    while at >= 0:
        if net[memory[at + NODE] + TIMED] and memory[at + DUE] != FOREVER:
            if memory[HEAP] + 1 >= heap.shape[0]:
                return False
            push_heap(memory, heap, memory[at + DUE], memory[at + SERIAL], at)
        at = next_term(memory, root, at)
    return True


@inlined
def push_heap(memory: Ints, heap: Ints, due: int, serial: int, term: int) -> None:
    at = memory[HEAP]
    memory[HEAP] += 1
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
    memory[HEAP] -= 1
    size = memory[HEAP]
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
