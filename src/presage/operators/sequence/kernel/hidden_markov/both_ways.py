"""Forward and backward pass over one key: its possible states by step, and the likelihood of all that follows in each.

The filter runs forward and keeps its possible states; then the likelihood of the readings from a step on is carried
back over these states. Lists of all steps are adjacent: step s has entries `starts[s]` to `starts[s + 1]`.
"""

from __future__ import annotations

from typing import NamedTuple

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


class KeySteps(NamedTuple):
    """The steps of one key with their readings. `said` and `usable` by step are written: the logarithm of the
    likelihood, and whether the readings were used."""

    low: Ints
    high: Ints
    fresh: Ints
    codes: Ints
    values: Floats
    said: Floats
    usable: Bools


@inlined
def both_ways(chain: Chain, emission: Emission, key: KeySteps) -> tuple[Ints, Ints, Floats, bool]:
    """(states, starts, ahead, in_logs): ahead is the likelihood of the readings from the step on, up to a factor of the
    step; as a logarithm if a part of it would be lost to rounding otherwise (`in_logs`)."""
    states, starts, faint = _forward(chain, emission, key, False)
    if not faint:
        ahead, faint = _backward(chain, emission, key, states, starts)
        if not faint:
            return states, starts, ahead, False
    states, starts, _ = _forward(chain, emission, key, True)
    return states, starts, _backward_in_logs(chain, emission, key, states, starts), True


@inlined
def _forward(chain: Chain, emission: Emission, key: KeySteps, in_logs: bool) -> tuple[Ints, Ints, bool]:
    """(states, starts, faint). faint: a part of a belief would be lost to rounding; the result is incomplete."""
    low, high, fresh, codes, values, said, usable = key
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
            if in_logs:
                take_logs(predicted, found)
        elif in_logs:
            found = advance_logs(chain, live, belief, count, reach, predicted, sums)
        else:
            found = advance(chain, live, belief, count, reach, predicted, sums)
        if in_logs:
            count, said[s], usable[s] = observe_logs(
                emission, low[s], high[s], codes, values, reach, predicted, found, live, belief
            )
        else:
            count, said[s], usable[s], faint = observe(
                emission, low[s], high[s], codes, values, reach, predicted, found, live, belief
            )
            if faint:
                return states, starts, True
        states, beliefs = with_capacity(states, beliefs, starts[s], count)
        for a in range(count):
            states[starts[s] + a] = live[a]
        starts[s + 1] = starts[s] + count
    return states, starts, False


@inlined
def _backward(chain: Chain, emission: Emission, key: KeySteps, states: Ints, starts: Ints) -> tuple[Floats, bool]:
    """(ahead, faint), see `both_ways`."""
    _, offsets, targets, weights, _ = chain
    low, high, fresh, codes, values, _, usable = key
    steps = low.size
    belief = np.empty(chain[0].size, np.float64)
    sums = np.zeros(chain[0].size, np.float64)
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
            return ahead, True
        for a in range(here.size):
            now[a] *= belief[a] / greatest
            small = now[a] < FAINT and belief[a] > 0.0
            if small and (not usable[s] or is_possible(emission, low[s], high[s], codes, here[a])):
                return ahead, True
    return ahead, False


@inlined
def _backward_in_logs(chain: Chain, emission: Emission, key: KeySteps, states: Ints, starts: Ints) -> Floats:
    """As `_backward`, with logarithms."""
    _, offsets, targets, weights, _ = chain
    low, high, fresh, codes, values, _, usable = key
    steps = low.size
    ahead = np.empty(starts[steps], np.float64)
    sums = np.full(chain[0].size, -np.inf)
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
    return ahead
