"""Goals that read a Markov chain each: the fast loop against the automaton over joint values."""

from __future__ import annotations

import numpy as np
import pytest

from presage.operators.sequence.kernel.facts import MARKOV, NOTHING, Facts, GoalRows, Source
from presage.operators.sequence.kernel.query import Goal, Sequence, Variable
from presage.operators.sequence.kernel.safe.chains import apart as safe_apart
from presage.operators.sequence.kernel.safe.evaluation import evaluate_safe
from presage.operators.sequence.kernel.safe.plans import Follow, Project, Regular, SafePlan

LETTERS = "RSTUV"


def markov_source(keys: int, steps: int, values: int, there: float, random: np.random.Generator) -> Source:
    """Each row is there with a chance, so some steps of a chain have few rows, or none."""
    shape = (steps, keys, values + 1, values)
    weights = random.random((steps, keys, values + 1, values + 1))
    chance = (weights / weights.sum(axis=-1, keepdims=True))[..., :values].ravel()
    step, chain, prev, value = (places.ravel() for places in np.indices(shape))
    kept = (random.random(len(step)) < there) & ((step > 0) | (prev == 0))
    order = np.flatnonzero(kept)
    return Source(MARKOV, chain[order], step[order], value[order], prev[order] + NOTHING, chance[order], keys)


def goal_rows(source: Source, steps: int, values: int, often: float, random: np.random.Generator) -> GoalRows:
    """Which values are candidates is another matter at each step; a key has its own number for x."""
    wanted = (random.random((steps, values)) < often)[source.step, source.value]
    x = random.permutation(source.chains)[source.chain]
    return GoalRows(wanted, np.ones(len(wanted), np.bool_), {"x": x})


def one_after_the_other(
    goals: int, keys: int, steps: int, values: int, there: float, often: float, random: np.random.Generator
) -> tuple[Sequence, Facts, SafePlan]:
    """R(x) ; S(x) ; … and then a goal that does not share x."""
    own = [Goal(n, LETTERS[n], n, (0,), (Variable("x"), Variable(f"v{n}"))) for n in range(goals)]
    last = Goal(goals, LETTERS[goals], goals, (), (Variable("w"),))
    sources = [markov_source(keys, steps, values, there, random) for _ in own]
    sources.append(markov_source(1, steps, values, there, random))
    rows = [goal_rows(source, steps, values, often, random) for source in sources]
    query = Sequence((*own, last), markov=frozenset(range(goals + 1)))
    return query, Facts(steps, sources, rows), Follow(Project("x", Regular(goals, frozenset({"x"}))), goals)


@pytest.mark.parametrize(
    ("goals", "keys", "steps", "values", "there", "often"),
    [
        (1, 4, 12, 3, 1.0, 0.4),
        (2, 5, 12, 1, 1.0, 0.7),
        (2, 5, 12, 2, 0.8, 0.4),
        (2, 3, 12, 3, 1.0, 1.0),
        (2, 3, 12, 3, 0.9, 0.1),
        (2, 2, 140, 3, 1.0, 0.3),
        (2, 2, 70, 5, 0.9, 0.5),
        (2, 2, 10, 8, 1.0, 0.9),
        (3, 3, 9, 3, 0.9, 0.4),
        (3, 2, 70, 2, 0.9, 0.2),
        (4, 2, 8, 2, 1.0, 0.5),
    ],
)
def test_chains_apart_give_the_chances_of_their_joint_values(
    goals: int, keys: int, steps: int, values: int, there: float, often: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng([goals, keys, steps, values])
    query, facts, plan = one_after_the_other(goals, keys, steps, values, there, often, random)
    reader = safe_apart.ApartReader(query, facts, goals, frozenset({"x"}))
    assert reader.possible
    fast = evaluate_safe(query, facts, plan)
    monkeypatch.setattr(safe_apart, "SPARSE", 0)
    monkeypatch.setattr(safe_apart, "SMALL", 0)
    slow = evaluate_safe(query, facts, plan)
    assert len(fast.step) > 0
    np.testing.assert_array_equal(fast.step, slow.step)
    np.testing.assert_allclose(fast.probability, slow.probability, rtol=1e-9)


def test_a_key_with_few_of_its_rows_is_left_to_the_automaton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe_apart, "SMALL", 0)
    query, facts, _ = one_after_the_other(2, 4, 30, 3, 0.05, 0.5, np.random.default_rng(1))
    assert not safe_apart.ApartReader(query, facts, 2, frozenset({"x"})).possible


