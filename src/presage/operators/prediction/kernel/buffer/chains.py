"""Chains of tuples by key, in order of time: their intervals, what each contributes, how one is removed.

A tuple is in force from START to END: END is STOP, or the START of the next tuple of its key if that comes sooner. A
new tuple has START at its own time and STOP a period later. Evictions move them: a neighbour then stands in for what
has gone. Times are int64 microseconds, rates are per second. STOP and END are twice a time, and one more if that moment
still belongs to the interval: so intervals that are closed and open compare as plain numbers.

`slots`: see `buffer_heap`. `lines[VALUE | RATE | THRESHOLD, slot, attribute]`. `tails[key]`: the last slot of a key.
`scalars` and `changes[:, :MADE]` have the rows below.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, Ints, inlined
from presage.operators.prediction.kernel.buffer.heap import (
    ALL,
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
VALUE, RATE, THRESHOLD = range(3)
MIN_C, IF_FULL, OLDEST, RANDOM = range(4)

COUNT, ARRIVALS, CLOCK, MADE = range(4)
SCALARS = 4

# At which arrival, of which tuple, its interval from then on, and why.
AT, PIECE, FROM, TO, WHY = range(5)
CHANGE = 5
HELD, EVICTED, PURGED = range(3)


@inlined
def error_of(slots: Ints, lines: Floats, slot: int, other: int) -> float:
    """What using the other's function over the slot's interval costs: for each attribute the absolute integral of the
    difference. That is linear: its value in the middle, times the length."""
    start, end = slots[START, slot], slots[END, slot] >> 1
    twice, length = start + end, (end - start) / 1e6
    mine, others = (twice - 2 * slots[TIME, slot]) / 2e6, (twice - 2 * slots[TIME, other]) / 2e6
    total = 0.0
    for a in range(lines.shape[2]):
        here = lines[VALUE, slot, a] + lines[RATE, slot, a] * mine
        there = lines[VALUE, other, a] + lines[RATE, other, a] * others
        total += abs(here - there) * length
    # Where a value is not known no other can stand in for it.
    return np.inf if np.isnan(total) else total


@inlined
def contribution_of(slots: Ints, lines: Floats, slot: int) -> float:
    """The smaller of the errors that the neighbours would make; infinite for the last tuple of a key."""
    before, after = slots[PREV, slot], slots[NEXT, slot]
    if after == NONE:
        return np.inf
    least = error_of(slots, lines, slot, after)
    if before != NONE:
        least = min(least, error_of(slots, lines, slot, before))
    return least


@inlined
def enqueue(slots: Ints, count: int, slot: int, policy: int) -> None:
    """Add a slot to the queues of `count` others; its neighbours are not asked yet."""
    slots[END, slot] = slots[STOP, slot]
    slots[RANK, slot] = slots[TIME, slot]
    put(slots, ENDS, count, slot)
    if policy in (MIN_C, OLDEST):
        put(slots, VICTIMS, count, slot)


@inlined
def refresh(slots: Ints, lines: Floats, count: int, slot: int, policy: int) -> bool:
    """Bring END, contribution and both queues up to date; whether END has changed."""
    after = slots[NEXT, slot]
    end = slots[STOP, slot]
    if after != NONE:
        end = min(end, 2 * slots[START, after])
    changed = end != slots[END, slot]
    if changed:
        slots[END, slot] = end
        settle(slots, ENDS, count, slot)
    if policy == MIN_C:
        # As bits, because numbers from 0 up are ordered like the integers that they are stored as.
        rank = np.float64(contribution_of(slots, lines, slot)).view(np.int64)
        if rank != slots[RANK, slot]:
            slots[RANK, slot] = rank
            settle(slots, VICTIMS, count, slot)
    return bool(changed)


@inlined
def note(slots: Ints, scalars: Ints, changes: Ints, slot: int, why: int) -> None:
    """Write down what becomes of a tuple with the present arrival."""
    made = scalars[MADE]
    changes[AT, made] = scalars[ARRIVALS]
    changes[PIECE, made] = slots[ARRIVAL, slot]
    changes[FROM, made] = slots[START, slot]
    changes[TO, made] = slots[END, slot] if why == HELD else 2 * slots[START, slot]
    changes[WHY, made] = why
    scalars[MADE] = made + 1


@inlined
def cover_gap(slots: Ints, lines: Floats, slot: int) -> None:
    """Let the neighbour with the smaller error stand in for a tuple that is evicted; the one before if they are equal.
    If there was a hole beside the tuple's interval, because its sensor was silent for too long, it is covered, too."""
    before, after = slots[PREV, slot], slots[NEXT, slot]
    if before != NONE and (
        after == NONE or error_of(slots, lines, slot, before) <= error_of(slots, lines, slot, after)
    ):
        slots[STOP, before] = max(slots[STOP, before], slots[END, slot])
    elif after != NONE:
        slots[START, after] = slots[START, slot]


@inlined
def remove(
    slots: Ints, lines: Floats, tails: Ints, scalars: Ints, changes: Ints, slot: int, policy: int, why: int
) -> None:
    """Take a tuple out of its key's chain, the queues and the list. What is purged leaves a gap, and so does what
    if-full refuses."""
    count = scalars[COUNT]
    before, after = slots[PREV, slot], slots[NEXT, slot]
    began = slots[START, after] if after != NONE else np.int64(0)
    if why == EVICTED and policy != IF_FULL:
        cover_gap(slots, lines, slot)
    elif before != NONE:
        slots[STOP, before] = min(slots[STOP, before], 2 * slots[START, slot])
    note(slots, scalars, changes, slot, why)
    take(slots, ENDS, count, slot)
    if policy in (MIN_C, OLDEST):
        take(slots, VICTIMS, count, slot)
    count -= 1
    where, last = slots[WHERE, slot], slots[ALL, count]
    slots[ALL, where], slots[ALL, count] = last, slot
    slots[WHERE, last], slots[WHERE, slot] = where, count
    scalars[COUNT] = count
    if before != NONE:
        slots[NEXT, before] = after
    if after != NONE:
        slots[PREV, after] = before
    else:
        tails[slots[KEY, slot]] = before
    if before != NONE and refresh(slots, lines, count, before, policy):
        note(slots, scalars, changes, before, HELD)
    if after != NONE and (refresh(slots, lines, count, after, policy) or slots[START, after] != began):
        note(slots, scalars, changes, after, HELD)
