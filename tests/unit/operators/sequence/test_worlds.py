"""All worlds at once: the exact columns, the sampled bits and the most likely world, against possible worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from presage.errors import PresageError
from presage.operators.sequence.kernel.facts import (
    CERTAIN,
    INDEPENDENT,
    MARKOV,
    NOTHING,
    Allowed,
    Answers,
    Facts,
    GoalRows,
    Source,
)
from presage.operators.sequence.kernel.query import Condition, Goal, Sequence, Variable
from presage.operators.sequence.kernel.spec import worlds_needed
from presage.operators.sequence.kernel.worlds import sampling
from presage.operators.sequence.kernel.worlds.enumeration import enumerate_worlds
from presage.operators.sequence.kernel.worlds.most_likely import most_likely
from presage.operators.sequence.kernel.worlds.sampling import sample_worlds
from property.sequence_facts import query_and_facts
from property.sequence_texts import Case, cases
from reference.possible_worlds import answers_in
from reference.sequence_rivals import most_likely_paths, most_likely_values


def chances(answers: Answers) -> dict[tuple[tuple[int, ...], int], float]:
    lines = zip(answers.bindings.tolist(), answers.step.tolist(), answers.probability.tolist(), strict=True)
    return {(tuple(binding), step): p for binding, step, p in lines}


def named(answers: Answers, case: Case, values: dict[str, list[Any]], steps: list[Any]) -> dict[Any, float]:
    selected = case.query.selected
    return {
        (tuple(values[name][code] for name, code in zip(selected, binding, strict=True)), steps[step]): p
        for (binding, step), p in chances(answers).items()
    }


def source(kind: int, rows: list[tuple[int, ...]], chances: list[float] | None = None) -> Source:
    """Rows (step, chain, value, value before)."""
    step, chain, value, prev = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    p = np.ones(len(rows)) if chances is None else np.array(chances)
    return Source(kind, chain, step, value, prev, p, int(chain.max()) + 1)


def goal(number: int, source: int, *names: str, plus: frozenset[str] | None = None) -> Goal:
    return Goal(number, f"S{source}", source, (0,), tuple(Variable(name) for name in names), plus)


def goal_rows(source: Source, **variables: np.ndarray) -> GoalRows:
    """All rows are candidates and accepted."""
    every = np.ones(len(source.chain), np.bool_)
    return GoalRows(every, every, variables)


def keyed(keys: int, steps: int, share: float, seed: int) -> Source:
    """An independent stream with one value: at each step this share of its keys may have it."""
    random = np.random.default_rng(seed)
    rows = [(t, k, 0, NOTHING) for t in range(steps) for k in range(keys) if random.random() < share]
    return source(INDEPENDENT, rows, random.uniform(0.2, 0.8, len(rows)).tolist())


def hard_query(name: str, keys: int, steps: int, share: float) -> tuple[Sequence, Facts]:
    """The queries of which the paper shows that they are hard."""
    many = [keyed(keys, steps, share, seed) for seed in (1, 2)]
    single = keyed(1, steps, 0.5, 3)
    if name == "h1":
        goals, sources = (goal(0, 0, "x"), goal(1, 1, "y")), many
    elif name == "h2":
        goals, sources = (goal(0, 0), goal(1, 1, "x", plus=frozenset("x"))), [single, many[0]]
    elif name == "h3":
        goals, sources = (goal(0, 0), goal(1, 1, "x"), goal(2, 2, "x")), [single, *many]
    else:
        goals, sources = (goal(0, 0, "x"), goal(1, 1), goal(2, 2, "x")), [many[0], single, many[1]]
    said = [goal_rows(sources[g.source], **dict.fromkeys(g.variables, sources[g.source].chain)) for g in goals]
    pairs = [(x, y) for x in range(keys) for y in range(keys) if (x + y) % 3 == 0]
    conditions = (Condition(frozenset("xy"), 1, "θ"),) if name == "h1" else ()
    allowed = [Allowed(("x", "y"), np.array(pairs))] if name == "h1" else []
    return Sequence(goals, conditions), Facts(steps, sources, said, allowed, {"x": keys, "y": keys})


def small_query() -> tuple[Sequence, Facts]:
    """R(x) ; S(x, y) ; R(x): a Markov chain and an independent one for each of two keys, x selected."""
    rows, p = [], []
    for step in range(4):
        for chain in range(2):
            for prev in (NOTHING, 0, 1) if step else (NOTHING,):
                rows += [(step, chain, 0, prev), (step, chain, 1, prev)]
                p += [0.3, 0.4] if prev == 1 else [0.5, 0.25]
    first = source(MARKOV, rows, p)
    pairs = [(step, chain, value, NOTHING) for step in range(4) for chain in range(2) for value in range(2)]
    second = source(INDEPENDENT, pairs, [0.4, 0.3] * 8)
    goals = (goal(0, 0, "x"), goal(1, 1, "x", "y"), goal(2, 0, "x", "y"))
    value = Sequence(goals, selected=("x",), markov=frozenset({0}))
    said = [
        goal_rows(first, x=first.chain),
        goal_rows(second, x=second.chain, y=second.value),
        goal_rows(first, x=first.chain, y=first.value),
    ]
    return value, Facts(4, [first, second], said, [], {"x": 2, "y": 2})


# -- exact ------------------------------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(cases(most_worlds=300))
def test_columns_have_the_probabilities_of_the_worlds(case: Case) -> None:
    query, facts, values, steps = query_and_facts(case)
    answers = enumerate_worlds(query, facts)
    assert answers is not None
    assert not answers.sampled
    found = named(answers, case, values, steps)
    expected = {answer: p for answer, p in case.answers().items() if p > 0}
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(cases("unsafe", most_worlds=300))
def test_columns_have_the_probabilities_of_the_worlds_where_nothing_else_does(case: Case) -> None:
    query, facts, values, steps = query_and_facts(case)
    answers = enumerate_worlds(query, facts)
    assert answers is not None
    assert named(answers, case, values, steps) == pytest.approx(case.answers(), abs=1e-9)


@pytest.mark.parametrize("name", ["h1", "h2", "h3", "h4"])
def test_hard_queries_are_exact_where_few_keys_are_possible_at_a_step(name: str) -> None:
    query, facts = hard_query(name, keys=10, steps=20, share=0.12)
    answers = enumerate_worlds(query, facts)
    assert answers is not None
    sample = chances(sample_worlds(query, facts, 0.02, 1 - 1e-9, seed=1))
    found = chances(answers)
    assert len(found) > 5
    assert max(abs(p - sample.get(key, 0.0)) for key, p in found.items()) <= 0.02
    assert sample.keys() <= found.keys()


def test_what_has_too_many_columns_is_not_computed() -> None:
    query, facts = hard_query("h3", keys=8, steps=8, share=1.0)
    assert enumerate_worlds(query, facts, most=100) is None
    assert enumerate_worlds(query, facts, most=100_000) is not None


def test_what_takes_too_long_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presage.operators.sequence.kernel.worlds.enumeration.WORK_PER_COLUMN", 1)
    query, facts = hard_query("h1", keys=5, steps=30, share=0.5)
    assert enumerate_worlds(query, facts, most=100) is None


def test_each_selected_binding_is_a_question_of_its_own() -> None:
    # Together the keys would need four columns to the power of forty.
    keys, steps = 40, 6
    stream = keyed(keys, steps, 1.0, 5)
    goals = (goal(0, 0, "x"), goal(1, 0, "x"))
    facts = Facts(steps, [stream], [goal_rows(stream, x=stream.chain)] * 2, [], {"x": keys})
    apart = enumerate_worlds(Sequence(goals, selected=("x",)), facts, most=10)
    assert apart is not None
    assert len(apart.step) == keys * (steps - 1)
    assert enumerate_worlds(Sequence(goals), facts, most=1000) is None


def test_certain_events_split_nothing() -> None:
    rows = [(t, k, 0, NOTHING) for t in range(50) for k in range(50)]
    sure, single = source(CERTAIN, rows), keyed(1, 50, 1.0, 1)
    goals = (goal(0, 0, "x"), goal(1, 1), goal(2, 0, "x"))
    said = [goal_rows(sure, x=sure.chain), goal_rows(single), goal_rows(sure, x=sure.chain)]
    answers = enumerate_worlds(Sequence(goals), Facts(50, [sure, single], said), most=4)
    assert answers is not None
    # Whoever was there at any step is there at the next: the single chain decides.
    expected = {((), t): pytest.approx(single.probability[t - 1]) for t in range(2, 50)}
    assert chances(answers) == expected


@pytest.mark.parametrize(("unfolding", "steps"), [(True, [1]), (False, [1, 2])])
def test_a_plus_asks_its_condition_of_the_values_of_each_unfolding(unfolding: bool, steps: list[int]) -> None:
    # R(x, z) ; S(x)+{}: the second unfolding has another x, for which only the prefix's x and z are allowed.
    first, second = source(CERTAIN, [(0, 0, 0, NOTHING)]), source(CERTAIN, [(1, 0, 0, NOTHING), (2, 1, 0, NOTHING)])
    goals = (goal(0, 0, "x", "z"), goal(1, 1, "x", plus=frozenset()))
    query = Sequence(goals, (Condition(frozenset("xz"), 1, "x, z", unfolding=unfolding),))
    said = [goal_rows(first, x=np.array([0]), z=np.array([0])), goal_rows(second, x=np.array([0, 1]))]
    answers = enumerate_worlds(query, Facts(3, [first, second], said, [Allowed(("x", "z"), np.array([[0, 0]]))]))
    assert answers is not None
    assert answers.step.tolist() == steps


def test_without_rows_there_are_no_answers() -> None:
    none = np.zeros(0, np.int64)
    empty = Source(MARKOV, none, none, none, none, np.zeros(0), 0)
    query = Sequence((goal(0, 0, "x"), goal(1, 0, "x")), selected=("x",))
    facts = Facts(0, [empty], [goal_rows(empty, x=none)] * 2)
    exact = enumerate_worlds(query, facts)
    assert exact is not None
    for answers in (exact, sample_worlds(query, facts, 0.1, 0.9, 1)):
        assert answers.bindings.shape == (0, 1)
        assert chances(answers) == {}


# -- sampled ----------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(cases(most_worlds=300))
def test_samples_come_near_the_probabilities_of_the_columns(case: Case) -> None:
    query, facts, _, _ = query_and_facts(case)
    answers = enumerate_worlds(query, facts)
    assert answers is not None
    expected, found = chances(answers), chances(sample_worlds(query, facts, 0.02, 1 - 1e-9, seed=3))
    assert found.keys() <= expected.keys()
    assert all(abs(p - found.get(key, 0.0)) <= 0.02 for key, p in expected.items())


def test_the_error_is_met_at_the_confidence_over_a_thousand_runs() -> None:
    query, facts = small_query()
    answers = enumerate_worlds(query, facts)
    assert answers is not None
    exact, error, confidence, runs = chances(answers), 0.1, 0.9, 1000
    estimates = {key: np.zeros(runs) for key in exact}
    for seed in range(runs):
        for key, p in chances(sample_worlds(query, facts, error, confidence, seed)).items():
            estimates[key][seed] = p
    worlds = worlds_needed(error, confidence)
    assert worlds == 150
    for key, p in exact.items():
        assert (np.abs(estimates[key] - p) <= error).mean() >= confidence
        # Not better than chance allows either, nor worse: worlds are as many as said, and differ.
        assert estimates[key].mean() == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / worlds / runs))
        assert estimates[key].var() == pytest.approx(p * (1 - p) / worlds, rel=0.25)


def test_each_of_many_alternatives_is_drawn_as_often_as_it_is_likely() -> None:
    # A Markov chain that takes one of fifty values, of which the last ones are rare, and after it any value but that.
    count = 50
    first = np.arange(1, count + 1)[::-1] / np.arange(1, count + 2).sum()
    rows = [(0, 0, value, NOTHING) for value in range(count)]
    rows += [(1, 0, value, prev) for prev in range(count) for value in range(count) if value != prev]
    chain = source(MARKOV, rows, [*first.tolist(), *[1 / (count - 1)] * (count * (count - 1))])
    query = Sequence((goal(0, 0, "x"),), selected=("x",), markov=frozenset({0}))
    facts = Facts(2, [chain], [goal_rows(chain, x=chain.value)])
    answers = enumerate_worlds(query, facts)
    assert answers is not None
    expected, found = chances(answers), chances(sample_worlds(query, facts, 0.004, 0.99, seed=1))
    assert expected == pytest.approx(
        {((v,), 0): first[v] for v in range(count)}
        | {((v,), 1): (first.sum() - first[v]) / (count - 1) for v in range(count)}
    )
    worlds = worlds_needed(0.004, 0.99)
    assert all(abs(found[key] - p) <= 5 * np.sqrt(p * (1 - p) / worlds) for key, p in expected.items())


def test_samples_say_their_bounds() -> None:
    query, facts = small_query()
    answers = sample_worlds(query, facts, 0.2, 0.9, seed=1)
    assert answers.sampled
    assert answers.low.tolist() == [max(p - 0.2, 0.0) for p in answers.probability]
    assert answers.high.tolist() == [min(p + 0.2, 1.0) for p in answers.probability]
    assert answers.low.min() == 0.0
    assert (answers.probability > 0).all()


def test_a_seed_gives_the_same_worlds_and_another_one_others() -> None:
    query, facts = small_query()
    first, again, other = (chances(sample_worlds(query, facts, 0.02, 0.95, seed)) for seed in (5, 5 + 2**64, -6))
    assert first == again
    assert first != other


@pytest.mark.parametrize("limit", ["MOST_BYTES", "MOST_EDGES"])
def test_samples_do_not_depend_on_how_many_worlds_or_steps_are_done_at_a_time(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, facts = small_query()
    whole = chances(sample_worlds(query, facts, 0.02, 0.95, seed=5))
    monkeypatch.setattr(sampling, limit, 12 if limit == "MOST_EDGES" else 1)
    assert chances(sample_worlds(query, facts, 0.02, 0.95, seed=5)) == whole


def test_a_step_with_too_many_pairs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MOST_EDGES", 3)
    query, facts = hard_query("h1", keys=4, steps=4, share=1.0)
    with pytest.raises(PresageError, match="limit"):
        sample_worlds(query, facts, 0.1, 0.9, seed=1)


# -- the rivals -------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(cases(most_worlds=300))
def test_the_most_likely_world_is_that_of_the_twins(case: Case) -> None:
    query, facts, values, steps = query_and_facts(case)
    times, chains = case.chains()
    for paths, twin in ((False, most_likely_values), (True, most_likely_paths)):
        answers = enumerate_worlds(query, most_likely(query, facts, paths))
        assert answers is not None
        found = named(answers, case, values, steps)
        assert set(found) == answers_in(case.query, times, twin(times, chains))
        assert set(found.values()) <= {1.0}


def test_the_likeliest_values_and_the_likeliest_path_differ() -> None:
    # At first 0.4 for value 0, which then stays; 0.6 for value 1, which then goes to 1, 2 or 3 alike.
    rows = [(0, 0, 0, NOTHING), (0, 0, 1, NOTHING), (1, 0, 0, 0), (1, 0, 1, 1), (1, 0, 2, 1), (1, 0, 3, 1)]
    chain = source(MARKOV, rows, [0.4, 0.6, 1.0, 1 / 3, 1 / 3, 1 / 3])
    query = Sequence((goal(0, 0, "x"),), selected=("x",), markov=frozenset({0}))
    facts = Facts(2, [chain], [goal_rows(chain, x=chain.value)])
    by_value, by_path = most_likely(query, facts, paths=False), most_likely(query, facts, paths=True)
    assert by_value.sources[0].value.tolist() == [1, 0]
    assert by_path.sources[0].value.tolist() == [0, 0]
    assert by_path.sources[0].kind == CERTAIN
    assert by_path.goals[0].variables["x"].tolist() == [0, 0]


def test_no_event_loses_ties_and_wins_otherwise() -> None:
    chain = source(INDEPENDENT, [(0, 0, 3, NOTHING), (1, 0, 3, NOTHING), (2, 0, 5, NOTHING), (2, 0, 4, NOTHING)])
    chain.probability = np.array([0.5, 0.49, 0.4, 0.4])
    query = Sequence((goal(0, 0, "x"),), selected=("x",))
    for paths in (False, True):
        made = most_likely(query, Facts(3, [chain], [goal_rows(chain, x=chain.value)]), paths)
        assert made.sources[0].step.tolist() == [0, 2]
        assert made.sources[0].value.tolist() == [3, 4]
