"""Steps of many keys and their readings in, beliefs of n particles out: counts by state, divided by n.

States are few, so particles in one state are one number. A step takes each particle's chances on exactly, weighs them
with the readings and draws n particles from the sum by systematic resampling: one random number for a step, made from
(seed, key, time of the step) alone, so it is the same however the input comes. Cost as a filter, whatever n is.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, inlined
from presage.probability.kernel.hmm_belief import advance, begin, likelihood
from presage.probability.kernel.hmm_forward import with_room
from presage.probability.kernel.hmm_spec import Chain, Emission

MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@inlined
def _mixed(x: np.uint64) -> np.uint64:
    """The finalizer of SplitMix64: every bit of the input changes half of the output."""
    x = (x ^ (x >> np.uint64(30))) * MIX_1
    x = (x ^ (x >> np.uint64(27))) * MIX_2
    return x ^ (x >> np.uint64(31))


@inlined
def _uniform(seed: int, key: int, time: int) -> float:
    """A number in [0, 1), by the three of them."""
    x = _mixed(np.uint64(seed) + GOLDEN)
    x = _mixed((x ^ np.uint64(key)) + GOLDEN)
    x = _mixed((x ^ np.uint64(time)) + GOLDEN)
    return float(x >> np.uint64(11)) / 9007199254740992.0


@compiled
def particle_steps(
    chain: Chain,
    emission: Emission,
    bounds: Ints,
    low: Ints,
    high: Ints,
    fresh: Ints,
    codes: Ints,
    values: Floats,
    times: Ints,
    keys: Ints,
    seed: int,
    particles: int,
) -> tuple[Ints, Ints, Floats, Bools]:
    """`keys[k]` is a hash of key k. Entries of step s: `ends[s]` to `ends[s + 1]` of (states, chances); by step whether
    its readings were used: those that exclude all that the particles can reach are not."""
    steps = low.size
    size = chain[0].size
    ends = np.zeros(steps + 1, np.int64)
    states = np.empty(4 * steps + size, np.int64)
    chances = np.empty(4 * steps + size, np.float64)
    usable = np.empty(steps, np.bool_)
    live = np.empty(size, np.int64)
    belief = np.empty(size, np.float64)
    reach = np.empty(size, np.int64)
    predicted = np.empty(size, np.float64)
    sums = np.zeros(size, np.float64)
    count = 0
    total = 0
    for k in range(bounds.size - 1):
        for s in range(bounds[k], bounds[k + 1]):
            if fresh[s]:
                found = begin(chain[0], reach, predicted)
            else:
                found = advance(chain, live, belief, count, reach, predicted, sums)
            # A part too faint for a probability is far too faint for a particle.
            scale = likelihood(emission, low[s], high[s], codes, values, reach, found, belief)
            usable[s] = scale > -np.inf
            whole = 0.0
            for a in range(found):
                belief[a] = belief[a] * predicted[a] if usable[s] else predicted[a]
                whole += belief[a]
            states, chances = with_room(states, chances, total, found)
            # Particle i stands at i + u of n along the sum: a state gets those that lie in its part.
            place = _uniform(seed, keys[k], times[s])
            behind = 0.0
            taken = 0
            count = 0
            for a in range(found):
                behind += belief[a]
                upto = min(max(int(np.ceil(particles * (behind / whole) - place)), taken), particles)
                if upto > taken:
                    live[count] = reach[a]
                    belief[count] = (upto - taken) / particles
                    states[total] = reach[a]
                    chances[total] = belief[count]
                    count += 1
                    total += 1
                taken = upto
            ends[s + 1] = total
    return ends, states[:total].copy(), chances[:total].copy(), usable
