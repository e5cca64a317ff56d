"""Facts of a sequence query: its streams as plain numbers, the input of all methods of evaluation.

A chain is one key of one stream: it has one value, or none (⊥), at each step. Chains are independent of each other.
Rows are alternatives: the value, and how likely it is at that step (MARKOV: given the value at the step before).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints
from presage.arrays.rows import in_order
from presage.operators.sequence.kernel.query import CERTAIN as CERTAIN
from presage.operators.sequence.kernel.query import INDEPENDENT as INDEPENDENT
from presage.operators.sequence.kernel.query import MARKOV as MARKOV

NOTHING = -1  # as a value: no event
# What n alternatives lack to 1 by rounding alone is below n + 1 of these; what is more is the chance of no event.
ROUNDING = 2.0**-52


@dataclass
class Source:
    """Rows of one stream, sorted by step, then chain. `value` numbers the uncertain values of a chain's rows (equal
    values of one chain have equal numbers at all steps); `prev` is such a number, or NOTHING."""

    kind: int
    chain: Ints
    step: Ints
    value: Ints
    prev: Ints
    probability: Floats
    chains: int
    arrival: Ints | None = None  # of each row, where answers tell when they were known
    names: Ints | None = None  # of each chain: a hash of its key, which tells its random numbers


@dataclass
class GoalRows:
    """A goal evaluated on each row of its source. `candidate`: its constants and its own WHERE hold. `accepted`: so do
    the conditions on this event alone that are checked after it was chosen. `variables`: the number of each variable's
    value, below 0 for null, which occurs only in rows that are no candidates; equal values of one variable have equal
    numbers in all goals. A variable at a common position in the key of a stream's goals is read there, also in rows
    that are no candidates, so that it has one value in a chain. `reads`: the conditions on the key alone hold
    (constants, a variable in two positions), so the row's chain may have a candidate now or later (None: all may)."""

    candidate: Bools
    accepted: Bools
    variables: dict[str, Ints] = field(default_factory=dict)
    reads: Bools | None = None


@dataclass
class Allowed:
    """A condition over variables of several goals: the combinations for which it is true, one per line."""

    variables: tuple[str, ...]
    rows: Ints


@dataclass
class Facts:
    """`steps` are numbered from 0 in the order of time. `sources`, `goals` and `conditions` are parallel to those of
    the query; `domains`: how many values a variable has."""

    steps: int
    sources: list[Source]
    goals: list[GoalRows]
    conditions: list[Allowed] = field(default_factory=list)
    domains: dict[str, int] = field(default_factory=dict)
    times: Ints | None = None  # of each step


@dataclass
class Answers:
    """One line for each binding of the selected variables and step at which the sequence may hold. `low` and `high`
    bound a probability that was sampled, else they are equal to it."""

    bindings: Ints  # (lines, selected variables)
    step: Ints
    probability: Floats
    low: Floats
    high: Floats
    sampled: bool = False
    arrival: Ints | None = None  # of the last row that an answer rests on; None: of the step's last row


def exact(bindings: Ints, step: Ints, probability: Floats, arrival: Ints | None = None) -> Answers:
    """Lines with a probability above zero, by step and binding."""
    possible = probability > 0.0
    if possible.all() and in_order([step, *bindings.T]):
        p = np.minimum(probability, 1.0)
        return Answers(bindings, step, p, p, p, arrival=arrival)
    order = np.flatnonzero(possible)
    if not in_order([step[order], *bindings[order].T]):
        order = order[np.lexsort((*bindings[order].T[::-1], step[order]))]
    p = np.minimum(probability[order], 1.0)
    return Answers(bindings[order], step[order], p, p, p, arrival=None if arrival is None else arrival[order])
