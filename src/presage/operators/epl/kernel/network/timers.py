"""The queue of timers: the one that falls due first is taken first.

Timers of a node with a constant period fall due in the order in which they were made: a queue, where taking one out is
a matter of two links. Timers of months, and those whose period an event gives, are in a heap by (time, creation); those
that ended remain there until they come up. The heap is made anew for each key that is worked on.
"""

from __future__ import annotations

from presage.arrays.jit import Ints, inlined
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
    QUEUES,
    ROOT,
    SERIAL,
    append,
    is_alive,
    next_term,
    queue_of,
    within_loop,
)
from presage.operators.epl.kernel.network.tables import CLOCKED, HEAPED, QUEUE


@inlined
def set_timer(net: Ints, memory: Ints, heap: Ints, term: int, due: int) -> None:
    """FOREVER: it never falls due, so that it need not be kept."""
    if due == FOREVER:
        return
    memory[term + DUE] = due
    memory[term + CAUSE] = memory[memory[KEYS_AT] + memory[term + KEY] * KEY_WORDS + KEY_CAUSE]
    if due < memory[NEXT_DUE]:
        memory[NEXT_DUE] = due
    if net[memory[term + NODE] + CLOCKED] == HEAPED:
        push_heap(memory, heap, due, memory[term + SERIAL], term)
    else:
        append(memory, queue_of(memory, memory[term + KEY], net[memory[term + NODE] + QUEUE]), term)


@inlined
def first_timer(memory: Ints, heap: Ints) -> int:
    """The instance of the key at hand whose timer is the first to fall due; -1 if there is none. Keeps NEXT_DUE
    right."""
    best = -1
    for k in range(memory[QUEUES]):
        head = memory[queue_of(memory, memory[KEY_NOW], k)]
        if head >= 0 and (best < 0 or _before(memory, head, best)):
            best = head
    while memory[HEAP] > 0:
        top = heap[0, 2]
        if is_alive(memory, top) and memory[top + SERIAL] == heap[0, 1] and memory[top + DUE] == heap[0, 0]:
            if best < 0 or _before(memory, top, best):
                best = top
            break
        pop_heap(memory, heap)
    memory[NEXT_DUE] = memory[best + DUE] if best >= 0 else FOREVER
    return best


@inlined
def fill_heap(net: Ints, memory: Ints, heap: Ints) -> bool:
    """The timers of the key at hand. False: more memory is needed."""
    memory[HEAP] = 0
    root = memory[memory[KEYS_AT] + memory[KEY_NOW] * KEY_WORDS + ROOT]
    at = root
    while at >= 0:
        if net[memory[at + NODE] + CLOCKED] == HEAPED and memory[at + DUE] != FOREVER:
            if memory[HEAP] + 1 >= heap.shape[0]:
                return False
            push_heap(memory, heap, memory[at + DUE], memory[at + SERIAL], at)
        at = next_term(memory, root, at)
    return True


@inlined
def _before(memory: Ints, a: int, b: int) -> bool:
    if memory[a + DUE] != memory[b + DUE]:
        return memory[a + DUE] < memory[b + DUE]  # type: ignore[no-any-return]
    return memory[a + SERIAL] < memory[b + SERIAL]  # type: ignore[no-any-return]


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


@within_loop
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
