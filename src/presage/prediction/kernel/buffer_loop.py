"""Update-tuples in order of arrival come in; the store of a buffer is changed in place.

Each arrival is linked into its key's chain, then what no question can reach any more is purged, then, if there is one
tuple too many, a victim leaves. Cost: the logarithm of the tuples held, and for a late tuple the number of tuples of
its key that are later.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, Ints, compiled_in_place, inlined
from presage.prediction.kernel.buffer_chains import (
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
    Store,
    enqueue,
    note,
    refresh,
    remove,
)
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
    """A number below `count` that follows from seed and arrival alone."""
    first = _mixed(np.uint64(seed) + _GOLDEN)
    return int(_mixed((first ^ np.uint64(arrival)) + _GOLDEN) % np.uint64(count))


@inlined
def _insert(store: Store, slot: int, policy: int) -> None:
    """Link a tuple into its chain: after those of its time and before those that are later."""
    slots = store.slots
    arrival, key, time = slots[ARRIVAL, slot], slots[KEY, slot], slots[TIME, slot]
    after, before = NONE, int(store.tails[key])
    while before != NONE and slots[TIME, before] > time:
        after, before = before, int(slots[PREV, before])
    slots[PREV, slot], slots[NEXT, slot] = before, after
    if before != NONE:
        slots[NEXT, before] = slot
        # Whoever stood in for evicted tuples from before does so up to here: the new one goes on.
        slots[STOP, slot] = max(slots[STOP, slot], slots[STOP, before])
    moved = False
    if after == NONE:
        store.tails[key] = slot
    else:
        slots[PREV, after] = slot
        if slots[START, after] < time:
            # The next one stood in for what was evicted before it; the new one is nearer.
            slots[START, slot], slots[START, after] = slots[START, after], slots[TIME, after]
            moved = True
    enqueue(store, store.scalars[COUNT], slot, policy)
    count = store.scalars[COUNT] + 1
    store.scalars[COUNT] = count
    refresh(store, count, slot, policy)
    note(store, arrival, slot, HELD)
    if before != NONE and refresh(store, count, before, policy):
        note(store, arrival, before, HELD)
    if after != NONE and (refresh(store, count, after, policy) or moved):
        note(store, arrival, after, HELD)


@inlined
def _purge(store: Store, width: int, policy: int) -> None:
    """Everything that ended before the clock's window. It is a key's earliest tuples."""
    slots, heaps, horizon = store.slots, store.heaps, store.scalars[CLOCK] - width
    while store.scalars[COUNT] > 0 and slots[END, heaps[ENDS, 0]] <= horizon:
        remove(store, store.scalars[ARRIVALS], heaps[ENDS, 0], policy, PURGED)


@inlined
def _victim(store: Store, new: int, policy: int, seed: int) -> int:
    slots, heaps, count = store.slots, store.heaps, store.scalars[COUNT]
    if policy == IF_FULL:
        return new
    first = heaps[VICTIMS, 0]
    if policy == RANDOM or (policy == MIN_C and slots[RANK, first] == _INFINITE):
        return int(store.held[_drawn(seed, slots[ARRIVAL, new], count)])
    if policy == MIN_C or first != new:
        return int(first)
    # The oldest of those that were there is one of the two below.
    second = heaps[VICTIMS, 1]
    if count > 2 and comes_before(slots, RANK, heaps[VICTIMS, 2], second):
        second = heaps[VICTIMS, 2]
    return int(second)


@compiled_in_place
def feed_buffer(
    store: Store, victims: Ints, time: Ints, key: Ints, values: Floats, rates: Floats, clock: Ints,
    limit: int, width: int, period: int, policy: int, seed: int,
) -> None:  # fmt: skip
    """`victims[i]`: the arrival number of what the i-th of these arrivals drove out, itself perhaps, or -1."""
    slots, scalars = store.slots, store.scalars
    for i in range(time.size):
        scalars[CLOCK] = max(scalars[CLOCK], clock[i])
        slot = store.held[scalars[COUNT]]
        slots[ARRIVAL, slot], slots[KEY, slot], slots[TIME, slot] = scalars[ARRIVALS], key[i], time[i]
        slots[START, slot], slots[STOP, slot], slots[WHERE, slot] = time[i], time[i] + period, scalars[COUNT]
        store.values[slot], store.rates[slot] = values[i], rates[i]
        _insert(store, slot, policy)
        _purge(store, width, policy)
        victims[i] = NONE
        if scalars[COUNT] > limit:
            victim = _victim(store, slot, policy, seed)
            victims[i] = slots[ARRIVAL, victim]
            remove(store, scalars[ARRIVALS], victim, policy, EVICTED)
        scalars[ARRIVALS] += 1


@compiled_in_place
def purge_buffer(store: Store, width: int, policy: int) -> None:
    """Purge as far as the clock goes, between arrivals."""
    _purge(store, width, policy)


@compiled_in_place
def rebuild_buffer(store: Store, order: Ints, policy: int) -> None:
    """Chains and queues of tuples that stand in slots 0 … with ARRIVAL, KEY, TIME, START and STOP alone. `order`: the
    slots by time and arrival."""
    slots, tails = store.slots, store.tails
    for i in range(order.size):
        slot = order[i]
        before = tails[slots[KEY, slot]]
        slots[PREV, slot], slots[NEXT, slot] = before, NONE
        if before != NONE:
            slots[NEXT, before] = slot
        tails[slots[KEY, slot]] = slot
    for slot in range(order.size):
        slots[WHERE, slot] = slot
        enqueue(store, slot, slot, policy)
    for slot in range(order.size):
        refresh(store, order.size, slot, policy)
