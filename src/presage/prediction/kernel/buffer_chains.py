"""Tuples in slots, those of a key linked in order of time: their intervals, what each contributes, and how one leaves.

The interval of a tuple is [START, END): END is STOP, or the START of the next tuple of its key if that comes sooner. A
new tuple has START at its own time and STOP a period later. Evictions move them: a neighbour then stands in for what
has gone. All times are int64 microseconds, rates are per second.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats, Ints, inlined
from presage.prediction.kernel.buffer_heap import (
    ARRIVAL,
    END,
    ENDS,
    KEY,
    NEXT,
    PREV,
    RANK,
    START,
    STOP,
    TIME,
    VICTIMS,
    WHERE,
    put,
    settle,
    take,
)

NONE = -1

MIN_C, IF_FULL, OLDEST, RANDOM = range(4)

# Scalars.
COUNT, ARRIVALS, CLOCK, MADE = range(4)
SCALARS = 4

# Rows of the table of changes: at which arrival, of which tuple, its interval from then on, and why.
AT, PIECE, FROM, TO, WHY = range(5)
CHANGE = 5
HELD, EVICTED, PURGED = range(3)


class Store(NamedTuple):
    """`slots[field, slot]`; `values[slot, attribute]` and `rates`; `heaps[queue, :COUNT]`; `tails[key]`:
    the last slot of a key; `held[:COUNT]`: the slots in use, those free after them; `changes[column, :MADE]`."""

    slots: Ints
    values: Floats
    rates: Floats
    heaps: Ints
    tails: Ints
    held: Ints
    scalars: Ints
    changes: Ints


@inlined
def error_of(store: Store, slot: int, other: int) -> float:
    """What using the other's function over the slot's interval costs: for each attribute the absolute integral of the
    difference. That is linear: its value in the middle, times the length."""
    slots, values, rates = store.slots, store.values, store.rates
    twice = slots[START, slot] + slots[END, slot]
    length = (slots[END, slot] - slots[START, slot]) / 1e6
    mine, others = (twice - 2 * slots[TIME, slot]) / 2e6, (twice - 2 * slots[TIME, other]) / 2e6
    total = 0.0
    for a in range(values.shape[1]):
        off = (values[slot, a] + rates[slot, a] * mine) - (values[other, a] + rates[other, a] * others)
        total += abs(off) * length
    # Where a value is not known no other can stand in for it.
    return np.inf if np.isnan(total) else total


@inlined
def contribution_of(store: Store, slot: int) -> float:
    """The smaller of the errors that the neighbours would make; infinite for the last tuple of a key."""
    before, after = store.slots[PREV, slot], store.slots[NEXT, slot]
    if after == NONE:
        return np.inf
    least = error_of(store, slot, after)
    if before != NONE:
        least = min(least, error_of(store, slot, before))
    return least


@inlined
def enqueue(store: Store, count: int, slot: int, policy: int) -> None:
    """Add a slot to the queues of `count` others; its neighbours are not asked yet."""
    slots = store.slots
    slots[END, slot] = slots[STOP, slot]
    slots[RANK, slot] = slots[TIME, slot]
    put(store.heaps, ENDS, slots, count, slot)
    if policy in (MIN_C, OLDEST):
        put(store.heaps, VICTIMS, slots, count, slot)


@inlined
def refresh(store: Store, count: int, slot: int, policy: int) -> bool:
    """Bring END, contribution and both queues up to date; whether END has changed."""
    slots = store.slots
    after = slots[NEXT, slot]
    end = slots[STOP, slot]
    if after != NONE:
        end = min(end, slots[START, after])
    changed = end != slots[END, slot]
    if changed:
        slots[END, slot] = end
        settle(store.heaps, ENDS, slots, count, slot)
    if policy == MIN_C:
        # As bits, because numbers from 0 up are ordered like the integers that they are stored as.
        rank = np.float64(contribution_of(store, slot)).view(np.int64)
        if rank != slots[RANK, slot]:
            slots[RANK, slot] = rank
            settle(store.heaps, VICTIMS, slots, count, slot)
    return bool(changed)


@inlined
def note(store: Store, at: int, slot: int, why: int) -> None:
    made = store.scalars[MADE]
    store.changes[AT, made] = at
    store.changes[PIECE, made] = store.slots[ARRIVAL, slot]
    store.changes[FROM, made] = store.slots[START, slot]
    store.changes[TO, made] = store.slots[END, slot] if why == HELD else store.slots[START, slot]
    store.changes[WHY, made] = why
    store.scalars[MADE] = made + 1


@inlined
def cover_gap(store: Store, slot: int) -> None:
    """Let the neighbour with the smaller error stand in for a tuple that is evicted; the one before if they are equal.
    If there was a hole beside the tuple's interval, because its sensor was silent for too long, it is covered, too."""
    slots = store.slots
    before, after = slots[PREV, slot], slots[NEXT, slot]
    if before != NONE and (after == NONE or error_of(store, slot, before) <= error_of(store, slot, after)):
        slots[STOP, before] = max(slots[STOP, before], slots[END, slot])
    elif after != NONE:
        slots[START, after] = slots[START, slot]


@inlined
def remove(store: Store, at: int, slot: int, policy: int, why: int) -> None:
    """Take a tuple out of its key's chain, the queues and the list. What is purged leaves a gap, and so does what
    if-full refuses."""
    slots, held = store.slots, store.held
    count = store.scalars[COUNT]
    before, after = slots[PREV, slot], slots[NEXT, slot]
    began = slots[START, after] if after != NONE else np.int64(0)
    if why == EVICTED and policy != IF_FULL:
        cover_gap(store, slot)
    elif before != NONE:
        slots[STOP, before] = min(slots[STOP, before], slots[START, slot])
    note(store, at, slot, why)
    take(store.heaps, ENDS, slots, count, slot)
    if policy in (MIN_C, OLDEST):
        take(store.heaps, VICTIMS, slots, count, slot)
    count -= 1
    where, last = slots[WHERE, slot], held[count]
    held[where], held[count] = last, slot
    slots[WHERE, last], slots[WHERE, slot] = where, count
    store.scalars[COUNT] = count
    if before != NONE:
        slots[NEXT, before] = after
    if after != NONE:
        slots[PREV, after] = before
    else:
        store.tails[slots[KEY, slot]] = before
    if before != NONE and refresh(store, count, before, policy):
        note(store, at, before, HELD)
    if after != NONE and (refresh(store, count, after, policy) or slots[START, after] != began):
        note(store, at, after, HELD)
