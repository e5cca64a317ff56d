"""The sampler by itself: draws a second, and a regular query in random worlds with error 0.1 at confidence 0.9.

The query is R(x, 'a') ; R(x, 'b') ; R(x, 'c'), "for some x", over keys with three alternatives and "no event" at each
step: what an honest bit-vector sampler costs, to compare exact kernels with. Draws are those of every world, key
and step. The minimum of seven interleaved runs. Run as: python benchmarks/sampling.py [keys] [steps]
"""

from __future__ import annotations

import sys

import numpy as np
from interleaved import minima

from presage.arrays.jit import Ints, compiled_in_place
from presage.operators.sequence.kernel.facts import INDEPENDENT, MARKOV, NOTHING, Facts, GoalRows, Source
from presage.operators.sequence.kernel.query import Goal, Known, Sequence, Variable
from presage.operators.sequence.kernel.spec import worlds_needed
from presage.operators.sequence.kernel.worlds.sampling import sample_worlds
from presage.operators.sequence.kernel.worlds.sampling_loop import Words, bits_between, cumulated, numbers_of, stream_of

ERROR, CONFIDENCE, SEED = 0.1, 0.9, 7
CHANCES = np.array([0.3, 0.3, 0.3])
VALUES = ("a", "b", "c")


@compiled_in_place
def draw_alone(seed: int, chains: int, steps: int, low: Ints, high: Ints, masks: Words) -> None:
    """Draws and nothing else. All are mixed into `masks`, so that none can be left out."""
    numbers = np.empty(64, np.int64)
    for step in range(steps):
        for chain in range(chains):
            stream = stream_of(seed, 0, chain, step)
            for word in range(masks.shape[1]):
                numbers_of(stream, word, numbers)
                for row in range(len(low)):
                    masks[row, word] ^= bits_between(numbers, low[row], high[row])


def query_of(markov: bool) -> Sequence:
    goals = [
        Goal(i, "R", 0, (0,), (Variable("x"), Known(value, f"'{value}'")), text=f"R(x, '{value}')")
        for i, value in enumerate(VALUES)
    ]
    return Sequence(tuple(goals), markov=frozenset({0} if markov else ()))


def facts_of(keys: int, steps: int, markov: bool) -> Facts:
    """Markov: the same chances after each value, so that both kinds do the same work but for looking back."""
    prevs = np.arange(NOTHING, len(VALUES)) if markov else np.array([NOTHING])
    step, chain, prev, value = (
        column.ravel()
        for column in np.meshgrid(
            np.arange(steps), np.arange(keys), prevs, np.arange(len(VALUES)), indexing="ij", sparse=False
        )
    )
    kept = (step > 0) | (prev == NOTHING)
    step, chain, prev, value = step[kept], chain[kept], prev[kept], value[kept]
    source = Source(MARKOV if markov else INDEPENDENT, chain, step, value, prev, CHANCES[value], keys)
    goals = [GoalRows(value == i, np.ones(len(value), np.bool_), {"x": chain}) for i in range(len(VALUES))]
    return Facts(steps, [source], goals, [], {"x": keys})


def main(keys: int, steps: int) -> None:
    worlds = worlds_needed(ERROR, CONFIDENCE)
    words = (worlds + 63) // 64
    low, high = cumulated(CHANCES, np.array([0, len(CHANCES)]))
    masks = np.zeros((len(CHANCES), words), np.uint64)
    rivals = {
        "draws alone": lambda: draw_alone(SEED, keys, steps, low, high, masks),
        "independent": lambda: sample_worlds(query_of(False), independent, ERROR, CONFIDENCE, SEED),
        "Markov": lambda: sample_worlds(query_of(True), markov, ERROR, CONFIDENCE, SEED),
    }
    independent, markov = facts_of(keys, steps, False), facts_of(keys, steps, True)
    best = minima(rivals)
    print(f"{keys:,} keys, {steps:,} steps, {worlds} worlds in {words} words")
    for name, seconds in best.items():
        rate = worlds * keys * steps / seconds / 1e6
        print(f"  {name:<14} {seconds:8.3f} s   {rate:8.1f} M worlds x keys x steps a second")
    full = 64 * words * keys * steps / best["draws alone"] / 1e6
    print(f"  draws a second, with those of the last word that no world needs: {full:.0f} M")


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:3]) if len(sys.argv) > 2 else (200, 500))
