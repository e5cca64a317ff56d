"""The loop of VITERBI: the most likely path of states of many keys. The first state wins ties.

Paths with the same transitions in another order are equally likely but differ by rounding, so two logarithms that
differ by less than SAME count as equal. They are relative to the best of the step, which keeps rounding below SAME.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled
from presage.operators.sequence.kernel.hidden_markov.logs import likelihood_log
from presage.operators.sequence.kernel.hidden_markov.readings import Readings
from presage.operators.sequence.kernel.hidden_markov.spec import Chain, Emission
from presage.operators.sequence.kernel.hidden_markov.steps import Steps

SAME = 1e-10


@compiled
def path_steps(log_chain: Chain, emission: Emission, timeline: Steps, readings: Readings) -> tuple[Ints, Floats, Bools]:
    """By step: the state of the path, the increase of the logarithm of its probability, and whether the readings were
    used (not if all reachable states exclude them). `log_chain` has logarithms. Cost as a filter."""
    initial, offsets, targets, weights, _ = log_chain
    bounds, _, low, high, fresh, _, _ = timeline
    codes, values, _ = readings
    steps = low.size
    size = initial.size
    longest = 0
    for k in range(bounds.size - 1):
        longest = max(longest, bounds[k + 1] - bounds[k])
    came_from = np.empty((longest, size), np.int32)
    states = np.empty(steps, np.int64)
    said = np.zeros(steps, np.float64)
    usable = np.empty(steps, np.bool_)
    best = np.empty(size, np.float64)
    reach = np.empty(size, np.float64)
    for k in range(bounds.size - 1):
        start = bounds[k]
        end = bounds[k + 1]
        for s in range(start, end):
            origin = came_from[s - start]
            if fresh[s]:
                for j in range(size):
                    reach[j] = initial[j]
            else:
                for j in range(size):
                    reach[j] = -np.inf
                for i in range(size):
                    if best[i] > -np.inf:
                        for e in range(offsets[i], offsets[i + 1]):
                            j = targets[e]
                            if best[i] + weights[e] > reach[j] + SAME:
                                reach[j] = best[i] + weights[e]
                                origin[j] = i
            greatest = -np.inf
            for j in range(size):
                best[j] = -np.inf
                if reach[j] > -np.inf:
                    best[j] = reach[j] + likelihood_log(emission, low[s], high[s], codes, values, j)
                    greatest = max(greatest, best[j])
            usable[s] = greatest > -np.inf
            if not usable[s]:
                for j in range(size):
                    best[j] = reach[j]
                    greatest = max(greatest, best[j])
            said[s] = greatest
            for j in range(size):
                best[j] -= greatest
            if s == end - 1 or fresh[s + 1]:
                last = 0
                for j in range(1, size):
                    if best[j] > best[last] + SAME:
                        last = j
                states[s] = last
                t = s
                while not fresh[t]:
                    states[t - 1] = came_from[t - start, states[t]]
                    t -= 1
    return states, said, usable
