"""Probabilities far below the rounding of 1 against fractions: none is lost, by any way to compute a sequence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.stepping import run_in_steps
from presage.model.time import to_micros
from property.sequence_texts import AIMS, Case, cases
from property.test_sequences import run
from reference import exact_worlds

AT = "CREATE STREAM At (person STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (person) PROBABILISTIC {} (place);"
SOME = "SELECT * FROM SEQUENCE [ At(p, 'a') ; At(p, 'b') ]"
SECOND = 1_000_000


Row = dict[str, Any]


def by_distribution(case: Case, change: Callable[[list[Row]], list[Row]]) -> Case:
    """The rows of each distribution changed together."""
    rows = dict(case.rows)
    for name, stream in case.streams.items():
        if stream.kind != "certain":
            before = [f"prev_{stream.attributes[i]}" for i in stream.uncertain] if stream.kind == "markov" else []
            owner = [*(stream.attributes[i] for i in stream.key), stream.time, *before]
            groups: dict[tuple[Any, ...], list[Row]] = {}
            for row in case.rows.get(name, []):
                groups.setdefault(tuple(row[column] for column in owner), []).append(row)
            rows[name] = [row for group in groups.values() for row in change(group)]
    return replace(case, rows=rows)


def faint(case: Case, dice: Random) -> Case:
    """Some chances become tiny, some alternatives all but certain. On a binary grid, so that the numbers that doubles
    hold are those that are meant, and what is left to 1 is no rounding."""

    def change(group: list[Row]) -> list[Row]:
        if len(group) == 1 and dice.random() < 0.3:
            return [{**group[0], "probability": 1.0 - 2.0**-40}]
        scales = [dice.choice([1.0, 1.0, 2.0**-30, 2.0**-57, 2.0**-100]) for _ in group]
        return [
            {**r, "probability": int(r["probability"] * 1024) / 1024 * scale}
            for r, scale in zip(group, scales, strict=True)
        ]

    return by_distribution(case, change)


@pytest.mark.parametrize("aim", AIMS)
@settings(max_examples=settings.default.max_examples // 10)
@given(data=st.data(), seed=st.integers(0, 2**16))
def test_no_small_probability_is_lost(aim: str, data: st.DataObject, seed: int) -> None:
    dice = Random(seed)
    case = faint(data.draw(cases(aim, most_worlds=200)), dice)
    exact = exact_worlds.answers(case.query, *case.chains())
    expected = {(values, to_micros(time)): float(p) for (values, time), p in exact.items()}
    assert run(case, dice, cuts=True) == pytest.approx(expected, rel=1e-9, abs=0.0)


def steps(people: int, chances: dict[str, float], count: int) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("At", {"person": f"p{i}", "place": place, "ts": step * SECOND, "probability": chance})
        for step in range(1, count + 1)
        for i in range(people)
        for place, chance in chances.items()
    ]


@pytest.mark.parametrize(("people", "chance"), [(2, 1e-9), (5_000, 3e-9), (2, 1e-8), (3, 1e-200)])
def test_that_something_holds_for_some_key_is_as_exact_as_for_one(people: int, chance: float) -> None:
    events = steps(people, {"a": 1.0}, 1) + [
        ("At", {**e, "ts": 2 * SECOND, "place": "b", "probability": chance}) for _, e in steps(people, {"b": 1.0}, 1)
    ]
    (row,) = run_in_steps(AT.format(""), SOME, events, [])
    assert row["probability"] == pytest.approx(float(1 - (1 - Fraction(chance)) ** people), rel=1e-12, abs=0.0)


OVER = {"a": 0.25, "b": 0.25, "c": 0.5 + 9e-10}
LONG = 20_000
QUESTIONS = {
    "": "SELECT p FROM SEQUENCE [ At(p, l) WHERE l = 'a' ; At(p, 'b') ; At(p, 'c') ]",
    "MARKOV": "SELECT p FROM SEQUENCE [ At(p, 'a') ; At(p, 'b') ; At(p, 'c') ]",
}


@pytest.mark.parametrize("kind", QUESTIONS)
def test_sums_above_one_do_not_add_up(kind: str) -> None:
    """After many steps the answer is that of the distribution divided by its sum, which no longer changes."""
    events = steps(1, OVER, LONG if not kind else LONG // 5)
    if kind:
        first, later = events[:3], events[3:]
        events = [(s, {**e, "prev_place": None}) for s, e in first] + [
            (s, {**e, "prev_place": before}) for s, e in later for before in OVER
        ]
    rows = run_in_steps(AT.format(kind), QUESTIONS[kind], events, [len(events) // 3])
    total = sum(map(Fraction, OVER.values()))
    a, b, c = (Fraction(chance) / total for chance in OVER.values())
    # Waiting for b (after an a) and for c (after that) are states of their own: "a seen", "a then b seen" or both.
    states = {frozenset(): Fraction(1)}
    for _ in range(200):
        after: dict[frozenset[str], Fraction] = {}
        found = Fraction(0)
        for state, mass in states.items():
            for chance, place in ((a, "a"), (b, "b"), (c, "c")):
                moved = _next(state, place)
                found += mass * chance if place == "c" and "c" in state else 0
                after[moved] = after.get(moved, Fraction(0)) + mass * chance
        states = {state: mass.limit_denominator(10**40) for state, mass in after.items()}
    assert rows[-1]["probability"] == pytest.approx(float(found), rel=1e-12)


def _next(state: frozenset[str], place: str) -> frozenset[str]:
    """What matches wait for, beside an a: b, c, or both."""
    after = set(state)
    if place == "a":
        after.add("b")
    if place == "b" and "b" in state:
        after = (after - {"b"}) | {"c"}
    if place == "c":
        after.discard("c")
    return frozenset(after)


def too_much(case: Case, dice: Random) -> Case:
    """Some distributions sum to 1 + 9e-10, which is accepted."""

    def change(group: list[Row]) -> list[Row]:
        total = sum(row["probability"] for row in group)
        raised = [row["probability"] * (1 + 9e-10) / total if total else 0.0 for row in group]
        if not total or max(raised) > 1.0 or dice.random() < 0.5:
            return group
        return [{**row, "probability": chance} for row, chance in zip(group, raised, strict=True)]

    return by_distribution(case, change)


@pytest.mark.parametrize("aim", AIMS)
@settings(max_examples=settings.default.max_examples // 10)
@given(data=st.data(), seed=st.integers(0, 2**16))
def test_a_sum_above_one_is_divided_whatever_the_optimizer_leaves(aim: str, data: st.DataObject, seed: int) -> None:
    dice = Random(seed)
    case = too_much(data.draw(cases(aim, most_worlds=200)), dice)
    exact = exact_worlds.answers(case.query, *case.chains())
    expected = {(values, to_micros(time)): float(p) for (values, time), p in exact.items() if p > 1e-8}
    found, plain = (run(case, dice, cuts=True, optimized=optimized) for optimized in (True, False))
    assert {key: p for key, p in found.items() if p > 1e-8} == pytest.approx(expected, abs=1e-8)
    assert found == pytest.approx(plain, rel=1e-12, abs=1e-14)