def test_rows_of_one_value_that_are_read_only_in_part_are_left_to_the_automaton() -> None:
    query, facts, _ = one_after_the_other(2, 2, 5, 2, 1.0, 1.0, np.random.default_rng(2))
    facts.goals[1].candidate &= facts.sources[1].prev != 0
    assert not safe_apart.ApartReader(query, facts, 2, frozenset({"x"})).possible


def test_a_candidate_that_is_turned_down_is_left_to_the_automaton() -> None:
    query, facts, _ = one_after_the_other(2, 2, 5, 2, 1.0, 1.0, np.random.default_rng(3))
    facts.goals[1].accepted[-1] = False
    assert not safe_apart.ApartReader(query, facts, 2, frozenset({"x"})).possible


def test_several_chains_of_a_value_are_left_to_the_automaton() -> None:
    query, facts, plan = one_after_the_other(2, 4, 6, 2, 1.0, 0.5, np.random.default_rng(4))
    facts.goals[0].variables["x"] //= 2
    facts.goals[1].variables["x"] //= 2
    assert safe_apart.ApartReader(query, facts, 2, frozenset({"x"})).possible
    assert len(evaluate_safe(query, facts, plan).step) > 0


@pytest.mark.parametrize(
    ("goals", "keys", "steps", "values", "there"),
    [
        (1, 4, 12, 3, 1.0),
        (1, 2, 90, 2, 0.8),
        (2, 4, 1, 3, 1.0),
        (2, 4, 2, 3, 1.0),
        (2, 4, 13, 3, 0.7),
        (2, 3, 64, 1, 1.0),
        (2, 2, 130, 3, 0.9),
        (2, 3, 20, 6, 1.0),
        (3, 2, 70, 3, 0.9),
    ],
)
def test_one_candidate_value_of_few_gives_the_chances_of_joint_values(
    goals: int, keys: int, steps: int, values: int, there: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each key has its own value that counts, so that it is the last one for some and not for others."""
    random = np.random.default_rng([goals, keys, steps, values])
    query, facts, plan = one_after_the_other(goals, keys, steps, values, there, 1.0, random)
    for rows, source in zip(facts.goals, facts.sources, strict=True):
        wanted = np.where(np.arange(source.chains) == 0, 0, random.integers(0, values, source.chains))
        rows.candidate = source.value == wanted[source.chain]
    assert safe_apart.ApartReader(query, facts, goals, frozenset({"x"})).possible
    fast = evaluate_safe(query, facts, plan)
    monkeypatch.setattr(safe_apart, "SPARSE", 0)
    monkeypatch.setattr(safe_apart, "SMALL", 0)
    slow = evaluate_safe(query, facts, plan)
    assert len(fast.step) > 0 or steps <= goals
    np.testing.assert_array_equal(fast.step, slow.step)
    np.testing.assert_allclose(fast.probability, slow.probability, rtol=1e-9)


def test_a_chain_whose_only_candidate_value_is_always_one_is_told_from_others() -> None:
    query, facts, _ = one_after_the_other(2, 3, 8, 3, 1.0, 1.0, np.random.default_rng(5))
    source = facts.sources[0]
    # Key 0 has one value that counts; key 1 two of them; key 2 one, but not at each step.
    counts = (source.value == 1) | ((source.chain == 1) & (source.value == 2))
    facts.goals[0].candidate = counts & ~((source.chain == 2) & (source.step == 4))
    alone = safe_apart.ApartReader(query, facts, 2, frozenset({"x"})).chains[0][3]
    np.testing.assert_array_equal(alone, [True, False, False])
