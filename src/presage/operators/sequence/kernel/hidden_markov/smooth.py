"""The loop of SMOOTH: beliefs given all readings, as a chain P(now | before, all), for many keys.

Forward and backward (`both_ways`), then forward once more: the last pass computes the conditional tables together with
the marginals, so that both agree to the last bit, and pruned tables have marginals of their own. Cost of a step: three
times the transitions between possible states.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, inlined
from presage.operators.sequence.kernel.hidden_markov.both_ways import KeySteps, both_ways
from presage.operators.sequence.kernel.hidden_markov.forward import with_capacity
from presage.operators.sequence.kernel.hidden_markov.readings import Readings
from presage.operators.sequence.kernel.hidden_markov.spec import Chain, Emission
from presage.operators.sequence.kernel.hidden_markov.steps import Steps


@inlined
def _distribute(chances: Floats, start: int, end: int, total: float, least: float) -> None:
    """Normalise a distribution; entries below `least` become 0 unless they are the greatest, the rest sums to 1."""
    greatest = 0.0
    for e in range(start, end):
        chances[e] /= total
        greatest = max(greatest, chances[e])
    if least > 0.0:
        kept = 0.0
        for e in range(start, end):
            if chances[e] < least and chances[e] < greatest:
                chances[e] = 0.0
            kept += chances[e]
        for e in range(start, end):
            chances[e] /= kept


@inlined
def _begin(initial: Floats, states: Ints, ahead: Floats, in_logs: bool, least: float, out: Floats) -> None:
    """out[a] = the marginal of a step without a step before it, for its possible states."""
    count = states.size
    greatest = -np.inf
    for a in range(count):
        if in_logs:
            out[a] = np.log(initial[states[a]]) + ahead[a]
            greatest = max(greatest, out[a])
        else:
            out[a] = initial[states[a]] * ahead[a]
    total = 0.0
    for a in range(count):
        if in_logs:
            out[a] = np.exp(out[a] - greatest)
        total += out[a]
    _distribute(out, 0, count, total, least)


@inlined
def _go_on(
    chain: Chain, i: int, ahead: Floats, in_logs: bool, least: float, entries: Ints, chances: Floats, count: int
) -> int:
    """Append the entries of P(state | i) above 0 after the first `count`; the new count. `ahead` is by state."""
    _, offsets, targets, weights, _ = chain
    size = ahead.size
    greatest = -np.inf
    if in_logs:
        for e in range(offsets[i], offsets[i + 1]):
            greatest = max(greatest, ahead[targets[e]])
    total = 0.0
    end = count
    for e in range(offsets[i], offsets[i + 1]):
        j = targets[e]
        chance = weights[e] * (np.exp(ahead[j] - greatest) if in_logs else ahead[j])
        if chance > 0.0:
            entries[end] = (i + 1) * size + j
            chances[end] = chance
            total += chance
            end += 1
    _distribute(chances, count, end, total, least)
    kept = count
    for e in range(count, end):
        if chances[e] > 0.0:
            entries[kept] = entries[e]
            chances[kept] = chances[e]
            kept += 1
    return kept


@compiled
def smooth_steps(
    chain: Chain, emission: Emission, timeline: Steps, readings: Readings, tables: int, bridge: int, least: float
) -> tuple[Ints, Ints, Floats, Floats, Bools]:
    """Entries of step s: `ends[s]` to `ends[s + 1]` of (entries, chances); an entry is (before + 1) · S + state, where
    before = -1 is nothing. By step the logarithm of the likelihood and whether its readings were used.

    tables = 1: P(state | before) for each state before that is possible; the first step has the marginal, with nothing
    before. A fresh step that is not the first has the marginal for each state before and for nothing, because there
    may be a step between. bridge = 1: every step has the marginal for nothing too. tables = 0: the marginals.
    """
    initial, offsets, _, _, _ = chain
    bounds, _, low, high, fresh, _, _ = timeline
    codes, values, _ = readings
    steps = low.size
    size = initial.size
    ends = np.zeros(steps + 1, np.int64)
    entries = np.empty(8 * steps + size, np.int64)
    chances = np.empty(8 * steps + size, np.float64)
    said = np.empty(steps, np.float64)
    usable = np.empty(steps, np.bool_)
    marginal = np.zeros(size, np.float64)  # by possible state of the step
    live = np.empty(size, np.int64)  # the step before: its states and their marginal
    belief = np.empty(size, np.float64)
    sums = np.zeros(size, np.float64)
    by_state = np.zeros(size, np.float64)
    count = 0
    for k in range(bounds.size - 1):
        a, b = bounds[k], bounds[k + 1]
        key = KeySteps(low[a:b], high[a:b], fresh[a:b], codes, values, said[a:b], usable[a:b])
        states, starts, ahead, in_logs = both_ways(chain, emission, key)
        nothing = -np.inf if in_logs else 0.0
        for j in range(size):
            by_state[j] = nothing
        known = 0
        for s in range(a, b):
            here = states[starts[s - a] : starts[s - a + 1]]
            now = ahead[starts[s - a] : starts[s - a + 1]]
            if fresh[s]:
                _begin(initial, here, now, in_logs, least, marginal)
                for p in range(known if tables else 0):
                    entries, chances = with_capacity(entries, chances, count, here.size)
                    for h in range(here.size):
                        if marginal[h] > 0.0:
                            entries[count] = (live[p] + 1) * size + here[h]
                            chances[count] = marginal[h]
                            count += 1
            else:
                for h in range(here.size):
                    by_state[here[h]] = now[h]
                for p in range(known):
                    i = live[p]
                    start = count
                    entries, chances = with_capacity(entries, chances, count, offsets[i + 1] - offsets[i])
                    count = _go_on(chain, i, by_state, in_logs, least, entries, chances, count)
                    for e in range(start, count):
                        sums[entries[e] % size] += belief[p] * chances[e]
                    if not tables:
                        count = start
                for h in range(here.size):
                    marginal[h] = sums[here[h]]
                    sums[here[h]] = 0.0
                    by_state[here[h]] = nothing
            known = 0
            for h in range(here.size):
                if marginal[h] > 0.0:
                    live[known] = here[h]
                    belief[known] = marginal[h]
                    known += 1
            if not tables or fresh[s] or bridge:
                entries, chances = with_capacity(entries, chances, count, known)
                for p in range(known):
                    entries[count] = live[p]
                    chances[count] = belief[p]
                    count += 1
            ends[s + 1] = count
    return ends, entries[:count].copy(), chances[:count].copy(), said, usable
