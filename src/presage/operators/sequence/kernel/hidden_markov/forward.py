"""The forward loop of FILTER: the belief of each step, P(state now | readings so far), for many keys.

Scaled forward recursion. Cost of a step: the transitions from states that are possible, and their number.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, inlined
from presage.operators.sequence.kernel.hidden_markov.belief import advance, begin, observe
from presage.operators.sequence.kernel.hidden_markov.logs import advance_logs, is_clear, observe_logs, take_logs
from presage.operators.sequence.kernel.hidden_markov.readings import Readings
from presage.operators.sequence.kernel.hidden_markov.spec import Chain, Emission
from presage.operators.sequence.kernel.hidden_markov.steps import Steps


@inlined
def with_capacity(entries: Ints, chances: Floats, used: int, more: int) -> tuple[Ints, Floats]:
    """Capacity for `more` entries after the first `used`. Copied in a loop: Numba compiles `a[:n] = b[:n]` slowly."""
    if used + more <= entries.size:
        return entries, chances
    size = max(2 * entries.size, used + more)
    longer = np.empty(size, np.int64)
    longer_chances = np.empty(size, np.float64)
    for e in range(used):
        longer[e] = entries[e]
        longer_chances[e] = chances[e]
    return longer, longer_chances


@compiled
def filter_steps(
    chain: Chain, emission: Emission, timeline: Steps, readings: Readings, before: Floats, logs_before: Ints
) -> tuple[Ints, Ints, Floats, Floats, Ints, Floats, Bools]:
    """`before[k, state]` is the belief of key k at the step before its first one here, in logarithms where
    `logs_before[k]`; not read where that first step is fresh.

    Entries of step s, states of probability above 0: `ends[s]` to `ends[s + 1]` of (states, chances). Then beliefs at
    the end by key, in logarithms or not; by step the logarithm of the likelihood and whether its readings were used.
    """
    bounds, _, low, high, fresh, _, _ = timeline
    codes, values, _ = readings
    steps = low.size
    size = chain[0].size
    ends = np.zeros(steps + 1, np.int64)
    states = np.empty(4 * steps + size, np.int64)
    chances = np.empty(4 * steps + size, np.float64)
    beliefs = before.copy()
    logs_after = logs_before.copy()
    said = np.empty(steps, np.float64)
    usable = np.empty(steps, np.bool_)
    live = np.empty(size, np.int64)
    belief = np.empty(size, np.float64)
    reach = np.empty(size, np.int64)
    predicted = np.empty(size, np.float64)
    sums = np.zeros(size, np.float64)
    total = 0
    for k in range(bounds.size - 1):
        if bounds[k] == bounds[k + 1]:
            continue
        in_logs = logs_before[k] == 1
        nothing = -np.inf if in_logs else 0.0
        count = 0
        for j in range(size):
            if beliefs[k, j] > nothing:
                live[count] = j
                belief[count] = beliefs[k, j]
                count += 1
        for s in range(bounds[k], bounds[k + 1]):
            if fresh[s]:
                in_logs = False
                found = begin(chain[0], reach, predicted)
            elif in_logs:
                found = advance_logs(chain, live, belief, count, reach, predicted, sums)
            else:
                found = advance(chain, live, belief, count, reach, predicted, sums)
            if not in_logs:
                count, said[s], usable[s], in_logs = observe(
                    emission, low[s], high[s], codes, values, reach, predicted, found, live, belief
                )
                if in_logs:
                    take_logs(predicted, found)
            if in_logs:
                count, said[s], usable[s] = observe_logs(
                    emission, low[s], high[s], codes, values, reach, predicted, found, live, belief
                )
                if is_clear(belief, count):
                    in_logs = False
                    for a in range(count):
                        belief[a] = np.exp(belief[a])
            states, chances = with_capacity(states, chances, total, count)
            for a in range(count):
                chance = np.exp(belief[a]) if in_logs else belief[a]
                if chance > 0.0:
                    states[total] = live[a]
                    chances[total] = chance
                    total += 1
            ends[s + 1] = total
        logs_after[k] = 1 if in_logs else 0
        for j in range(size):
            beliefs[k, j] = -np.inf if in_logs else 0.0
        for a in range(count):
            beliefs[k, live[a]] = belief[a]
    return ends, states[:total].copy(), chances[:total].copy(), beliefs, logs_after, said, usable
