"""A binary heap of slots by (rank, arrival) with their positions, so that any slot can move or be removed.

The table of slots holds two heaps: `slots[queue, :count]`, and for each slot its rank and its position in the queue.
Arrivals are unique, so the order is total and does not depend on the layout of the heap.
"""

from __future__ import annotations

from presage.arrays.jit import Ints, inlined

# Rows of the table of slots: columns of each slot …
ARRIVAL, KEY, TIME, START, STOP, END, RANK, PREV, NEXT, WHERE, BY_END, BY_RANK = range(12)
# … and lists of slots: the two queues, and all slots, those in use first.
ENDS, VICTIMS, ALL = range(12, 15)
ROWS = 15


@inlined
def comes_before(slots: Ints, rank: int, one: int, other: int) -> bool:
    if slots[rank, one] != slots[rank, other]:
        return bool(slots[rank, one] < slots[rank, other])
    return bool(slots[ARRIVAL, one] < slots[ARRIVAL, other])


@inlined
def settle(slots: Ints, queue: int, count: int, slot: int) -> None:
    """Move a slot with a new rank up or down to its place."""
    rank, place = (END, BY_END) if queue == ENDS else (RANK, BY_RANK)
    at = slots[place, slot]
    while at > 0:
        above = slots[queue, (at - 1) >> 1]
        if not comes_before(slots, rank, slot, above):
            break
        slots[queue, at] = above
        slots[place, above] = at
        at = (at - 1) >> 1
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        if child + 1 < count and comes_before(slots, rank, slots[queue, child + 1], slots[queue, child]):
            child += 1
        below = slots[queue, child]
        if not comes_before(slots, rank, below, slot):
            break
        slots[queue, at] = below
        slots[place, below] = at
        at = child
    slots[queue, at] = slot
    slots[place, slot] = at


@inlined
def put(slots: Ints, queue: int, count: int, slot: int) -> None:
    """Add a slot to a queue of `count` others."""
    slots[queue, count] = slot
    slots[BY_END if queue == ENDS else BY_RANK, slot] = count
    settle(slots, queue, count + 1, slot)


@inlined
def take(slots: Ints, queue: int, count: int, slot: int) -> None:
    """Remove a slot from a queue of `count`, itself included."""
    place = BY_END if queue == ENDS else BY_RANK
    at = slots[place, slot]
    last = slots[queue, count - 1]
    if last != slot:
        slots[queue, at] = last
        slots[place, last] = at
        settle(slots, queue, count - 1, last)
