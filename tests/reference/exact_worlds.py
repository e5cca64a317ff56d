"""Possible worlds in fractions: the probability of each answer of a sequence query, without any rounding.

The definition of `possible_worlds`, for probabilities that doubles lose: the numbers of the rows are taken as they are,
and a distribution that sums to more than 1 is divided by its sum.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from reference.possible_worlds import NOTHING, Answer, Chain, Outcome, Path, answers_in, world_of
from reference.sequence_semantics import Query


def outcomes(chain: Chain, step: int, before: Outcome) -> list[tuple[Fraction, Outcome]]:
    """What can happen at a step after `before` happened at the step right before it."""
    rows = chain.rows[step]
    if chain.stream.kind == "certain":
        return [(Fraction(1), tuple(row.event for row in rows))]
    if chain.stream.kind == "markov":
        known = None if before == NOTHING else tuple(before[0].values[i] for i in chain.stream.uncertain)
        rows = tuple(row for row in rows if row.before == known)
    chances = [Fraction(row.probability) for row in rows]
    whole = max(sum(chances), Fraction(1))
    found = [(chance / whole, (row.event,)) for chance, row in zip(chances, rows, strict=True)]
    return [pair for pair in (*found, (1 - sum(chances) / whole, NOTHING)) if pair[0] > 0]


def paths(chain: Chain) -> list[tuple[Fraction, Path]]:
    grown: list[tuple[Fraction, Path]] = [(Fraction(1), ())]
    for step in range(len(chain.rows)):
        grown = [
            (probability * chance, (*path, outcome))
            for probability, path in grown
            for chance, outcome in outcomes(chain, step, path[-1] if path else NOTHING)
        ]
    return grown


def answers(query: Query, steps: Sequence[Any], chains: Sequence[Chain]) -> dict[Answer, Fraction]:
    """For each answer that is possible the probability that it is true."""
    found: dict[Answer, Fraction] = {}
    for choice in itertools.product(*(paths(chain) for chain in chains)):
        probability = math.prod((chance for chance, _ in choice), start=Fraction(1))
        for answer in answers_in(query, steps, world_of(steps, [path for _, path in choice])):
            found[answer] = found.get(answer, Fraction(0)) + probability
    return found
