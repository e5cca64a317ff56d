"""Bandwidths of numeric attributes, from the numbers that a new event sees of each.

Silverman's rule, 1.06 σ n^(-1/5), over the values of the past events considered, of the sample of older ones and of the
new one. The mean and the squares are running values, so that many new events cost one pass. Squares are in units of the
greatest deviation: neither great nor small numbers leave the range of a double.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, Ints, compiled, inlined
from presage.operators.recall.kernel.contexts import Bags
from presage.operators.recall.kernel.sampled_counts import Beyond

# Running values of each attribute: the count, the first value, the mean above that, the unit, squares in that unit.
COUNT, ORIGIN, MEAN, UNIT, SQUARES = range(5)
# Units below this have no inverse.
LEAST = 1e-300


@inlined
def _enter(state: Floats, value: float, times: float) -> None:
    if state[COUNT] == 0.0:
        state[ORIGIN] = value
    state[COUNT] += times
    apart = value - state[ORIGIN]
    before = apart - state[MEAN]
    state[MEAN] += times * before / state[COUNT]
    after = apart - state[MEAN]
    size = abs(before)
    if size > state[UNIT]:
        shrink = state[UNIT] / size
        state[SQUARES] *= shrink * shrink
        state[UNIT] = size
    if state[UNIT] > 0.0:
        state[SQUARES] += times * (before / state[UNIT]) * (after / state[UNIT])


@inlined
def _enter_all(running: Floats, past: Bags, low: int, high: int) -> None:
    """Enter the occurrences `low` to `high` into an empty state: two passes are faster than one by one."""
    for i in range(low, high):
        state = running[past.attributes[i]]
        if state[COUNT] == 0.0:
            state[ORIGIN] = past.values[i]
        apart = past.values[i] - state[ORIGIN]
        state[COUNT] += 1.0
        state[UNIT] = max(state[UNIT], abs(apart))
    inverse = np.zeros(len(running))
    for a in range(len(running)):
        if running[a, UNIT] > 0.0:
            running[a, UNIT] = max(running[a, UNIT], LEAST)
            inverse[a] = 1.0 / running[a, UNIT]
    for i in range(low, high):
        a = past.attributes[i]
        running[a, MEAN] += (past.values[i] - running[a, ORIGIN]) * inverse[a]
    for a in range(len(running)):
        running[a, MEAN] /= max(1.0, running[a, COUNT])
    for i in range(low, high):
        a = past.attributes[i]
        apart = (past.values[i] - running[a, ORIGIN]) * inverse[a] - running[a, MEAN]
        running[a, SQUARES] += apart * apart
    for a in range(len(running)):
        running[a, MEAN] *= running[a, UNIT]


@inlined
def _enter_beyond(running: Floats, beyond: Beyond, since: int) -> None:
    bags = beyond.bags
    for event in range(since, len(beyond.weight)):
        base = bags.number_starts[0]
        for i in range(bags.number_starts[event] - base, bags.number_starts[event + 1] - base):
            _enter(running[bags.attributes[i]], bags.values[i], float(beyond.weight[event]))


@compiled
def spreads(
    past: Bags, fresh: Bags, beyond: Beyond, order: Ints, place: Ints, begin: Ints, chosen: Floats
) -> tuple[Floats, Floats]:
    """For each new event and attribute: the number of values, and the bandwidth (0: only equal values are alike).

    `order`: the new events by (begin, since, place); `chosen`: the bandwidths that the user chose, or 0.
    """
    count, bandwidth = np.zeros((len(place), len(chosen))), np.zeros((len(place), len(chosen)))
    running = np.zeros((len(chosen), 5))
    first, stop, since = -1, -1, -1
    for e in order:
        if begin[e] != first or beyond.since[e] != since:
            running[:, :] = 0.0
            first, stop, since = begin[e], max(begin[e], place[e]), beyond.since[e]
            base = past.number_starts[0]
            _enter_all(running, past, past.number_starts[first] - base, past.number_starts[stop] - base)
            _enter_beyond(running, beyond, since)
        base = past.number_starts[0]
        if place[e] > stop:
            for i in range(past.number_starts[stop] - base, past.number_starts[place[e]] - base):
                _enter(running[past.attributes[i]], past.values[i], 1.0)
            stop = place[e]
        seen = running.copy()
        base = fresh.number_starts[0]
        for i in range(fresh.number_starts[e] - base, fresh.number_starts[e + 1] - base):
            _enter(seen[fresh.attributes[i]], fresh.values[i], 1.0)
        for a in range(len(chosen)):
            n = seen[a, COUNT]
            count[e, a] = n
            if chosen[a] > 0.0:
                bandwidth[e, a] = chosen[a]
            elif n >= 2.0:
                bandwidth[e, a] = 1.06 * (seen[a, UNIT] * np.sqrt(seen[a, SQUARES] / (n - 1.0))) * n**-0.2
    return count, bandwidth
