"""Chains in, one certain world out: what the two deterministic rivals of a probabilistic answer take for the truth.

MLE takes at each step the most likely value of each chain by itself; MAP takes each chain's most likely path. ⊥ is a
value like others and loses ties; else the first in order of value wins, for paths from the first step on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from reference.possible_worlds import Chain, Outcome, Path, paths, world_of
from reference.sequence_semantics import World

TIE = 12  # Digits in which two probabilities must be the same to be a tie: rounding must not decide.


def marginals(chain: Chain) -> list[dict[Outcome, float]]:
    """At each step the probability of each value of the chain, ⊥ included."""
    found = []
    for step in range(len(chain.rows)):
        chances: dict[Outcome, list[float]] = {}
        for probability, path in paths(chain):
            chances.setdefault(path[step], []).append(probability)
        found.append({outcome: math.fsum(each) for outcome, each in chances.items()})
    return found


def rank(outcome: Outcome) -> tuple[Any, ...]:
    """The order of values, with ⊥ after all of them."""
    return (not outcome, [event.values for event in outcome])


def likeliest_outcomes(chain: Chain) -> Path:
    return tuple(min(at, key=lambda o: (-round(at[o], TIE), rank(o))) for at in marginals(chain))


def most_likely_path(chain: Chain) -> tuple[float, Path]:
    """The likeliest of all paths, with its probability."""
    return min(paths(chain), key=lambda found: (-round(found[0], TIE), [rank(outcome) for outcome in found[1]]))


def most_likely_values(steps: Sequence[Any], chains: Sequence[Chain]) -> World:
    """MLE: the world of the likeliest value at each step."""
    return world_of(steps, [likeliest_outcomes(chain) for chain in chains])


def most_likely_paths(steps: Sequence[Any], chains: Sequence[Chain]) -> World:
    """MAP: the world of the likeliest paths."""
    return world_of(steps, [most_likely_path(chain)[1] for chain in chains])
