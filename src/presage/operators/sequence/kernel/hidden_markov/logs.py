"""The parts of `belief` with logarithms of probabilities: slower, but without underflow."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, Ints, inlined
from presage.operators.sequence.kernel.hidden_markov.belief import density, is_read, sort_states
from presage.operators.sequence.kernel.hidden_markov.spec import Chain, Emission

CLEAR = -500.0  # a belief whose logarithms are all greater is converted back to probabilities


@inlined
def advance_logs(
    chain: Chain, live: Ints, belief: Floats, count: int, reach: Ints, chances: Floats, sums: Floats
) -> int:
    """As `advance`, on logarithms."""
    _, offsets, targets, weights, _ = chain
    found = 0
    for a in range(count):
        for e in range(offsets[live[a]], offsets[live[a] + 1]):
            if sums[targets[e]] == 0.0:
                sums[targets[e]] = 1.0
                reach[found] = targets[e]
                found += 1
    sort_states(reach, found, sums)
    for a in range(found):
        sums[reach[a]] = -np.inf
    for a in range(count):
        for e in range(offsets[live[a]], offsets[live[a] + 1]):
            sums[targets[e]] = max(sums[targets[e]], belief[a] + np.log(weights[e]))
    for a in range(found):
        chances[a] = sums[reach[a]]
        sums[reach[a]] = 0.0
    for a in range(count):
        for e in range(offsets[live[a]], offsets[live[a] + 1]):
            greatest = chances[np.searchsorted(reach[:found], targets[e])]
            sums[targets[e]] += np.exp(belief[a] + np.log(weights[e]) - greatest)
    for a in range(found):
        chances[a] += np.log(sums[reach[a]])
        sums[reach[a]] = 0.0
    return found


@inlined
def likelihood_log(emission: Emission, low: int, high: int, codes: Ints, values: Floats, j: int) -> float:
    """Logarithm of the likelihood of the readings low … high in state j."""
    table, absent, mean, _, _ = emission
    if not is_read(low, high, codes):
        return np.log(absent[j]) if absent[j] > 0.0 else -np.inf
    if mean.shape[0] > 0:
        return density(emission, low, high, values, j)
    total = 0.0
    for r in range(low, high):
        if codes[r] >= 0:
            chance = table[codes[r], j]
            if chance == 0.0:
                return -np.inf
            total += np.log(chance)
    return total


@inlined
def observe_logs(
    emission: Emission,
    low: int,
    high: int,
    codes: Ints,
    values: Floats,
    reach: Ints,
    chances: Floats,
    found: int,
    live: Ints,
    belief: Floats,
) -> tuple[int, float, bool]:
    """As `observe`, on logarithms."""
    greatest = -np.inf
    for a in range(found):
        belief[a] = chances[a] + likelihood_log(emission, low, high, codes, values, reach[a])
        greatest = max(greatest, belief[a])
    used = greatest > -np.inf
    if not used:
        for a in range(found):
            belief[a] = chances[a]
            greatest = max(greatest, belief[a])
    total = 0.0
    for a in range(found):
        total += np.exp(belief[a] - greatest)
    total = greatest + np.log(total)
    count = 0
    for a in range(found):
        if belief[a] > -np.inf:
            live[count] = reach[a]
            belief[count] = belief[a] - total
            count += 1
    return count, (total if used else 0.0), used


@inlined
def take_logs(values: Floats, count: int) -> None:
    for a in range(count):
        values[a] = np.log(values[a])


@inlined
def is_clear(belief: Floats, count: int) -> bool:
    clear = True
    for a in range(count):
        clear = clear and belief[a] > CLEAR
    return clear
