"""Compiles the loops of safe plans into the cache on disk."""

from __future__ import annotations

import numpy as np

from presage.operators.sequence.kernel.facts import INDEPENDENT, MARKOV, NOTHING, Facts, GoalRows, Source
from presage.operators.sequence.kernel.query import Goal, Sequence, Variable
from presage.operators.sequence.kernel.safe.evaluation import evaluate_safe
from presage.operators.sequence.kernel.safe.plans import Follow, Project, Regular, SafePlan

STEPS = 6
PAIRS: SafePlan = Project("y", Regular(2, frozenset({"x", "y"})))
PLAN: SafePlan = Follow(Follow(Project("x", Follow(PAIRS, 2)), 3), 4)


def warm_safe() -> None:
    """R(x, y) ; S(x, y) ; T(x) ; U() ; V(), over streams of both kinds, dense and sparse; also with S(x, y)+{x, y}, and
    where both are of one stream."""
    for kind in (INDEPENDENT, MARKOV):
        for alike in (True, False):
            _run(kind, alike, None)
        _run(kind, True, None, second=0)
    _run(MARKOV, True, frozenset({"x", "y"}))


def _run(kind: int, alike: bool, plus: frozenset[str] | None, second: int = 1) -> None:
    """`alike`: what a row means depends on its value alone, as the dense loop wants it. `second`: the source of S."""
    x, y = Variable("x"), Variable("y")
    goals = [Goal(0, "R", 0, (0, 1), (x, y)), Goal(1, "S", second, (0, 1), (x, y), plus=plus)]
    goals.append(Goal(2, "T", 2, (0,), (x,)))
    goals += [Goal(n, name, n, (), ()) for n, name in enumerate("UV", start=3)]
    query = Sequence(tuple(goals), markov=frozenset(range(5)) if kind == MARKOV else frozenset())
    step = np.repeat(np.arange(STEPS), 2)
    zeros = np.zeros(len(step), np.int64)
    # Once after no event and once after the event itself.
    prev = np.tile([NOTHING, 0], STEPS)
    sources = [Source(kind, zeros, step, zeros, prev, np.full(len(step), 0.5), 1) for _ in goals]
    wanted = np.ones(len(step), np.bool_) if alike or kind != MARKOV else prev == 0
    rows = [GoalRows(wanted, wanted, {"x": zeros, "y": zeros}) for _ in goals]
    evaluate_safe(query, Facts(STEPS, sources, rows, domains={"x": 1, "y": 1}), PLAN)
