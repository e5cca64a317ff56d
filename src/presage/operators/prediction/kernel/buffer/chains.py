"""Chains of the tuples of each key, in order of time: intervals, contributions and removal.

A tuple is in force from START to END: END is STOP, or the START of the next tuple of its key if that is earlier. A new
tuple has START at its own time and STOP a period later. Evictions move them: a neighbour replaces the evicted tuple.
Times are int64 microseconds, rates are per second. STOP and END are twice a time, plus one if that moment is included,
so that open and closed ends compare as plain numbers.

`slots`: see `heap`. `lines[VALUE | RATE | THRESHOLD, slot, attribute]`. `tails[key]`: the last slot of a key. `scalars`
and `changes[:, :MADE]` have the rows below.
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

# A change: at which arrival, of which tuple, its interval from then on, and why.
AT, PIECE, FROM, TO, WHY = range(5)
CHANGE = 5
HELD, EVICTED, PURGED = range(3)


@inlined
def error_of(slots: Ints, lines: Floats, slot: int, other: int) -> float:
    """The error of using the other's function over the slot's interval: for each attribute the absolute integral of the
    difference. The difference is linear: its value in the middle, times the length."""
    start, end = slots[START, slot], slots[END, slot] >> 1
    twice, length = start + end, (end - start) / 1e6
    mine, others = (twice - 2 * slots[TIME, slot]) / 2e6, (twice - 2 * slots[TIME, other]) / 2e6
    total = 0.0
    for a in range(lines.shape[2]):
        here = lines[VALUE, slot, a] + lines[RATE, slot, a] * mine
        there = lines[VALUE, other, a] + lines[RATE, other, a] * others
        total += abs(here - there) * length
    # A missing value cannot be replaced.
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
    """Add a slot to the queues of `count` others; its neighbours are not considered yet."""
    slots[END, slot] = slots[STOP, slot]
    slots[RANK, slot] = slots[TIME, slot]
    put(slots, ENDS, count, slot)
    if policy in (MIN_C, OLDEST):
        put(slots, VICTIMS, count, slot)


@inlined
def refresh(slots: Ints, lines: Floats, count: int, slot: int, policy: int) -> bool:
    """Update END, contribution and both queues; return whether END has changed."""
    after = slots[NEXT, slot]
    end = slots[STOP, slot]
    if after != NONE:
        end = min(end, 2 * slots[START, after])
    changed = end != slots[END, slot]
    if changed:
        slots[END, slot] = end
        settle(slots, ENDS, count, slot)
    if policy == MIN_C:
        # The bits of a non-negative double have its order.
        rank = np.float64(contribution_of(slots, lines, slot)).view(np.int64)
        if rank != slots[RANK, slot]:
            slots[RANK, slot] = rank
            settle(slots, VICTIMS, count, slot)
    return bool(changed)


@inlined
def note(slots: Ints, scalars: Ints, changes: Ints, slot: int, why: int) -> None:
    """Append the change of a tuple by the current arrival."""
    made = scalars[MADE]
    changes[AT, made] = scalars[ARRIVALS]
    changes[PIECE, made] = slots[ARRIVAL, slot]
    changes[FROM, made] = slots[START, slot]
    changes[TO, made] = slots[END, slot] if why == HELD else 2 * slots[START, slot]
    changes[WHY, made] = why
    scalars[MADE] = made + 1


@inlined
def cover_gap(slots: Ints, lines: Floats, slot: int) -> None:
    """Replace an evicted tuple by the neighbour with the smaller error; the one before if they are equal. A gap next to
    the tuple's interval, left by a silent sensor, is covered too."""
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
    """Remove a tuple from its key's chain, the queues and the list. A purged tuple leaves a gap, and so does one that
    if-full rejects."""
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
