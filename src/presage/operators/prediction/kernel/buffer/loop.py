"""The loops of the buffer: they process update-tuples in order of arrival and change the store in place.

Each arrival is linked into the chain of its key. Then tuples that no query can reach any more are purged, and if there
is one tuple too many, a victim is evicted. Cost: the logarithm of the tuples held, and for a late tuple the number of
later tuples of its key.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats, Ints, compiled_in_place, inlined
from presage.operators.prediction.kernel.buffer.chains import (
    ARRIVALS,
    CLOCK,
    COUNT,
    EVICTED,
    HELD,
    IF_FULL,
    MIN_C,
    NONE,
    PURGED,
    RANDOM,
    enqueue,
    note,
    refresh,
    remove,
)
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
    comes_before,
)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_INFINITE = np.float64(np.inf).view(np.int64)


@inlined
def _mixed(number: np.uint64) -> np.uint64:
    """The finalizer of splitmix64."""
    number = (number ^ (number >> np.uint64(30))) * _FIRST
    number = (number ^ (number >> np.uint64(27))) * _SECOND
    return number ^ (number >> np.uint64(31))


@inlined
def _drawn(seed: int, arrival: int, count: int) -> int:
    """A number below `count` that depends on seed and arrival alone."""
    first = _mixed(np.uint64(seed) + _GOLDEN)
    return int(_mixed((first ^ np.uint64(arrival)) + _GOLDEN) % np.uint64(count))


@inlined
def _insert(slots: Ints, lines: Floats, tails: Ints, scalars: Ints, changes: Ints, slot: int, policy: int) -> None:
    """Link a tuple into its chain, after those of its time."""
    key, time = slots[KEY, slot], slots[TIME, slot]
    after, before = NONE, int(tails[key])
    while before != NONE and slots[TIME, before] > time:
        after, before = before, int(slots[PREV, before])
    slots[PREV, slot], slots[NEXT, slot] = before, after
    if before != NONE:
        slots[NEXT, before] = slot
        # The tuple before it may replace evicted ones beyond this time: the new one takes that over.
        slots[STOP, slot] = max(slots[STOP, slot], slots[STOP, before])
    moved = False
    if after == NONE:
        tails[key] = slot
    else:
        slots[PREV, after] = slot
        if slots[START, after] < time:
            # The tuple after it replaced an evicted one; the new tuple is nearer.
            slots[START, slot], slots[START, after] = slots[START, after], slots[TIME, after]
            moved = True
    enqueue(slots, scalars[COUNT], slot, policy)
    count = scalars[COUNT] + 1
    scalars[COUNT] = count
    refresh(slots, lines, count, slot, policy)
    note(slots, scalars, changes, slot, HELD)
    if before != NONE and refresh(slots, lines, count, before, policy):
        note(slots, scalars, changes, before, HELD)
    if after != NONE and (refresh(slots, lines, count, after, policy) or moved):
        note(slots, scalars, changes, after, HELD)


@inlined
def _victim(slots: Ints, count: int, new: int, policy: int, seed: int) -> int:
    if policy == IF_FULL:
        return new
    first = slots[VICTIMS, 0]
    if policy == RANDOM or (policy == MIN_C and slots[RANK, first] == _INFINITE):
        return int(slots[ALL, _drawn(seed, slots[ARRIVAL, new], count)])
    if policy == MIN_C or first != new:
        return int(first)
    # The new tuple is the first of the heap: the oldest of the others is one of its two children.
    second = slots[VICTIMS, 1]
    if count > 2 and comes_before(slots, RANK, slots[VICTIMS, 2], second):
        second = slots[VICTIMS, 2]
    return int(second)


class Store(NamedTuple):
    """The tuples held (see `chains`), and the changes of their intervals."""

    slots: Ints
    lines: Floats
    tails: Ints
    scalars: Ints
    changes: Ints


class Arrivals(NamedTuple):
    """Update-tuples in order of arrival; `lines` as those of `Store`, `watermark` at each arrival."""

    time: Ints
    key: Ints
    lines: Floats
    watermark: Ints


class Limits(NamedTuple):
    """See `BufferSpec`."""

    limit: int
    width: int
    period: int
    policy: int
    seed: int


@compiled_in_place
def feed_buffer(store: Store, arrivals: Arrivals, limits: Limits, victims: Ints) -> None:
    """`victims[i]`: the arrival number of the tuple that the i-th arrival drove out, possibly itself, or -1."""
    slots, lines, tails, scalars, changes = store
    time, key, new_lines, watermark = arrivals
    limit, width, period, policy, seed = limits
    # Without arrivals only the watermark is followed.
    for i in range(max(time.size, 1)):
        slot = slots[ALL, scalars[COUNT]]
        if time.size > 0:
            scalars[CLOCK] = max(scalars[CLOCK], watermark[i])
            slots[ARRIVAL, slot], slots[KEY, slot], slots[TIME, slot] = scalars[ARRIVALS], key[i], time[i]
            slots[START, slot], slots[STOP, slot] = time[i], 2 * (time[i] + period) + 1
            slots[WHERE, slot] = scalars[COUNT]
            lines[:, slot] = new_lines[:, i]
            _insert(slots, lines, tails, scalars, changes, slot, policy)
        # Purge what ended before the window of the watermark: the earliest tuples of their keys.
        horizon = 2 * (scalars[CLOCK] - width)
        while scalars[COUNT] > 0 and slots[END, slots[ENDS, 0]] <= horizon:
            remove(slots, lines, tails, scalars, changes, slots[ENDS, 0], policy, PURGED)
        if time.size > 0:
            victims[i] = NONE
            if scalars[COUNT] > limit:
                victim = _victim(slots, scalars[COUNT], slot, policy, seed)
                victims[i] = slots[ARRIVAL, victim]
                remove(slots, lines, tails, scalars, changes, victim, policy, EVICTED)
            scalars[ARRIVALS] += 1


@compiled_in_place
def rebuild_buffer(slots: Ints, lines: Floats, tails: Ints, order: Ints, policy: int) -> None:
    """Rebuild chains and queues of the tuples in slots 0, 1, …, of which ARRIVAL, KEY, TIME, START and STOP are set.
    `order`: the slots by time and arrival."""
    for i in range(order.size):
        slot = order[i]
        before = tails[slots[KEY, slot]]
        slots[PREV, slot], slots[NEXT, slot] = before, NONE
        if before != NONE:
            slots[NEXT, before] = slot
        tails[slots[KEY, slot]] = slot
    for slot in range(order.size):
        slots[WHERE, slot] = slot
        enqueue(slots, slot, slot, policy)
    for slot in range(order.size):
        refresh(slots, lines, order.size, slot, policy)
