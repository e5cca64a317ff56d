"""Compiles the loops of regular sequences into the cache on disk."""

from __future__ import annotations

import numpy as np

from presage.operators.sequence.kernel.excess import divide_excess
from presage.operators.sequence.kernel.facts import INDEPENDENT, MARKOV, NOTHING, Facts, GoalRows, Source
from presage.operators.sequence.kernel.query import Goal, Sequence, Variable
from presage.operators.sequence.kernel.regular.evaluation import evaluate_regular


def warm_regular() -> None:
    """R(x) ; S(x) over two streams, independent or one of them Markov, R(x) ; R(x) over each alone, and a sequence
    over an independent one whose automaton is not small."""
    x = Variable("x")
    several = (Goal(0, "R", 0, (0,), (x,)), Goal(1, "S", 1, (0,), (x,)))
    alone = (Goal(0, "R", 0, (0,), (x,)), Goal(1, "R", 0, (0,), (x,)))
    step, zeros = np.arange(3), np.zeros(3, np.int64)
    for goals in (several, alone):
        for kind in (INDEPENDENT, MARKOV):
            kinds = (kind, INDEPENDENT)[: 1 + goals[-1].source]
            prev = np.full(3, NOTHING)
            sources = [Source(k, zeros, step, zeros, prev, np.full(3, 0.5), 1) for k in kinds]
            rows = [GoalRows(np.ones(3, np.bool_), np.ones(3, np.bool_), {"x": zeros}) for _ in goals]
            query = Sequence(goals, selected=("x",))
            evaluate_regular(query, Facts(3, sources, rows, domains={"x": 1}), frozenset({"x"}))
    many = tuple(Goal(i, "R", 0, (0,), (x,)) for i in range(5))
    step, zeros = np.arange(5), np.zeros(5, np.int64)
    source = Source(INDEPENDENT, zeros, step, step, np.full(5, NOTHING), np.full(5, 0.5), 1)
    rows = [GoalRows(step == i, step == i, {"x": zeros}) for i in range(5)]
    divide_excess(source, np.ones(5, np.bool_))
    query = Sequence(many, selected=("x",))
    evaluate_regular(query, Facts(5, [source], rows, domains={"x": 1}), frozenset({"x"}))
