"""The bootstrap particle filter of many keys: at each step particles are drawn, weighted and resampled.

At the first step of a key n states are drawn from the model's initial distribution; at every later step each particle
draws its next state from the transitions of its own. Readings weight the particles by their likelihood; the normalised
weights are the belief, and systematic resampling turns them into n particles of equal weight. Where no particle can
give the readings, particles restart from likelihood times initial distribution, and a counter is increased.

Particles of one state are stored as their number. A draw is a binary search in the running sums of a sparse row, so a
step costs n times the logarithm of a state's transitions, whatever the number of states; a restart visits all states
once. A random number depends on (seed, key, time of the step, number of the particle) alone, and not on batches.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, inlined
from presage.operators.sequence.kernel.hidden_markov.belief import begin, likelihood
from presage.operators.sequence.kernel.hidden_markov.forward import with_capacity
from presage.operators.sequence.kernel.hidden_markov.readings import Readings
from presage.operators.sequence.kernel.hidden_markov.spec import Draws, Emission
from presage.operators.sequence.kernel.hidden_markov.steps import Steps
from presage.operators.sequence.kernel.worlds.sampling_loop import GOLDEN, mixed

RESAMPLING = 0  # the random number that resamples the particles of a step; particle i has number i + 1


@inlined
def _stream(seed: int, key: int, time: int) -> np.uint64:
    """The seed of the random numbers of a step."""
    x = mixed(np.uint64(seed) + GOLDEN)
    x = mixed((x ^ np.uint64(key)) + GOLDEN)
    return mixed((x ^ np.uint64(time)) + GOLDEN)


@inlined
def _uniform(stream: np.uint64, number: int) -> float:
    """A number in [0, 1)."""
    return float(mixed((stream ^ np.uint64(number)) + GOLDEN) >> np.uint64(11)) / 9007199254740992.0


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
    """amounts[state]: the number of particles that arrive; `reach`: these states, rising. Returns their number."""
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
    """Particle i is at (i + place) / n of the running sum of the weights. Returns the number of states."""
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


@inlined
def _weigh(
    initial: Floats,
    emission: Emission,
    low: int,
    high: int,
    codes: Ints,
    values: Floats,
    reach: Ints,
    found: int,
    number: Ints,
    live: Ints,
    weights: Floats,
) -> tuple[int, float, bool, bool]:
    """weights[a] of the particles in state reach[a], after a restart of all possible states. Returns the number of
    states, the sum of the weights, whether the readings were used, and whether the particles restarted."""
    usable, anew = likelihood(emission, low, high, codes, values, reach, found, weights) > -np.inf, False
    if not usable:
        # `live` and `weights` are free until the particles are resampled.
        more = begin(initial, live, weights)
        if likelihood(emission, low, high, codes, values, live, more, weights) > -np.inf:
            usable, anew, found = True, True, more
            for a in range(found):
                reach[a] = live[a]
    whole = 0.0
    for a in range(found):
        if anew:
            weights[a] *= initial[reach[a]]
        elif usable:
            weights[a] *= number[a]
        else:
            weights[a] = number[a]
        whole += weights[a]
    return found, whole, usable, anew


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
    (not if the initial distribution excludes them, too), and whether the particles restarted; and the particles of each
    key at the end, as before.
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
            found, whole, usable[s], anew[s] = _weigh(
                draws[0], emission, low[s], high[s], codes, values, reach, found, number, live, weights
            )
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
    made = states[:total].copy(), chances[:total].copy()
    return ends, *made, usable, anew, after, states_after[:kept].copy(), numbers_after[:kept].copy()
