"""Why an event made no row: what it met in the patterns, MATCH_RECOGNIZE and sequences of a deployed statement."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from presage import Engine
from presage.columnar.reasons import Chance, Reasons
from presage.live import why_not_patterns

STREAMS = """
CREATE STREAM Pulse (sensor STRING, v DOUBLE, at TIMESTAMP) EVENT TIME at;
CREATE STREAM Reset (sensor STRING, at TIMESTAMP) EVENT TIME at;
CREATE STREAM At (person STRING, location STRING, at TIMESTAMP) EVENT TIME at KEY (person) PROBABILISTIC (location);
"""
DOUBLED = """
SELECT a.sensor FROM PATTERN [ EVERY a=Pulse(v > 5) -> b=Pulse(sensor = a.sensor AND v > a.v * 2)
                               WHERE timer:within(30 sec) ]
"""
RISING = """
SELECT v FROM Pulse MATCH_RECOGNIZE ( PARTITION BY sensor MEASURES A.v AS v PATTERN (A B+ C) WITHIN 5 min
  DEFINE B AS B.v > PREV(B.v) AND B.v > avg(A.v), C AS C.v < A.v )
"""
INSIDE = "SELECT p FROM SEQUENCE [ At(p, 'hall') ; At(p, l) ] WHERE l <> 'hall' WITH PROBABILITY >= 0.3"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(home=tmp_path / "home", live=False, driven=False) as made:
        made.execute(STREAMS)
        yield made


def clock(seconds: int) -> str:
    return f"2024-03-01T09:{seconds // 60:02}:{seconds % 60:02}Z"


def pulse(sensor: str, v: float, seconds: int) -> dict[str, Any]:
    return {"sensor": sensor, "v": v, "at": clock(seconds)}


def why_not(engine: Engine, text: str, pulses: list[dict[str, Any]], number: int, until: int = 600) -> Reasons:
    """Of one event, by its place among those that are loaded; time is known up to `until`."""
    deployment = engine.deploy(text, "asked")
    engine.load("Pulse", pulses)
    engine.advance("Pulse", clock(until))
    deployment.drain()
    (told,) = deployment.why_event(number)
    return told


def failed(chance: Chance) -> dict[str, dict[str, Any]]:
    return {answer.text: dict(answer.values) for answer in chance.answers if answer.holds is False}


# -- patterns ---------------------------------------------------------------------------------------------


def test_a_step_of_a_pattern_tells_the_comparison_that_failed_with_both_values(engine: Engine) -> None:
    told = why_not(engine, DOUBLED, [pulse("s1", 6, 0), pulse("s1", 8, 10)], 2)
    as_a, as_b = told.chances
    assert (as_a.of, as_a.outcome, as_a.so_far) == ("a=Pulse(v > 5)", "takes it", ())
    assert as_b.outcome == "fails"
    assert [(bound.name, bound.values) for bound in as_b.so_far] == [("a", {"sensor": "s1", "v": 6.0})]
    assert failed(as_b) == {"v > a.v * 2": {"v": 8.0, "a.v * 2": 12.0}}


def test_partial_matches_of_another_key_fail_by_the_key(engine: Engine) -> None:
    told = why_not(engine, DOUBLED, [pulse("s1", 6, 0), pulse("s2", 50, 10)], 2)
    assert failed(told.chances[-1]) == {"sensor = a.sensor": {"sensor": "s2", "a.sensor": "s1"}}


def test_each_partial_match_of_another_key_shows_its_own_event(engine: Engine) -> None:
    told = why_not(engine, DOUBLED, [pulse(f"s{i}", 6.0 + i, i) for i in range(4)], 4)
    others = [chance.so_far[0].values for chance in told.chances if chance.so_far]
    assert others == [{"sensor": f"s{i}", "v": 6.0 + i} for i in (2, 1, 0)]
    assert failed(told.chances[1])["sensor = a.sensor"] == {"sensor": "s3", "a.sensor": "s2"}


@pytest.mark.parametrize("key", [None, float("nan")])
def test_null_and_nan_are_keys_as_any_other(engine: Engine, key: float | None) -> None:
    text = "SELECT v FROM Pulse MATCH_RECOGNIZE ( PARTITION BY v MEASURES A.v AS v PATTERN (A B C) )"
    rows = [{"sensor": "s", "v": key, "at": clock(i)} for i in range(2)]
    told = why_not(engine, text, rows, 2)
    assert [[bound.name for bound in chance.so_far] for chance in told.chances] == [["A"], []]


def test_what_came_after_a_guard_ended_is_told_so(engine: Engine) -> None:
    told = why_not(engine, DOUBLED, [pulse("s1", 6, 0), pulse("s1", 20, 30)], 2)
    late = told.chances[-1]
    assert (late.outcome, late.further) == ("expired", "timer:within ended it at 2024-03-01T09:00:30Z")
    assert all(answer.holds for answer in late.answers)


def test_an_event_that_waits_for_others_says_for_which(engine: Engine) -> None:
    told = why_not(engine, DOUBLED, [pulse("s1", 6, 0)], 1, until=10)
    assert told.notes == (
        "A match with it waits for b=Pulse(sensor = a.sensor AND v > a.v * 2) until 2024-03-01T09:00:30Z.",
    )


def test_an_event_of_a_match_says_which(engine: Engine) -> None:
    told = why_not(engine, DOUBLED, [pulse("s1", 6, 0), pulse("s1", 20, 5)], 2, until=6)
    assert told.notes[0] == "It is b of a match that was complete at 2024-03-01T09:00:05Z, with a 2024-03-01T09:00:00Z."


def test_a_pattern_that_has_ended_takes_nothing(engine: Engine) -> None:
    once = "SELECT a.v FROM PATTERN [ a=Pulse(v > 5) -> b=Pulse(v > a.v) ]"
    told = why_not(engine, once, [pulse("s1", v, i) for i, v in enumerate((6, 7, 8, 9))], 4)
    assert told.chances == ()
    assert told.notes == ("The pattern had ended before: without EVERY it ends with its first match.",)


def test_an_event_under_not_ends_the_match(engine: Engine) -> None:
    text = "SELECT a.v FROM PATTERN [ EVERY a=Pulse(v > 5) -> (b=Pulse(v > a.v) AND NOT Reset(sensor = a.sensor)) ]"
    deployment = engine.deploy(text, "asked")
    engine.load("Pulse", [pulse("s1", 6, 0)])
    engine.load("Reset", [{"sensor": "s1", "at": clock(1)}])
    for stream in ("Pulse", "Reset"):
        engine.advance(stream, clock(60))
    deployment.drain()
    (told,) = deployment.why_event(2)
    assert [(c.of, c.outcome) for c in told.chances] == [("Reset(sensor = a.sensor)", "ends it")]


def test_an_event_under_not_is_not_waited_for(engine: Engine) -> None:
    text = "SELECT a.v FROM PATTERN [ EVERY a=Pulse(v > 5) -> (timer:interval(10 min) AND NOT b=Pulse(v < a.v)) ]"
    told = why_not(engine, text, [pulse("s1", 6, 0), pulse("s1", 7, 1)], 1, until=60)
    assert told.notes == ("A match with it continues as long as no b=Pulse(v < a.v) comes.",)
    (other,) = engine.deployments["asked"].why_event(2)
    (chance,) = [c for c in other.chances if c.of.startswith("b=")]
    assert (chance.outcome, chance.further) == (
        "fails",
        "it is under NOT: such an event would have ended the match",
    )


@pytest.mark.parametrize("v", [4, 9])
def test_between_is_one_comparison(engine: Engine, v: float) -> None:
    text = "SELECT a.v FROM PATTERN [ EVERY a=Pulse(v = 5) -> b=Pulse(v BETWEEN 6 AND 7 AND v BETWEEN a.v AND 8) ]"
    (chance,) = [c for c in why_not(engine, text, [pulse("s", 5, 0), pulse("s", v, 1)], 2).chances if c.so_far]
    assert [(answer.text, answer.holds, dict(answer.values)) for answer in chance.answers] == [
        ("v BETWEEN 6 AND 7", False, {"v": v}),
        ("v BETWEEN a.v AND 8", False, {"v": v, "a.v": 5.0}),
    ]


@pytest.mark.parametrize("term", ["v NOT BETWEEN 1 AND a.v - 2", "NOT v BETWEEN 1 AND a.v - 2"])
@pytest.mark.parametrize(("v", "holds"), [(3, False), (5, True)])
def test_half_of_a_denied_between_is_not_shown_as_all_of_it(engine: Engine, term: str, v: float, holds: bool) -> None:
    text = f"SELECT a.v FROM PATTERN [ EVERY a=Pulse(v = 6) -> b=Pulse({term}) ]"
    (chance,) = [c for c in why_not(engine, text, [pulse("s", 6, 0), pulse("s", v, 1)], 2).chances if c.so_far]
    assert [(answer.text, answer.holds, dict(answer.values)) for answer in chance.answers] == [
        (term, holds, {"v": v, "a.v - 2": 4.0})
    ]


# -- MATCH_RECOGNIZE --------------------------------------------------------------------------------------


def test_a_row_tells_for_each_variable_what_failed(engine: Engine) -> None:
    told = why_not(engine, RISING, [pulse("s1", v, i) for i, v in enumerate((7, 9, 8))], 3)
    ways = [chance for chance in told.chances if len(chance.so_far) == 2]
    assert [(bound.name, bound.values["v"]) for bound in ways[0].so_far] == [("A", 7.0), ("B", 9.0)]
    assert [failed(way) for way in ways] == [
        {"B.v > PREV(B.v)": {"B.v": 8.0, "PREV(B.v)": 9.0}},
        {"C.v < A.v": {"C.v": 8.0, "A.v": 7.0}},
    ]
    assert (told.chances[-1].of, told.chances[-1].so_far) == ("A: always", ())


def test_a_row_that_was_taken_tells_where_its_way_ended(engine: Engine) -> None:
    told = why_not(engine, RISING, [pulse("s1", v, i) for i, v in enumerate((7, 9, 8))], 2)
    assert told.chances[0].outcome == "takes it"
    assert told.chances[0].further == (
        "it went on to 2024-03-01T09:00:01Z; the row of 2024-03-01T09:00:02Z was "
        "not B: B.v > PREV(B.v) (B.v is 8.0, PREV(B.v) is 9.0), not C: C.v < A.v (C.v is 8.0, A.v is 7.0)"
    )


def test_a_row_waits_at_most_until_the_bound(engine: Engine) -> None:
    rows = [pulse("s1", 7, 0), pulse("s1", 9, 1)]
    told = why_not(engine, RISING, rows, 2, until=10)
    assert told.chances[0].further == "it waits for the next row, at most until 2024-03-01T09:05:00Z"
    engine.advance("Pulse", clock(600))
    engine.deployments["asked"].drain()
    (later,) = engine.deployments["asked"].why_event(2)
    assert later.chances[0].further == "it had time for a next row until 2024-03-01T09:05:00Z"


def test_a_row_that_comes_too_late_is_told_the_bound(engine: Engine) -> None:
    told = why_not(engine, RISING, [pulse("s1", 7, 0), pulse("s1", 9, 1), pulse("s1", 3, 301)], 3)
    way = next(c for c in told.chances if c.of.startswith("C ") and len(c.so_far) == 2)
    assert failed(way) == {"WITHIN 5 min": {"time since the first row": "5 min 1 sec"}}


def test_a_row_of_a_match_says_which(engine: Engine) -> None:
    told = why_not(engine, RISING, [pulse("s1", v, i) for i, v in enumerate((7, 9, 3))], 2)
    assert told.notes == ("It is B of the match from 2024-03-01T09:00:00Z to 2024-03-01T09:00:02Z.",)


def test_a_match_that_may_still_grow_says_that_it_waits(engine: Engine) -> None:
    growing = "SELECT v FROM Pulse MATCH_RECOGNIZE ( MEASURES A.v AS v PATTERN (A B+) DEFINE B AS B.v > PREV(B.v) )"
    told = why_not(engine, growing, [pulse("s1", 1, 0), pulse("s1", 2, 1)], 2)
    assert told.chances[0].further == (
        "a match is complete at 2024-03-01T09:00:01Z; its row waits until no later row can change it"
    )


@pytest.mark.parametrize("v", [4, 9])
def test_between_over_several_rows_is_one_comparison(engine: Engine, v: float) -> None:
    text = (
        "SELECT v FROM Pulse MATCH_RECOGNIZE ( MEASURES A.v AS v PATTERN (A B) "
        "DEFINE A AS v = 5, B AS v BETWEEN A.v AND PREV(v) + 2 )"
    )
    (chance,) = [c for c in why_not(engine, text, [pulse("s", 5, 0), pulse("s", v, 1)], 2).chances if c.so_far]
    (answer,) = chance.answers
    assert (answer.text, answer.holds) == ("v BETWEEN A.v AND PREV(v) + 2", False)
    assert dict(answer.values) == {"v": v, "PREV(v) + 2": 7.0, "A.v": 5.0}


# -- sequences --------------------------------------------------------------------------------------------


def test_a_subgoal_tells_what_failed_and_the_step_how_likely_the_answer_was(engine: Engine) -> None:
    deployment = engine.deploy(INSIDE, "asked")
    steps = [(0, 0.4, 0.6), (1, 0.5, 0.5), (2, 0.1, 0.9)]
    rows = [
        {"person": "joe", "location": place, "probability": chance, "at": clock(second)}
        for second, hall, lab in steps
        for place, chance in (("hall", hall), ("lab", lab))
    ]
    engine.load("At", rows)
    engine.advance("At", clock(60))
    deployment.drain()
    (told,) = deployment.why_event(3)
    first, then = told.chances
    assert (first.of, first.outcome, first.further) == (
        "At(p, 'hall')",
        "takes it",
        "it has probability 0.5 at its step",
    )
    assert failed(then) == {"l <> 'hall'": {"location": "hall"}}
    assert told.notes == (
        "At its step, 2024-03-01T09:00:01Z, the sequence has probability with p = joe: 0.2. A row needs "
        "probability >= 0.3.",
    )
    (start,) = deployment.why_event(1)
    assert start.notes[-1].endswith("the sequence has probability 0 with p = joe: there is no row.")


# -- what cannot be told ----------------------------------------------------------------------------------


def test_what_cannot_be_told_is_not_guessed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    told = why_not(engine, DOUBLED, [pulse("s1", 6, 0), pulse("s1", 8, 10)], 99)
    assert told.notes == ("It is not an event of this pattern.",)
    monkeypatch.setattr(why_not_patterns, "MOST_EVENTS", 1)
    (many,) = engine.deployments["asked"].why_event(2)
    assert many.notes == ("Its streams have 2 events; why-not replays at most 1.",)


def test_rows_of_other_statements_are_not_read_again(engine: Engine) -> None:
    engine.execute("CREATE STATEMENT high AS INSERT INTO High SELECT sensor, v FROM Pulse WHERE v > 5;")
    told = why_not(engine, "SELECT a.v FROM PATTERN [ EVERY a=High -> b=High(v > a.v) ]", [pulse("s1", 6, 0)], 1)
    assert told.notes == ("It reads rows of other statements; why-not cannot replay them: ask about those statements.",)


def test_a_condition_on_whole_matches_is_said_to_be_left_out(engine: Engine) -> None:
    told = why_not(engine, f"{DOUBLED} WHERE a.v < 7", [pulse("s1", 6, 0), pulse("s1", 20, 5)], 2)
    assert told.notes[-1] == "The operators above it are not checked here: Filter a.v < 7.0."
