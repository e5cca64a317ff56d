"""Compiles the loops of worlds into the cache on disk."""

from __future__ import annotations

import numpy as np

from presage.operators.sequence.kernel.facts import INDEPENDENT, MARKOV, NOTHING, Facts, GoalRows, Source
from presage.operators.sequence.kernel.query import Goal, Sequence, Variable
from presage.operators.sequence.kernel.worlds.enumeration import enumerate_worlds
from presage.operators.sequence.kernel.worlds.most_likely import most_likely, most_likely_path
from presage.operators.sequence.kernel.worlds.sampling import sample_worlds


def warm_worlds() -> None:
    """Run each over R(x) ; S(x) with two steps, so that every loop is compiled (or read from the cache)."""
    step, chain = np.array([0, 1]), np.zeros(2, np.int64)
    sources = [
        Source(kind, chain, step, chain, np.full(2, NOTHING), np.full(2, 0.5), 1) for kind in (MARKOV, INDEPENDENT)
    ]
    goals = tuple(Goal(i, name, i, (0,), (Variable("x"),)) for i, name in enumerate("RS"))
    every = np.ones(2, np.bool_)
    query = Sequence(goals, markov=frozenset({0}))
    facts = Facts(2, sources, [GoalRows(every, every, {"x": chain})] * 2)
    enumerate_worlds(query, facts)
    sample_worlds(query, facts, 0.5, 0.5, 0)
    enumerate_worlds(query, most_likely(query, facts))
    enumerate_worlds(query, most_likely_path(query, facts))
