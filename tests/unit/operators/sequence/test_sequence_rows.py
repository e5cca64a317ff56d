"""Rows of sequence queries over small streams, where names, nulls, and what others read of them matter."""

from __future__ import annotations

import random
from typing import Any

import pytest

from conformance.stepping import run_in_steps
from presage.errors import PresageError
from presage.lang import syntax as s
from presage.operators.running import check_deployed as check_end
from presage.operators.sequence.kernel.regular import evaluation as regular
from presage.workspace import Workspace

DECLARED = """
CREATE STREAM At (person STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (person) PROBABILISTIC (place);
"""


def at(person: str | None, place: str | None, second: int, probability: float) -> tuple[str, dict[str, Any]]:
    return "At", {"person": person, "place": place, "ts": second * 1_000_000, "probability": probability}


WALK = [at("joe", "a", 1, 0.5), at("joe", "b", 2, 0.5), at("sue", "a", 2, 1.0), at("sue", "b", 3, 0.25)]


def rows(text: str, events: list[tuple[str, dict[str, Any]]] = WALK, more: str = "") -> list[dict[str, Any]]:
    made = run_in_steps(DECLARED + more, text, events, [])
    assert run_in_steps(DECLARED + more, text, events, list(range(1, len(events)))) == made
    return [{name: value for name, value in row.items() if name != "at"} for row in made]


@pytest.mark.parametrize("name", ["probability", "at", "method", "Probability", "`größe`"])
def test_a_variable_may_be_called_like_a_column_of_the_answer(name: str) -> None:
    found = rows(f"SELECT {name} AS who FROM SEQUENCE [ At({name}, 'a') ; At({name}, 'b') ] WITH PROBABILITY > 0.1")
    assert found == [{"who": "joe", "probability": 0.25}, {"who": "sue", "probability": 0.25}]


def test_variables_may_differ_in_case_alone() -> None:
    found = rows("SELECT p AS who, P AS place FROM SEQUENCE [ At(p, P) ; At(p, 'b') ]")
    assert [(row["who"], row["place"]) for row in found] == [("joe", "a"), ("sue", "a")]


@pytest.mark.parametrize(("chosen", "names"), [("p", ["p"]), ("probability AS x", ["x"]), ("count(*) AS n", ["n"])])
def test_a_part_of_the_columns_can_be_read_from_a_stream_of_answers(chosen: str, names: list[str]) -> None:
    done = "INSERT INTO Done SELECT p FROM SEQUENCE [ At(p, 'a') ; At(p, 'b') ];"
    found = rows(f"SELECT {chosen} FROM Done", more=done)
    assert [list(row) for row in found] == [names] * 2


def test_a_null_is_no_value_that_a_variable_could_have() -> None:
    events = [at("joe", None, 1, 0.5), at(None, "a", 1, 0.5), at("joe", "a", 2, 0.5), at("joe", None, 3, 1.0)]
    assert rows("SELECT p, l FROM SEQUENCE [ At(p, l) ]", events) == [{"p": "joe", "l": "a", "probability": 0.5}]
    # By all chains together: "for some q".
    (found,) = rows("SELECT l FROM SEQUENCE [ At(q, _) ; At(r, l) ] WHERE q = r", events)
    assert (found["l"], found["probability"]) == ("a", 0.25)


def test_more_bindings_than_can_be_told_apart_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular, "MOST_BINDINGS", 3)
    with pytest.raises(PresageError, match=r"the combinations of values of l, m exceeds the limit of 3 \(bindings\)"):
        rows("SELECT l, m FROM SEQUENCE [ At(p, l) ; At(p, m) ]")


@pytest.mark.parametrize(
    "sequence",
    ["At(p, x) ; At(p, m)", "At(p, x) ; At(p, m) ; Bell(1)", "At(p, x) ; At(p, m) ; At(q, 'z')"],
    ids=["step by step", "by intervals", "by all chains together"],
)
def test_an_event_with_a_null_where_a_variable_stands_is_passed_over(sequence: str) -> None:
    bell = "CREATE STREAM Bell (n INT, at TIMESTAMP) EVENT TIME at;"
    events = [at("joe", "a", 1, 0.5), at("joe", None, 2, 0.5), at("joe", "b", 3, 0.25), at("eve", "z", 4, 1.0)]
    events.append(("Bell", {"n": 1, "ts": 4_000_000}))
    found = rows(f"SELECT x FROM SEQUENCE [ {sequence} ] WHERE m IS NULL OR m <> x", events, bell)
    assert [(row["x"], row["probability"]) for row in found] == [("a", 0.125)]


