"""A binary heap of slots, the least first by (rank, arrival), that knows where each stands: any can move or leave.

There are two in one table: `heaps[queue, :count]` holds slots. The table of slots has in its rows, for each slot, the
rank by which a queue is ordered (`RANKS[queue]`) and where in it the slot stands (`PLACES[queue]`). Arrivals are all
different, so the order is total and the layout of a heap is never seen.
"""

from __future__ import annotations

from presage.arrays.jit import Ints, inlined

# Rows of the table of slots.
ARRIVAL, KEY, TIME, START, STOP, END, PREV, NEXT, WHERE, BY_END, RANK, BY_RANK = range(12)
FIELDS = 12

ENDS, VICTIMS = 0, 1
RANKS, PLACES = (END, RANK), (BY_END, BY_RANK)


@inlined
def comes_before(slots: Ints, rank: int, one: int, other: int) -> bool:
    if slots[rank, one] != slots[rank, other]:
        return bool(slots[rank, one] < slots[rank, other])
    return bool(slots[ARRIVAL, one] < slots[ARRIVAL, other])


@inlined
def settle(heaps: Ints, queue: int, slots: Ints, count: int, slot: int) -> None:
    """Bring a slot whose rank is new to where it belongs, up or down."""
    rank, place = RANKS[queue], PLACES[queue]
    at = slots[place, slot]
    while at > 0:
        above = heaps[queue, (at - 1) >> 1]
        if not comes_before(slots, rank, slot, above):
            break
        heaps[queue, at] = above
        slots[place, above] = at
        at = (at - 1) >> 1
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        if child + 1 < count and comes_before(slots, rank, heaps[queue, child + 1], heaps[queue, child]):
            child += 1
        below = heaps[queue, child]
        if not comes_before(slots, rank, below, slot):
            break
        heaps[queue, at] = below
        slots[place, below] = at
        at = child
    heaps[queue, at] = slot
    slots[place, slot] = at


@inlined
def put(heaps: Ints, queue: int, slots: Ints, count: int, slot: int) -> None:
    """Add a slot to a heap of `count` others."""
    heaps[queue, count] = slot
    slots[PLACES[queue], slot] = count
    settle(heaps, queue, slots, count + 1, slot)


@inlined
def take(heaps: Ints, queue: int, slots: Ints, count: int, slot: int) -> None:
    """Remove a slot from a heap of `count`, itself included."""
    at = slots[PLACES[queue], slot]
    last = heaps[queue, count - 1]
    if last != slot:
        heaps[queue, at] = last
        slots[PLACES[queue], last] = at
        settle(heaps, queue, slots, count - 1, last)
