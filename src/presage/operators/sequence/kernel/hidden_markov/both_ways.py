"""Forward and backward pass over one key: its possible states by step, and how likely all that follows is in each.

The filter runs forward and keeps its beliefs; then the likelihood of the readings from a step on is carried back, for
the states that the filter left. Lists of all steps lie one after the other: step s has `starts[s]` to `starts[s + 1]`.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, inlined
from presage.operators.sequence.kernel.hidden_markov.belief import (
    FAINT,
    advance,
    begin,
    is_possible,
    likelihood,
    observe,
)
from presage.operators.sequence.kernel.hidden_markov.forward import with_capacity
from presage.operators.sequence.kernel.hidden_markov.logs import advance_logs, likelihood_log, observe_logs, take_logs
from presage.operators.sequence.kernel.hidden_markov.spec import Chain, Emission


@inlined
def both_ways(
    chain: Chain,
    emission: Emission,
    low: Ints,
    high: Ints,
    fresh: Ints,
    codes: Ints,
    values: Floats,
    said: Floats,
    usable: Bools,
) -> tuple[Ints, Ints, Floats, bool]:
    """(states, starts, ahead, faint): ahead is the likelihood of the readings from the step on, up to a factor of the
    step. faint: a part of it would be lost to rounding, and nothing is to be used. Writes to `said` and `usable`."""
    _, offsets, targets, weights, _ = chain
    steps = low.size
    size = chain[0].size
    starts = np.zeros(steps + 1, np.int64)
    states = np.empty(8 * steps + size, np.int64)
    beliefs = np.empty(8 * steps + size, np.float64)
    live = np.empty(size, np.int64)
    belief = np.empty(size, np.float64)
    reach = np.empty(size, np.int64)
    predicted = np.empty(size, np.float64)
    sums = np.zeros(size, np.float64)
    count = 0
    for s in range(steps):
        if fresh[s]:
            found = begin(chain[0], reach, predicted)
        else:
            found = advance(chain, live, belief, count, reach, predicted, sums)
        count, said[s], usable[s], faint = observe(
            emission, low[s], high[s], codes, values, reach, predicted, found, live, belief
        )
        if faint:
            return states, starts, beliefs, True
        states, beliefs = with_capacity(states, beliefs, starts[s], count)
        for a in range(count):
            states[starts[s] + a] = live[a]
        starts[s + 1] = starts[s] + count
    ahead = np.empty(starts[steps], np.float64)
    for s in range(steps - 1, -1, -1):
        here = states[starts[s] : starts[s + 1]]
        now = ahead[starts[s] : starts[s + 1]]
        if usable[s]:
            likelihood(emission, low[s], high[s], codes, values, here, here.size, now)
        else:
            for a in range(here.size):
                now[a] = 1.0
        if s == steps - 1 or fresh[s + 1]:
            continue
        for b in range(starts[s + 1], starts[s + 2]):
            sums[states[b]] = ahead[b]
        greatest = 0.0
        for a in range(here.size):
            later = 0.0
            for e in range(offsets[here[a]], offsets[here[a] + 1]):
                later += weights[e] * sums[targets[e]]
            belief[a] = later
            greatest = max(greatest, later)
        for b in range(starts[s + 1], starts[s + 2]):
            sums[states[b]] = 0.0
        if greatest < FAINT:
            return states, starts, ahead, True
        for a in range(here.size):
            now[a] *= belief[a] / greatest
            small = now[a] < FAINT and belief[a] > 0.0
            if small and (not usable[s] or is_possible(emission, low[s], high[s], codes, here[a])):
                return states, starts, ahead, True
    return states, starts, ahead, False


@inlined
def both_ways_in_logs(
    chain: Chain,
    emission: Emission,
    low: Ints,
    high: Ints,
    fresh: Ints,
    codes: Ints,
    values: Floats,
    said: Floats,
    usable: Bools,
) -> tuple[Ints, Ints, Floats]:
    """As `both_ways`, with logarithms."""
    _, offsets, targets, weights, _ = chain
    steps = low.size
    size = chain[0].size
    starts = np.zeros(steps + 1, np.int64)
    states = np.empty(8 * steps + size, np.int64)
    beliefs = np.empty(8 * steps + size, np.float64)
    live = np.empty(size, np.int64)
    belief = np.empty(size, np.float64)
    reach = np.empty(size, np.int64)
    predicted = np.empty(size, np.float64)
    sums = np.zeros(size, np.float64)
    count = 0
    for s in range(steps):
        if fresh[s]:
            found = begin(chain[0], reach, predicted)
            take_logs(predicted, found)
        else:
            found = advance_logs(chain, live, belief, count, reach, predicted, sums)
        count, said[s], usable[s] = observe_logs(
            emission, low[s], high[s], codes, values, reach, predicted, found, live, belief
        )
        states, beliefs = with_capacity(states, beliefs, starts[s], count)
        for a in range(count):
            states[starts[s] + a] = live[a]
        starts[s + 1] = starts[s] + count
    ahead = np.empty(starts[steps], np.float64)
    for j in range(size):
        sums[j] = -np.inf
    for s in range(steps - 1, -1, -1):
        follows = s < steps - 1 and not fresh[s + 1]
        if follows:
            for b in range(starts[s + 1], starts[s + 2]):
                sums[states[b]] = ahead[b]
        for b in range(starts[s], starts[s + 1]):
            i = states[b]
            ahead[b] = likelihood_log(emission, low[s], high[s], codes, values, i) if usable[s] else 0.0
            if follows:
                greatest = -np.inf
                for e in range(offsets[i], offsets[i + 1]):
                    greatest = max(greatest, sums[targets[e]])
                later = 0.0
                if greatest > -np.inf:
                    for e in range(offsets[i], offsets[i + 1]):
                        later += weights[e] * np.exp(sums[targets[e]] - greatest)
                ahead[b] += greatest + np.log(later) if later > 0.0 else -np.inf
        if follows:
            for b in range(starts[s + 1], starts[s + 2]):
                sums[states[b]] = -np.inf
    return states, starts, ahead
