"""Goals that read one chain together, and a goal that follows: the loops over tables against those over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from presage.operators.sequence.kernel.facts import INDEPENDENT, MARKOV, NOTHING, Facts, GoalRows, Source
from presage.operators.sequence.kernel.query import Goal, Sequence, Variable
from presage.operators.sequence.kernel.safe.chains import key_chains
from presage.operators.sequence.kernel.safe.chains.one_chain import classes_of, outward
from presage.operators.sequence.kernel.safe.evaluation import evaluate_safe
from presage.operators.sequence.kernel.safe.plans import Follow, Project, Regular, SafePlan

X, Y = Variable("x"), Variable("y")


def some_source(kind: int, keys: int, steps: int, values: int, random: np.random.Generator) -> Source:
    before = values + 1 if kind == MARKOV else 1
    weights = random.random((steps, keys, before, values + 1))
    chance = (weights / weights.sum(axis=-1, keepdims=True))[..., :values].ravel()
    step, chain, prev, value = (places.ravel() for places in np.indices((steps, keys, before, values)))
    kept = np.flatnonzero((random.random(len(step)) < 0.9) & ((step > 0) | (prev == 0)))
    return Source(kind, chain[kept], step[kept], value[kept], prev[kept] + NOTHING, chance[kept], keys)


def some_rows(source: Source, steps: int, values: int, taken: float, random: np.random.Generator) -> GoalRows:
    """What a goal says of a value is another matter at each step; some candidates may be turned down."""
    wanted = (random.random((steps, values)) < 0.5)[source.step, source.value]
    accepted = (random.random((steps, values)) < taken)[source.step, source.value]
    return GoalRows(wanted, accepted, {"x": source.chain % 2, "y": source.chain // 2})


def world(
    kind: int, goals: int, plus: bool, steps: int, values: int, taken: float, inner: bool, seed: int
) -> tuple[Sequence, Facts, SafePlan]:
    """C(x, y) ; C(x, y)+ ; … over one stream, then A(x), and perhaps B()."""
    random = np.random.default_rng(seed)
    shared = frozenset({"x", "y"}) if plus else None
    own = [Goal(n, "C", 0, (0, 1), (X, Y), plus=shared if n == 1 else None) for n in range(goals)]
    own.append(Goal(goals, "A", 1, (0,), (X,), selective=taken < 1.0))
    plan: SafePlan = Project("x", Follow(Project("y", Regular(goals, frozenset({"x", "y"}))), goals))
    if inner:
        own.append(Goal(goals + 1, "B", 2, (), ()))
        plan = Follow(plan, goals + 1)
    sources = [some_source(kind, keys, steps, values, random) for keys in (4, 2, 1)[: 2 + inner]]
    rows = [some_rows(sources[goal.source], steps, values, taken, random) for goal in own]
    if inner:
        rows[goals].accepted[:] = True
    markov = frozenset(range(len(sources))) if kind == MARKOV else frozenset()
    return Sequence(tuple(own), markov=markov), Facts(steps, sources, rows), plan


def compare_with_rows(query: Any, facts: Any, plan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains at once have the answers of the way over rows."""
    fast = evaluate_safe(query, facts, plan)
    with monkeypatch.context() as patch:
        patch.setattr(key_chains, "MOST_GOALS", 0)
        slow = evaluate_safe(query, facts, plan)
    assert len(slow.step)
    np.testing.assert_array_equal(fast.step, slow.step)
    np.testing.assert_allclose(fast.probability, slow.probability, atol=1e-12)


@pytest.mark.parametrize("kind", [INDEPENDENT, MARKOV])
@pytest.mark.parametrize(
    ("goals", "plus", "steps", "values", "taken", "inner"),
    [
        (1, False, 12, 3, 1.0, False),
        (2, True, 12, 3, 1.0, False),
        (2, False, 12, 2, 1.0, True),
        (2, True, 70, 3, 0.6, False),
        (2, True, 140, 1, 1.0, True),
        (3, False, 12, 5, 1.0, True),
        (3, True, 70, 4, 1.0, False),
        (3, True, 12, 3, 0.5, False),
    ],
)
def test_tables_say_what_rows_say(
    kind: int,
    goals: int,
    plus: bool,
    steps: int,
    values: int,
    taken: float,
    inner: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seed in range(3):
        query, facts, plan = world(kind, goals, plus, steps, values, taken, inner, seed)
        compare_with_rows(query, facts, plan, monkeypatch)


@pytest.mark.parametrize("leads", [0, 1, 2])
@pytest.mark.parametrize(
    ("steps", "values", "plus", "still", "inner"),
    [(12, 3, True, 0, False), (70, 3, False, 0, True), (140, 3, True, 5, False), (12, 3, True, 40, False)],
)
def test_one_value_leads_on_and_any_event_finds(
    leads: int, steps: int, values: int, plus: bool, still: int, inner: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`still`: so many rows are no candidates for the second goal, and in the last chain another value leads on, too.
    A value that cannot be at a step says nothing there."""
    for seed in range(3):
        query, facts, plan = world(MARKOV, 2, plus, steps, values, 1.0, inner, seed)
        source = facts.sources[0]
        source.probability[(source.step % 5 == 3) & (source.value == seed)] = 0.0
        wanted, found = source.value == leads, np.ones(len(source.value), np.bool_)
        if still:
            wanted |= (source.chain == 3) & (source.value == (leads + 1) % 3)
            found = ~((source.step < still) & (source.chain == 1) & (source.value == (leads + 2) % 3))
        for own, said in zip(facts.goals[:2], (wanted, found), strict=True):
            own.candidate[:], own.accepted[:] = said, True
        compare_with_rows(query, facts, plan, monkeypatch)


def test_states_that_nothing_tells_apart_are_one() -> None:
    follow = np.array([[0, 1], [2, 0], [1, 0], [0, 1]])
    found = np.array([[False, False], [False, True], [False, True], [False, False]])
    own, leaders = classes_of(follow, found, False)
    assert own.tolist() == [0, 1, 1, 0]
    assert leaders.tolist() == [0, 1]


def test_what_comes_after_it_was_found_may_make_no_difference() -> None:
    follow = np.array([[1, 1], [1, 0], [2, 2], [2, 2]])
    found = np.array([[False, False], [False, True], [False, True], [False, False]])
    assert classes_of(follow, found, False)[0].tolist() == [0, 1, 2, 3]
    assert classes_of(follow, found, True)[0].tolist() == [0, 1, 1, 0]


def test_states_go_outward_unless_they_go_in_a_circle() -> None:
    assert outward(np.array([[0, -1], [0, 1], [1, 2]])).tolist() == [2, 1, 0]
    assert outward(np.array([[1, 0], [0, 1]])).tolist() == []


def test_a_value_that_only_the_last_step_has_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    query, facts, plan = world(MARKOV, 2, True, 12, 6, 1.0, False, 1)
    source = facts.sources[0]
    source.value[(source.value == 5) & (source.step < 11)] = 4
    reader = key_chains.KeyChains(query, facts, query.goals[:2], frozenset({"x", "y"}))
    assert reader.size == 7
    compare_with_rows(query, facts, plan, monkeypatch)
