"""Parts of all loops over hidden states: the transition of a belief, and the likelihood of a step's readings.

A belief is a sorted list of the possible states with their probabilities, which sum to 1: readings leave few of many
states, and only those cost time. A probability below FAINT that is not 0 would soon be lost to rounding, though later
readings may raise it again: the loops then continue with logarithms (`logs`).
`sums` is scratch memory by state, all 0 before and after.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, Ints, inlined
from presage.operators.sequence.kernel.hidden_markov.spec import Chain, Emission

TINY = 1e-150  # smaller products of likelihoods are scaled, so that many readings of one step do not underflow
FAINT = 1e-250
SHORT = 24  # lists up to this length are sorted by insertion; longer ones by a scan of all states


@inlined
def sort_states(reach: Ints, found: int, sums: Floats) -> None:
    """Sort a list of the states where `sums` is not 0."""
    if found <= SHORT:
        for a in range(1, found):
            j = reach[a]
            b = a
            while b > 0 and reach[b - 1] > j:
                reach[b] = reach[b - 1]
                b -= 1
            reach[b] = j
    else:
        a = 0
        for j in range(sums.size):
            if sums[j] != 0.0:
                reach[a] = j
                a += 1


@inlined
def advance(chain: Chain, live: Ints, belief: Floats, count: int, reach: Ints, chances: Floats, sums: Floats) -> int:
    """(reach, chances) = the belief times the transitions; returns the number of states. Sums are added by rising
    state, so that they do not depend on batches."""
    _, offsets, targets, weights, dense = chain
    found = 0
    if dense.shape[0] > 0:
        for a in range(count):
            i = live[a]
            b = belief[a]
            for j in range(sums.size):
                sums[j] += b * dense[i, j]
        for j in range(sums.size):
            if sums[j] > 0.0:
                reach[found] = j
                found += 1
    else:
        for a in range(count):
            b = belief[a]
            for e in range(offsets[live[a]], offsets[live[a] + 1]):
                j = targets[e]
                chance = b * weights[e]
                if sums[j] == 0.0 and chance > 0.0:
                    reach[found] = j
                    found += 1
                sums[j] += chance
        sort_states(reach, found, sums)
    for a in range(found):
        chances[a] = sums[reach[a]]
        sums[reach[a]] = 0.0
    return found


@inlined
def begin(initial: Floats, reach: Ints, chances: Floats) -> int:
    """(reach, chances) = the initial distribution; returns the number of states."""
    found = 0
    for j in range(initial.size):
        if initial[j] > 0.0:
            reach[found] = j
            chances[found] = initial[j]
            found += 1
    return found


@inlined
def is_read(low: int, high: int, codes: Ints) -> bool:
    """Whether a step has a usable reading."""
    read = False
    for r in range(low, high):
        read = read or codes[r] >= 0
    return read


@inlined
def density(emission: Emission, low: int, high: int, values: Floats, j: int) -> float:
    """Logarithm of the normal densities of the readings in state j; missing values (NaN) are skipped."""
    _, _, mean, precision, factor = emission
    total = 0.0
    for r in range(low, high):
        for d in range(mean.shape[1]):
            x = values[r, d]
            if not np.isnan(x):
                x -= mean[j, d]
                total += factor[j, d] - x * x * precision[j, d]
    return total


@inlined
def is_possible(emission: Emission, low: int, high: int, codes: Ints, j: int) -> bool:
    """Whether these readings have a probability above 0 in state j."""
    table, absent, mean, _, _ = emission
    possible = True
    if not is_read(low, high, codes):
        possible = absent[j] > 0.0
    elif mean.shape[0] == 0:
        for r in range(low, high):
            possible = possible and (codes[r] < 0 or table[codes[r], j] > 0.0)
    return possible


@inlined
def likelihood(
    emission: Emission, low: int, high: int, codes: Ints, values: Floats, states: Ints, count: int, out: Floats
) -> float:
    """out[a] = likelihood of the readings low … high in state states[a], up to a factor whose logarithm is returned.

    -inf: the readings are impossible in all of the states.
    """
    table, absent, mean, _, _ = emission
    if not is_read(low, high, codes):
        greatest = 0.0
        for a in range(count):
            out[a] = absent[states[a]]
            greatest = max(greatest, out[a])
        return 0.0 if greatest > 0.0 else -np.inf
    if mean.shape[0] > 0:
        greatest = -np.inf
        for a in range(count):
            out[a] = density(emission, low, high, values, states[a])
            greatest = max(greatest, out[a])
        for a in range(count):
            out[a] = np.exp(out[a] - greatest)
        return greatest
    scale = 0.0
    for a in range(count):
        out[a] = 1.0
    for r in range(low, high):
        if codes[r] >= 0:
            greatest = 0.0
            for a in range(count):
                out[a] *= table[codes[r], states[a]]
                greatest = max(greatest, out[a])
            if greatest == 0.0:
                return -np.inf
            if greatest < TINY:
                scale += np.log(greatest)
                for a in range(count):
                    out[a] /= greatest
    return scale


@inlined
def observe(
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
) -> tuple[int, float, bool, bool]:
    """(live, belief) = the belief (reach, chances) after the readings. Returns the number of states; the logarithm of
    the likelihood of the readings; whether they were used; whether a part of the belief is faint: then the result is
    invalid.

    Readings that all reachable states exclude are ignored.
    """
    scale = likelihood(emission, low, high, codes, values, reach, found, belief)
    used = scale > -np.inf
    total = 0.0
    for a in range(found):
        belief[a] = belief[a] * chances[a] if used else chances[a]
        total += belief[a]
    count = 0
    faint = total < FAINT
    if not faint:
        for a in range(found):
            chance = belief[a] / total
            if chance < FAINT:
                faint = faint or not used or is_possible(emission, low, high, codes, reach[a])
            if chance > 0.0:
                live[count] = reach[a]
                belief[count] = chance
                count += 1
    return count, (scale + np.log(total) if used and not faint else 0.0), used, faint
