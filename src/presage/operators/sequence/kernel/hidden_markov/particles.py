"""The bootstrap particle filter of many keys: particles are drawn, weighed by the readings and resampled, step by step.

At the first step of a key n states are drawn from the model's initial distribution; at every later one each particle
draws its next state from the transitions of its own. A reading weighs the particles by its likelihood; the shares of
the weights are the belief, and systematic resampling makes n particles of equal weight of them. Where no particle can
give the readings, the particles start anew from likelihood times initial distribution, and that is counted.

Particles of one state are one number: how many they are. A draw is a binary search in the sums of a sparse row, so a
step costs n times the logarithm of the ways on, whatever the number of states; starting anew costs the states once.
A random number is made from (seed, key, time of the step, number of the particle) alone: it is the same however the
input comes.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, inlined
from presage.operators.sequence.kernel.hidden_markov.belief import begin, likelihood
from presage.operators.sequence.kernel.hidden_markov.forward import with_capacity
from presage.operators.sequence.kernel.hidden_markov.readings import Readings
from presage.operators.sequence.kernel.hidden_markov.spec import Draws, Emission
from presage.operators.sequence.kernel.hidden_markov.steps import Steps

MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
RESAMPLING = 0  # the random number of a step by which its particles are resampled; particle i has number i + 1


@inlined
def _mixed(x: np.uint64) -> np.uint64:
    """The finalizer of SplitMix64: every bit of the input changes half of the output."""
    x = (x ^ (x >> np.uint64(30))) * MIX_1
    x = (x ^ (x >> np.uint64(27))) * MIX_2
    return x ^ (x >> np.uint64(31))


@inlined
def _stream(seed: int, key: int, time: int) -> np.uint64:
    """What the random numbers of a step are made from."""
    x = _mixed(np.uint64(seed) + GOLDEN)
    x = _mixed((x ^ np.uint64(key)) + GOLDEN)
    return _mixed((x ^ np.uint64(time)) + GOLDEN)


@inlined
def _uniform(stream: np.uint64, number: int) -> float:
    """A number in [0, 1)."""
    return float(_mixed((stream ^ np.uint64(number)) + GOLDEN) >> np.uint64(11)) / 9007199254740992.0


@inlined
def _drawn(sums: Floats, low: int, high: int, chance: float) -> int:
    """The first entry of low … high whose running sum is above `chance` of the whole."""
    wanted = chance * sums[high - 1]
    last = high - 1
    while low < last:
        middle = (low + last) // 2
        if sums[middle] > wanted:
            last = middle
        else:
            low = middle + 1
    return low


@inlined
def _move(draws: Draws, live: Ints, number: Ints, count: int, stream: np.uint64, amounts: Ints, reach: Ints) -> int:
    """`amounts` by state: how many particles arrive; `reach`: which states they are, rising; how many of these."""
    _, _, _, offsets, targets, sums = draws
    found, particle = 0, 0
    for a in range(count):
        low, high = offsets[live[a]], offsets[live[a] + 1]
        for _ in range(number[a]):
            particle += 1
            j = targets[_drawn(sums, low, high, _uniform(stream, particle))]
            if amounts[j] == 0:
                reach[found] = j
                found += 1
            amounts[j] += 1
    reach[:found].sort()
    return found


@inlined
def _start(draws: Draws, particles: int, stream: np.uint64, amounts: Ints, reach: Ints) -> int:
    """As `_move`, from the initial distribution."""
    _, states, sums, _, _, _ = draws
    found = 0
    for particle in range(1, particles + 1):
        j = states[_drawn(sums, 0, states.size, _uniform(stream, particle))]
        if amounts[j] == 0:
            reach[found] = j
            found += 1
        amounts[j] += 1
    reach[:found].sort()
    return found


@inlined
def _resample(
    weights: Floats, whole: float, reach: Ints, found: int, n: int, place: float, live: Ints, number: Ints
) -> int:
    """Particle i stands at i + place of n along the weights; a state gets those that lie in its part."""
    last = 0
    for a in range(found):
        if weights[a] > 0.0:
            last = a
    behind, taken, count = 0.0, 0, 0
    for a in range(last + 1):
        behind += weights[a]
        upto = min(max(int(np.ceil(n * (behind / whole) - place)), taken), n)
        upto = n if a == last else upto
        if upto > taken:
            live[count] = reach[a]
            number[count] = upto - taken
            count += 1
        taken = upto
    return count


@compiled
def particle_steps(
    draws: Draws,
    emission: Emission,
    timeline: Steps,
    readings: Readings,
    keys: Ints,
    seed: int,
    particles: int,
    starts: Ints,
    states_before: Ints,
    numbers_before: Ints,
) -> tuple[Ints, Ints, Floats, Bools, Bools, Ints, Ints, Ints]:
    """`keys[k]` is a hash of key k. Its particles at the step before its first one here are the entries `starts[k]` to
    `starts[k + 1]` of (states, numbers) before, by rising state; not read where that first step is fresh.

    Entries of step s: `ends[s]` to `ends[s + 1]` of (states, chances). Then by step whether its readings were used
    (those that the initial distribution excludes, too, are not), and whether the particles started anew; and the
    particles of each key at the end, as before.
    """
    bounds, times, low, high, fresh, _, _ = timeline
    codes, values, _ = readings
    steps = low.size
    size = draws[0].size
    ends = np.zeros(steps + 1, np.int64)
    states = np.empty(4 * steps + size, np.int64)
    chances = np.empty(4 * steps + size, np.float64)
    usable = np.empty(steps, np.bool_)
    anew = np.zeros(steps, np.bool_)
    after = np.zeros(bounds.size, np.int64)
    most = states_before.size + (bounds.size - 1) * min(size, particles)
    states_after = np.empty(most, np.int64)
    numbers_after = np.empty(most, np.int64)
    live = np.empty(size, np.int64)
    number = np.empty(size, np.int64)
    reach = np.empty(size, np.int64)
    weights = np.empty(size, np.float64)
    prior = np.empty(size, np.float64)
    amounts = np.zeros(size, np.int64)
    total, kept = 0, 0
    for k in range(bounds.size - 1):
        count = 0
        for e in range(starts[k], starts[k + 1]):
            live[count] = states_before[e]
            number[count] = numbers_before[e]
            count += 1
        for s in range(bounds[k], bounds[k + 1]):
            stream = _stream(seed, keys[k], times[s])
            if fresh[s]:
                found = _start(draws, particles, stream, amounts, reach)
            else:
                found = _move(draws, live, number, count, stream, amounts, reach)
            for a in range(found):
                number[a] = amounts[reach[a]]
                amounts[reach[a]] = 0
            usable[s] = likelihood(emission, low[s], high[s], codes, values, reach, found, weights) > -np.inf
            if not usable[s]:
                # All weights are 0. `live` is free until the particles are resampled.
                more = begin(draws[0], live, prior)
                if likelihood(emission, low[s], high[s], codes, values, live, more, weights) > -np.inf:
                    usable[s], anew[s] = True, True
                    found = more
                    for a in range(found):
                        reach[a] = live[a]
            whole = 0.0
            for a in range(found):
                if anew[s]:
                    weights[a] *= prior[a]
                elif usable[s]:
                    weights[a] *= number[a]
                else:
                    weights[a] = number[a]
                whole += weights[a]
            states, chances = with_capacity(states, chances, total, found)
            for a in range(found):
                if weights[a] > 0.0:
                    states[total] = reach[a]
                    chances[total] = weights[a] / whole
                    total += 1
            ends[s + 1] = total
            count = _resample(weights, whole, reach, found, particles, _uniform(stream, RESAMPLING), live, number)
        for a in range(count):
            states_after[kept] = live[a]
            numbers_after[kept] = number[a]
            kept += 1
        after[k + 1] = kept
    return (
        ends,
        states[:total].copy(),
        chances[:total].copy(),
        usable,
        anew,
        after,
        states_after[:kept].copy(),
        numbers_after[:kept].copy(),
    )