@pytest.mark.parametrize("selected", ["m", "p, m", "l", "l, m", "*"])
def test_a_condition_may_compare_an_event_with_a_value_that_comes_later(selected: str) -> None:
    events = [at("joe", "a", 1, 0.5), at("joe", "b", 2, 0.5), at("joe", "a", 2, 0.5), at("joe", "b", 3, 0.25)]
    found = rows(f"SELECT {selected} FROM SEQUENCE [ At(p, l) ; At(p, m) ] WHERE m > l", events)
    assert [row["probability"] for row in found] == [0.25, 0.125]


def test_what_compares_an_event_with_a_value_that_comes_later_cannot_stand_for_ever() -> None:
    space = Workspace([], ".")
    space.check(DECLARED)
    (query,) = space.parse("SELECT m FROM SEQUENCE [ At(p, l) ; At(p, m) ] WHERE m > l").statements
    assert isinstance(query, s.Query)
    bound = space.bind(query)
    assert "the condition m > l compares an event with a selected value of a later one" in space.explain(bound)
    with pytest.raises(PresageError, match="its state would grow for ever"):
        check_end(bound.plan, None)


@pytest.mark.parametrize("key", ["", " KEY (person)", " KEY (room, person)"])
def test_each_of_several_events_at_one_step_is_found_with_its_own_values(key: str) -> None:
    more = f"""CREATE STREAM Bell (person STRING, room STRING, at TIMESTAMP) EVENT TIME at{key};
               CREATE STREAM Tone (room STRING, at TIMESTAMP) EVENT TIME at;"""
    rung = [("Bell", {"person": "joe", "room": room, "ts": 2_000_000}) for room in ("x", "y")]
    events = [at("joe", "a", 1, 0.5), *rung, ("Tone", {"room": "z", "ts": 3_000_000})]
    # Safe: p leaves off before the end.
    found = rows("SELECT r FROM SEQUENCE [ At(p, 'a') ; Bell(p, r) ; Tone(_) ]", events, more)
    assert found == [{"r": "x", "probability": 0.5}, {"r": "y", "probability": 0.5}]


def test_an_unfolding_is_compared_with_a_value_that_is_selected() -> None:
    events = [*WALK, at("joe", "c", 3, 0.5)]
    text = "SELECT l FROM SEQUENCE [ At('sue', l) ; At('joe', m)+{ | m > l} ]"
    # Sue is in "a" at second 2, so it is about Joe at second 3.
    assert rows(text, events) == [{"l": "a", "probability": 0.5}]
    assert rows(text.replace(">", "<"), events) == []


ANY = "SELECT * FROM SEQUENCE [ At(p, 'a') ; At(q, 'b') ; At(p, 'c') ] APPROXIMATE (ERROR 0.1, CONFIDENCE 0.9)"


def test_what_is_drawn_is_told_by_statement_key_and_time_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presage.operators.sequence.kernel.sequence.enumerate_worlds", lambda query, facts: None)
    chance = random.Random(3)
    events = [
        at(person, place, second, 0.3) for second in range(6) for person in ("eve", "joe", "sue") for place in "abc"
    ]
    drawn = rows(ANY, events)
    assert {row["method"] for row in drawn} == {"sampled"}
    assert len(drawn) == 4
    for _ in range(5):
        chance.shuffle(events)
        assert rows(ANY, in_order(events)) == drawn
    # What no subgoal asks for changes nothing, nor do steps and people that have nothing else.
    idle = [at("joe", "z", 1, 0.1), at("amy", "z", 2, 1.0), at("joe", "z", 9, 1.0)]
    assert rows(ANY, in_order([*events, *idle])) == drawn
    # Other keys, another statement.
    renamed = [(stream, {**event, "person": event["person"].upper()}) for stream, event in events]
    for other in (rows(ANY, in_order(renamed)), rows(ANY.replace("0.9", "0.91"), in_order(events))):
        assert [row["probability"] for row in other] != [row["probability"] for row in drawn]


def in_order(events: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    return sorted(events, key=lambda event: event[1]["ts"])
