"""Sequence queries as a user writes them against possible worlds: parsed, bound, optimized, run in random batches."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from conformance.stepping import run_in_steps
from presage.model.time import to_micros
from property.sequence_texts import AIMS, Case, case_of, cases

DECLARED = """
CREATE STREAM Bell (room STRING, floor STRING, at TIMESTAMP) EVENT TIME at;
CREATE STREAM Call (floor STRING, room STRING, at TIMESTAMP) EVENT TIME at KEY (room, floor);
CREATE STREAM Seen (place STRING, room STRING, floor STRING, at TIMESTAMP) EVENT TIME at KEY (room, floor)
  PROBABILISTIC (place);
CREATE STREAM Felt (place STRING, room STRING, floor STRING, at TIMESTAMP) EVENT TIME at KEY (room, floor)
  PROBABILISTIC MARKOV (place);
"""


def run(case: Case, dice: Random, cuts: bool, optimized: bool = True) -> dict[Any, float]:
    """The answers of the system: by selected values and time."""
    events = [
        (name, {**row, "ts": to_micros(row[stream.time])})
        for name, stream in case.streams.items()
        for row in case.rows.get(name, [])
    ]
    dice.shuffle(events)
    events.sort(key=lambda e: e[1]["ts"])
    several = range(1, len(events)) if cuts else []
    places = sorted(dice.sample(several, min(len(several), dice.randint(0, 3))))
    rows = run_in_steps(case.declarations, case.statement, events, places, optimized)
    found = {}
    for row in rows:
        assert row.get("method", "exact") == "exact"
        key = tuple(row[name] for name in case.query.selected), row["at"]
        assert key not in found, "a row for each binding and step"
        found[key] = row["probability"]
    return found


@pytest.mark.parametrize("aim", AIMS)
@settings(max_examples=settings.default.max_examples // 10)
@given(data=st.data(), seed=st.integers(0, 2**16))
def test_queries_have_the_probabilities_of_the_worlds(aim: str, data: st.DataObject, seed: int) -> None:
    case = data.draw(cases(aim))
    event(case.class_by_definition)
    expected = {(values, to_micros(time)): p for (values, time), p in case.answers().items() if p > 1e-12}
    dice = Random(seed)
    for cuts in (False, True):
        assert_alike(run(case, dice, cuts), expected)


def assert_alike(made: dict[Any, float], expected: dict[Any, float]) -> None:
    found = {key: p for key, p in made.items() if p > 1e-12}
    assert found.keys() == expected.keys()
    for key, p in expected.items():
        assert found[key] == pytest.approx(p, abs=1e-9), key


def with_nulls(case: Case, dice: Random) -> Case:
    """Some values of events that have happened are missing: only of those can they be."""
    rows = {}
    for name, several in case.rows.items():
        own = case.streams.get(name)
        lose = own.attributes if own is not None and own.kind == "certain" else ()
        rows[name] = [{n: None if n in lose and dice.random() < 0.4 else v for n, v in row.items()} for row in several]
    return replace(case, rows=rows)


def some_certain(kind: str, seed: int) -> Case:
    dice = Random(seed)
    while True:
        case = case_of(dice.randrange(2**48), kind, most_worlds=100)
        if any(stream.kind == "certain" for stream in case.streams.values()):
            return with_nulls(case, dice)


@pytest.mark.parametrize("kind", AIMS)
@settings(max_examples=settings.default.max_examples // 10)
@given(seed=st.integers(0, 2**32))
def test_a_null_is_taken_by_nothing_but_the_underscore(kind: str, seed: int) -> None:
    case = some_certain(kind, seed)
    expected = {(values, to_micros(time)): p for (values, time), p in case.answers().items() if p > 1e-12}
    for cuts in (False, True):
        assert_alike(run(case, Random(seed), cuts), expected)


# Events are (a, a), (b, a), (b, b) and (a, b), one a second; answers are a value and a second.
@pytest.mark.parametrize("cuts", [[], [1], [1, 2, 3]], ids=["whole", "cut", "one by one"])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Bell(x, _)+{x | x IN ('a', 'b', 'c')}", [("a", 0), ("b", 1), ("b", 2), ("a", 3)]),
        ("Bell(_, x)+{x}", [("a", 0), ("a", 1), ("b", 2), ("b", 3)]),
        ("Bell(x, _) ; Bell(x, _)", [("b", 2), ("a", 3)]),
        ("Bell(x, y) ; Bell(x, _)+{x}", [("b", 2), ("a", 3)]),
        ("Bell(x, x) ; Bell(_, x)", [("a", 1), ("b", 3)]),
    ],
)
def test_events_of_a_stream_without_a_key_are_told_apart_by_all_they_say(
    query: str, expected: list[tuple[str, int]], cuts: list[int]
) -> None:
    assert found_in("Bell", query, "x", cuts) == [(value, second, 1.0) for value, second in expected]
    assert found_in("Bell", query, "*", cuts) == [(None, second, 1.0) for _, second in expected]


@pytest.mark.parametrize("cuts", [[], [1], [1, 2, 3]], ids=["whole", "cut", "one by one"])
@pytest.mark.parametrize("selected", ["x", "*"])
@pytest.mark.parametrize(("stream", "chance"), [("Bell", 1.0), ("Call", 1.0), ("Seen", 0.25), ("Felt", 0.25)])
def test_a_variable_that_stands_twice_is_read_where_all_subgoals_have_it(
    stream: str, chance: float, selected: str, cuts: list[int]
) -> None:
    more = "_, " if chance < 1 else ""
    query = f"{stream}({more}x, x) ; {stream}({more}'b', x)"
    expected = [("a" if selected == "x" else None, 1, chance)]
    assert found_in(stream, query, selected, cuts) == expected


@pytest.mark.parametrize("cuts", [[], [1], [1, 2, 3]], ids=["whole", "cut", "one by one"])
@pytest.mark.parametrize("stream", ["Seen", "Felt"])
def test_a_key_that_cannot_fit_a_variable_that_stands_twice_is_not_read(stream: str, cuts: list[int]) -> None:
    query = f"{stream}(_, x, x)+{{x}}"
    assert found_in(stream, query, "x", cuts) == [("a", 0, 0.5), ("b", 2, 0.5)]
    assert found_in(stream, query, "*", cuts) == [(None, 0, 0.5), (None, 2, 0.5)]


def found_in(stream: str, query: str, selected: str, cuts: list[int]) -> list[tuple[str | None, int, float]]:
    first, second = ("floor", "room") if stream == "Call" else ("room", "floor")
    uncertain = {"place": "here", "prev_place": None, "probability": 0.5} if stream in ("Seen", "Felt") else {}
    events = [
        (stream, {first: pair[0], second: pair[1], **uncertain, "ts": step * 1_000_000})
        for step, pair in enumerate(["aa", "ba", "bb", "ab"])
    ]
    rows = run_in_steps(DECLARED, f"SELECT {selected} FROM SEQUENCE [ {query} ]", events, cuts)
    return [(row.get("x"), row["at"] // 1_000_000, row["probability"]) for row in rows]
