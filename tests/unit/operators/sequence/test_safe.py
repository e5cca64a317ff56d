"""Safe plans: the interval algebra against possible worlds, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.errors import PresageError
from presage.operators.sequence.classify import SAFE, UNSAFE, classify
from presage.operators.sequence.kernel.facts import (
    CERTAIN,
    INDEPENDENT,
    MARKOV,
    NOTHING,
    Answers,
    Facts,
    GoalRows,
    Source,
)
from presage.operators.sequence.kernel.query import Anything, Condition, Goal, Known, Sequence, Term, Variable
from presage.operators.sequence.kernel.safe import evaluation as safe
from presage.operators.sequence.kernel.safe import joins as safe_rows
from presage.operators.sequence.kernel.safe.chains import apart as safe_apart
from presage.operators.sequence.kernel.safe.chains import one_chain as safe_one_chain
from presage.operators.sequence.kernel.safe.evaluation import evaluate_safe
from presage.operators.sequence.kernel.safe.plans import Follow, Project, Regular
from presage.operators.sequence.kernel.safe.regular import reader as safe_automaton
from reference.fact_worlds import Stream, answers, number_of_worlds, random_facts

STREAMS = {
    stream.name: stream
    for stream in (
        Stream("R", 1, (0,)),
        Stream("S", 1, (0,)),
        Stream("T", 2, (0, 1)),
        Stream("A", 2, (0,)),
        Stream("C", 3, (0, 1)),
        Stream("U", 1, ()),
        Stream("V", 1, ()),
    )
}
MOST_WORLDS = 250

Subgoal = tuple[str, str, str | None, bool]  # stream, terms, what a Kleene plus shares, selective


def goal(stream: str, terms: str, plus: str | None = None, selective: bool = False) -> Subgoal:
    """Terms are letters (variables), digits (constants) and `_`."""
    return stream, terms, plus, selective


def sequence(subgoals: list[Subgoal], selected: str = "", conditions: tuple[Condition, ...] = ()) -> Sequence:
    """Not yet with the kinds of its streams."""
    names = list(dict.fromkeys(stream for stream, *_ in subgoals))
    goals = []
    for number, (stream, terms, plus, selective) in enumerate(subgoals):
        known: list[Term] = [
            Anything() if t == "_" else Known(int(t), t) if t.isdigit() else Variable(t) for t in terms
        ]
        shared = None if plus is None else frozenset(plus)
        text = f"{stream}({', '.join(terms)})" + ("" if plus is None else "+")
        source = names.index(stream)
        goals.append(Goal(number, stream, source, STREAMS[stream].key, tuple(known), shared, selective, text))
    return Sequence(tuple(goals), conditions, tuple(selected))


def with_kinds(query: Sequence, kinds: tuple[int, ...]) -> Sequence:
    markov = frozenset(i for i, kind in enumerate(kinds) if kind == MARKOV)
    return Sequence(query.goals, query.conditions, query.selected, markov)


def streams_of(query: Sequence) -> tuple[Stream, ...]:
    return tuple(STREAMS[name] for name in dict.fromkeys(g.stream for g in query.goals))


def found(result: Answers) -> dict[tuple[tuple[int, ...], int], float]:
    lines = zip(result.bindings.tolist(), result.step.tolist(), result.probability.tolist(), strict=True)
    return {(tuple(binding), step): p for binding, step, p in lines}


def check(query: Sequence, facts: Facts) -> int:
    """The same answers with the same probabilities; how many there are."""
    plan = classify(query).plan
    assert plan is not None
    expected, result = answers(query, facts), found(evaluate_safe(query, facts, plan))
    assert result.keys() == expected.keys()
    for answer, p in expected.items():
        assert result[answer] == pytest.approx(p, abs=1e-9)
    return len(expected)


SHAPES = {
    "the paper's Fig. 6": sequence([goal("R", "x"), goal("S", "x"), goal("T", "0y")]),
    "the last goal turns down": sequence([goal("R", "x"), goal("S", "x"), goal("T", "0y", selective=True)]),
    "one stream twice": sequence([goal("A", "xu"), goal("A", "x1"), goal("U", "w")]),
    "the talk": sequence([goal("C", "xyz", selective=True), goal("C", "xy_", "xy"), goal("A", "xu", selective=True)]),
    "two variables": sequence([goal("T", "xy"), goal("C", "xyz"), goal("U", "w")]),
    "a goal inside": sequence([goal("R", "x"), goal("S", "x"), goal("A", "0u"), goal("V", "w")]),
    "a goal inside, with several keys": sequence([goal("R", "x"), goal("S", "x"), goal("T", "0u"), goal("V", "w")]),
    "a goal inside a projection": sequence([goal("T", "xy"), goal("C", "xyz"), goal("A", "xu"), goal("V", "w")]),
    "plus at the end": sequence([goal("R", "x"), goal("S", "x"), goal("T", "0u", "")]),
    "plus at the end that turns down": sequence([goal("R", "x"), goal("S", "x"), goal("U", "w", "", True)]),
    "plus inside": sequence([goal("R", "x"), goal("S", "x"), goal("U", "w", ""), goal("A", "0u")]),
    "plus first": sequence([goal("A", "xu", "x", True), goal("U", "w")]),
    "a selected variable of the last goal": sequence([goal("R", "x"), goal("S", "x"), goal("U", "v")], "v"),
    "a selected key of the last goal": sequence([goal("R", "x"), goal("S", "x"), goal("T", "vw")], "v"),
    "a selected variable of all goals": sequence([goal("T", "vx"), goal("C", "vxz"), goal("A", "v1")], "v"),
    "a selected variable inside": sequence([goal("A", "xv"), goal("R", "x"), goal("U", "w")], "v"),
    "a condition between values": sequence(
        [goal("A", "xs"), goal("R", "x"), goal("U", "v")], "s", (Condition(frozenset({"s", "v"}), 2, "s < v"),)
    ),
    "a condition of a projected variable": sequence(
        [goal("R", "x"), goal("S", "x"), goal("U", "v")], "v", (Condition(frozenset({"x", "v"}), 2, "x < v"),)
    ),
}


def random_kinds(query: Sequence, random: np.random.Generator) -> tuple[Sequence, tuple[int, ...]]:
    """The query over streams of kinds for which it is safe."""
    while True:
        kinds = tuple(random.integers(0, 3, len(streams_of(query))).tolist())
        asked = with_kinds(query, kinds)
        if classify(asked).kind == SAFE:
            return asked, kinds
        # Only a goal inside, or a plus that turns down, that reads several Markov chains.
        assert MARKOV in kinds


def small_facts(query: Sequence, kinds: tuple[int, ...], random: np.random.Generator) -> Facts:
    while True:
        facts = random_facts(query, streams_of(query), kinds, int(random.integers(3, 6)), random)
        if number_of_worlds(query, facts) <= MOST_WORLDS:
            return facts


def check_some(query: Sequence, random: np.random.Generator, wanted: int) -> None:
    """Until so many facts had answers."""
    for _ in range(300):
        asked, kinds = random_kinds(query, random)
        wanted -= check(asked, small_facts(asked, kinds, random)) > 0
        if not wanted:
            return
    raise AssertionError("hardly any facts have answers: they test nothing")


@pytest.mark.parametrize("name", SHAPES)
def test_a_safe_plan_gives_the_probability_over_all_possible_worlds(name: str) -> None:
    check_some(SHAPES[name], np.random.default_rng(list(SHAPES).index(name)), wanted=4)


@pytest.mark.parametrize("most_dense", [safe_automaton.MOST_DENSE, 0], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ["the paper's Fig. 6", "the talk", "one stream twice", "plus first"])
def test_joint_states_are_kept_in_tables_or_sparse_with_the_same_answers(
    name: str, most_dense: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(safe_apart, "SPARSE", 0)
    monkeypatch.setattr(safe_apart, "SMALL", 0)
    monkeypatch.setattr(safe_one_chain, "FEW_LETTERS", 0)
    monkeypatch.setattr(safe_automaton, "MOST_DENSE", most_dense)
    check_some(SHAPES[name], np.random.default_rng(5), wanted=4)


def test_answers_do_not_depend_on_how_much_is_computed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe, "MOST_CELLS", 1)
    monkeypatch.setattr(safe_rows, "FEW", 0)
    for name in ("a goal inside a projection", "a selected variable of all goals", "a condition between values"):
        check_some(SHAPES[name], np.random.default_rng(6), wanted=3)


def random_sequence(random: np.random.Generator) -> Sequence:
    """Goals that share a key, or two, then goals that share less: often safe, and often nearly so."""
    fresh = iter("abcdefghijklmnop")

    def some(shared: str, most_plus: float) -> Subgoal:
        fitting = [stream for stream in STREAMS.values() if len(stream.key) >= len(shared)]
        stream = fitting[random.integers(len(fitting))]
        own = dict(zip(stream.key, shared, strict=False))
        rest = [next(fresh), str(random.integers(2)), "_"]
        terms = [own[i] if i in own else rest[random.choice(3, p=[0.6, 0.3, 0.1])] for i in range(stream.arity)]
        plus = None
        if random.random() < most_plus:
            # What it does not share must be its own: such names are told apart before.
            plus = "".join(v for v in dict.fromkeys(terms) if v in shared or (v.isalpha() and random.random() < 0.3))
        return goal(stream.name, "".join(terms), plus, bool(random.random() < 0.3))

    shared = str(random.choice(["x", "xy"]))
    subgoals = [some(shared, 0.2), some(shared, 0.2)]
    if len(shared) > 1:
        subgoals.append(some("x", 0.2))
    subgoals += [some("", 0.3) for _ in range(random.integers(0 if len(shared) > 1 else 1, 3))]
    query = sequence(subgoals)
    visible = sorted(frozenset().union(*(g.free for g in query.goals)))
    selected = "".join(name for name in visible if random.random() < 0.15)
    conditions: tuple[Condition, ...] = ()
    if len(visible) > 1 and random.random() < 0.3:
        names = frozenset(random.permutation(visible)[:2].tolist())
        level = next(
            n for n in range(len(query.goals)) if names <= frozenset().union(*(g.free for g in query.goals[: n + 1]))
        )
        conditions = (Condition(names, level, " < ".join(sorted(names))),)
    return sequence(subgoals, selected, conditions)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_whatever_is_called_safe_is_computed_exactly(seed: int) -> None:
    random = np.random.default_rng(seed)
    while True:
        query = random_sequence(random)
        kinds = tuple(random.integers(0, 3, len(streams_of(query))).tolist())
        asked = with_kinds(query, kinds)
        if classify(asked).kind == SAFE:
            break
    check(asked, small_facts(asked, kinds, random))


# -- by hand --------------------------------------------------------------------------------------


def independent(steps: dict[int, float], chain: int = 0) -> Source:
    """One key with one value that is there with a chance at each step."""
    step = np.array(list(steps), np.int64)
    zeros = np.zeros(len(step), np.int64)
    return Source(INDEPENDENT, zeros + chain, step, zeros, zeros + NOTHING, np.array(list(steps.values())), chain + 1)


def all_rows(source: Source, **variables: np.ndarray) -> GoalRows:
    every = np.ones(len(source.step), np.bool_)
    return GoalRows(every, every, variables)


def fig6(r: dict[int, float], s: dict[int, float], t: dict[int, float], steps: int) -> Facts:
    sources = [independent(r), independent(s), independent(t)]
    zeros = [np.zeros(len(source.step), np.int64) for source in sources]
    names = ("x", "x", "y")
    rows = [all_rows(source, **{name: z}) for source, name, z in zip(sources, names, zeros, strict=True)]
    return Facts(steps, sources, rows, domains={"x": 1, "y": 1})


FIG6 = SHAPES["the paper's Fig. 6"]
FIG6_PLAN = Follow(Project("x", Regular(2, frozenset({"x"}))), 2)


def test_the_plan_of_fig_6_is_a_sequence_after_a_projection() -> None:
    assert classify(FIG6).plan == FIG6_PLAN


def test_one_match_has_the_product_of_its_events() -> None:
    facts = fig6({0: 0.5}, {1: 0.25}, {2: 0.5, 3: 0.5}, 4)
    expected = {((), 2): 0.0625, ((), 3): 0.03125}
    assert found(evaluate_safe(FIG6, facts, FIG6_PLAN)) == pytest.approx(expected)


def test_steps_of_an_interval_that_depend_on_each_other_are_not_multiplied() -> None:
    # S at 1 takes the only R: S at 2 finds nothing that waits, so of [1, 2] just the first S counts, or the second
    # alone. The chance is 1 - 1/4, times 1/2 for R; independent steps would give 1 - (1 - 1/4)(1 - 1/8), times 1/2.
    facts = fig6({0: 0.5}, {1: 0.5, 2: 0.5}, {3: 1.0}, 4)
    assert found(evaluate_safe(FIG6, facts, FIG6_PLAN)) == pytest.approx({((), 3): 0.375})


def test_what_happens_at_one_step_does_not_follow_itself() -> None:
    facts = fig6({0: 1.0}, {1: 1.0}, {1: 1.0}, 2)
    assert found(evaluate_safe(FIG6, facts, FIG6_PLAN)) == {}


def test_no_answer_comes_from_rounding() -> None:
    # T is never after S; ten tenths must not leave a rest that makes it so.
    facts = fig6(dict.fromkeys(range(10), 0.1), {9: 0.3}, dict.fromkeys(range(10), 0.7), 10)
    assert found(evaluate_safe(FIG6, facts, FIG6_PLAN)) == {}


def test_facts_without_rows_have_no_answers() -> None:
    assert found(evaluate_safe(FIG6, fig6({}, {}, {}, 0), FIG6_PLAN)) == {}


# -- what is not safe, though its class looks so ----------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        sequence([goal("R", "x"), goal("S", "x"), goal("U", "v"), goal("A", "0w")], "v"),
        sequence([goal("R", "x"), goal("S", "x"), goal("U", "w", None, True), goal("A", "0u")]),
        sequence(
            [goal("A", "xs"), goal("R", "x"), goal("U", "v"), goal("V", "w")],
            "s",
            (Condition(frozenset({"s", "v"}), 2, "s < v"),),
        ),
        sequence([goal("R", "x"), goal("S", "x"), goal("U", "v", "v")], "v"),
        with_kinds(sequence([goal("R", "x"), goal("S", "x"), goal("A", "vu", "", True)]), (CERTAIN, CERTAIN, MARKOV)),
    ],
    ids=[
        "a selected value compared inside",
        "a goal that turns down inside",
        "a condition asked inside",
        "a selected value of a plus",
        "a plus that turns down over several Markov chains",
    ],
)
def test_a_candidate_that_may_be_turned_down_inside_a_plan_makes_it_unsafe(query: Sequence) -> None:
    assert classify(query).kind == UNSAFE


# -- limits -----------------------------------------------------------------------------------------


def test_too_many_steps_are_refused_with_a_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe, "MOST_STEPS", 3)
    facts = fig6({0: 0.5}, {1: 0.5}, dict.fromkeys(range(6), 0.5), 6)
    with pytest.raises(PresageError, match="WITHIN") as problem:
        evaluate_safe(FIG6, facts, FIG6_PLAN)
    assert problem.value.code == "LIMIT"


def test_too_many_joint_states_are_refused_with_a_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe_one_chain, "FEW_LETTERS", 0)
    monkeypatch.setattr(safe_automaton, "MOST_DENSE", 0)
    monkeypatch.setattr(safe_automaton, "MOST_MASS", 1)
    facts = fig6({0: 0.5}, {1: 0.5}, {2: 0.5}, 3)
    with pytest.raises(PresageError, match="fewer Markov chains") as problem:
        evaluate_safe(FIG6, facts, FIG6_PLAN)
    assert problem.value.code == "LIMIT"
