"""A small automaton for all groups at once gives what it gives group by group, however many have rows at a step."""

from __future__ import annotations

import numpy as np
import pytest

from presage.operators.sequence.kernel.facts import INDEPENDENT, NOTHING, Facts, GoalRows, Source
from presage.operators.sequence.kernel.query import Goal, Sequence, Variable
from presage.operators.sequence.kernel.regular.evaluation import evaluate_regular
from presage.operators.sequence.kernel.regular.side_by_side import BLOCK

KEYS, STEPS, VALUES = 3 * BLOCK // 2, 12, 4


def facts_of(share: float) -> Facts:
    """Some keys have rows at a step, with one to three of the values; that the first goal wants, the second, …"""
    random = np.random.default_rng(3)
    there = np.zeros((STEPS, KEYS, VALUES), np.bool_)
    there[random.random((STEPS, KEYS)) < share] = random.random(VALUES) < 0.6
    there[0, 0] = True
    step, chain, value = np.nonzero(there)
    p = random.random(len(step)) / VALUES
    arrival = np.arange(len(step)) - len(step) // 2  # what a timer makes has a number below zero
    source = Source(INDEPENDENT, chain, step, value, np.full(len(step), NOTHING), p, KEYS, arrival)
    goals = [GoalRows(value >= goal, value > goal, {"x": chain}) for goal in range(3)]
    return Facts(STEPS, [source], goals, domains={"x": KEYS})


@pytest.mark.parametrize("share", [0.01, 0.2, 0.3, 1.0])
def test_groups_side_by_side_and_one_by_one(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    x, facts = Variable("x"), facts_of(share)
    plus = frozenset({"x"})
    goals = tuple(Goal(i, "R", 0, (0,), (x,), plus=plus if i == 1 else None) for i in range(3))
    query = Sequence(goals, selected=("x",))
    together = evaluate_regular(query, facts, plus)
    monkeypatch.setattr("presage.operators.sequence.kernel.regular.passes.moves_of", lambda automaton: None)
    alone = evaluate_regular(query, facts, plus)
    assert together is not None
    assert alone is not None
    assert len(together.answers.step) > 0
    for name in ("bindings", "step", "arrival"):
        assert np.array_equal(getattr(together.answers, name), getattr(alone.answers, name))
    np.testing.assert_allclose(together.answers.probability, alone.answers.probability, rtol=1e-12)
    np.testing.assert_allclose(together.beliefs.mass, alone.beliefs.mass, rtol=1e-12)
