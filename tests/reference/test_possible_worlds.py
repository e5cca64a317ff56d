"""Probabilities of sequence queries, world by world, against numbers worked out by hand."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from reference.possible_worlds import (
    Chain,
    Stream,
    answers,
    answers_in,
    chains_of,
    differences,
    number_of_worlds,
    sampled_world,
    worlds,
)
from reference.sequence_conditions import compared, member
from reference.sequence_rivals import marginals, most_likely_path, most_likely_paths, most_likely_values
from reference.sequence_semantics import Anything, Condition, Constant, Part, Plus, Query, Term, Variable

AT = Stream("At", ("person", "location"), (0,), (1,), "independent")
WALK = Stream("Walk", ("person", "location"), (0,), (1,), "markov")
BELL = Stream("Bell", ("tone",))
ANY = Anything()
X, Y, P, L = map(Variable, "xypl")
Rows = dict[str, list[dict[str, Any]]]


def part(stream: str, *terms: Term | str, where: Condition | None = None, plus: Plus | None = None) -> Part:
    return Part(stream, tuple(Constant(t) if isinstance(t, str) else t for t in terms), where, plus)


def at(step: int, person: str, **chances: float) -> list[dict[str, Any]]:
    """Rows of one key at one step: location = probability."""
    return [{"person": person, "location": place, "at": step, "probability": p} for place, p in chances.items()]


def walk(step: int, person: str, before: str | None, **chances: float) -> list[dict[str, Any]]:
    return [row | {"prev_location": before} for row in at(step, person, **chances)]


def bell(*steps: int, tone: str = "ding") -> list[dict[str, Any]]:
    return [{"tone": tone, "at": step} for step in steps]


def approximate_answers(query: Query, rows: Rows, *streams: Stream) -> dict[Any, Any]:
    """The answers, as approximate numbers; without selected variables keyed by the step alone."""
    steps, chains = chains_of({stream.name: stream for stream in streams}, rows)
    found = answers(query, steps, chains)
    return {answer if query.selected else answer[1]: pytest.approx(p, abs=1e-12) for answer, p in found.items()}


Q_F = Query((part("At", ANY, "a"), part("At", ANY, "b")))
Q_S = Query((part("At", ANY, "a"), part("At", ANY, Y)), (compared(Y, "=", Constant("b")),))


def test_a_filter_waits_and_a_selection_ends() -> None:
    rows = {"At": at(1, "joe", a=0.5) + at(2, "joe", c=0.4, b=0.2) + at(3, "joe", b=0.5)}
    # At 3 the filter needs anything but b at 2 (0.8), the selection needs no event at 2 (0.4).
    assert approximate_answers(Q_F, rows, AT) == {2: 0.1, 3: 0.5 * 0.8 * 0.5}
    assert approximate_answers(Q_S, rows, AT) == {2: 0.1, 3: 0.5 * 0.4 * 0.5}


def test_the_papers_input_sequence_tells_them_apart_with_certainty() -> None:
    rows = {"At": at(1, "joe", a=1) + at(2, "joe", c=1) + at(3, "joe", b=1)}
    assert approximate_answers(Q_F, rows, AT) == {3: 1.0}
    assert approximate_answers(Q_S, rows, AT) == {}


def test_joes_coffee() -> None:
    coffee = member("CRoom", [("c1",), ("c2",)], L)
    query = Query((part("At", "joe", "o"), part("At", "joe", L, where=coffee), part("At", "joe", "o")))
    rows = {
        "At": at(1, "joe", o=0.5, h=0.5)
        + at(2, "joe", c1=0.3, c2=0.2, h=0.5)
        + at(3, "joe", o=0.4, c1=0.1)
        + at(4, "joe", o=0.5)
        + at(2, "sue", c1=1.0)
    }
    # At 4: coffee at 2 and no office at 3, or coffee at 3 alone.
    assert approximate_answers(query, rows, AT) == {3: 0.5 * 0.5 * 0.4, 4: 0.5 * (0.5 * 0.6 + 0.5 * 0.1) * 0.5}


HALL = Query(
    (
        part("Walk", X, "a"),
        part("Walk", X, L, plus=Plus(("x",), member("Hall", [("h",)], L))),
        part("Walk", X, "c"),
    )
)
WALKS: Rows = {
    "Walk": walk(1, "joe", None, a=1.0)
    + walk(2, "joe", "a", h=0.5, a=0.5)
    + walk(3, "joe", "h", c=0.6, h=0.4)
    + walk(3, "joe", "a", h=1.0)
    + walk(4, "joe", "c", c=1.0)
    + walk(4, "joe", "h", c=0.25, a=0.75)
    + walk(1, "sue", None, a=0.5)
    + walk(2, "sue", "a", h=1.0)
    + walk(3, "sue", "h", c=0.5)
}


def test_anyone_who_goes_through_the_hall() -> None:
    # Joe at 4: a h h c, or a a h c. Sue cannot be anywhere at 4.
    joe = 0.5 * 0.4 * 0.25 + 0.5 * 1.0 * 0.25
    assert approximate_answers(HALL, WALKS, WALK) == {3: 1 - (1 - 0.3) * (1 - 0.25), 4: joe}


def test_a_selected_variable_has_one_answer_for_each_value() -> None:
    query = Query(HALL.parts, selected=("x",))
    found = approximate_answers(query, WALKS, WALK)
    assert found == {(("joe",), 3): 0.3, (("sue",), 3): 0.25, (("joe",), 4): 0.175}


def test_no_event_is_no_candidate() -> None:
    query = Query((part("At", ANY, "a"), part("At", ANY, ANY)))
    rows = {"At": at(1, "joe", a=1.0) + at(2, "joe", b=0.25) + at(3, "joe", b=0.5, c=0.5)}
    assert approximate_answers(query, rows, AT) == {2: 0.25, 3: 0.75}


def test_a_selected_variable_is_compared_after_next() -> None:
    query = Query((part("At", ANY, "a"), part("At", ANY, Y)), selected=("y",))
    rows = {"At": at(1, "joe", a=1.0) + at(2, "joe", b=0.5, c=0.3) + at(3, "joe", b=0.5)}
    # At 3 only if there was no event at all at 2: had y been b from the start, c at 2 would not have counted.
    assert approximate_answers(query, rows, AT) == {(("b",), 2): 0.5, (("c",), 2): 0.3, (("b",), 3): 0.2 * 0.5}


def test_a_match_is_counted_once_however_often_it_began() -> None:
    query = Query((part("At", ANY, "a"), part("Bell", ANY)))
    rows = {"At": at(1, "joe", a=0.5) + at(2, "joe", a=0.5) + at(2, "sue", a=0.5), "Bell": bell(3)}
    assert approximate_answers(query, rows, AT, BELL) == {3: 1 - 0.5**3}


def test_a_certain_stream_may_have_several_events_at_a_step() -> None:
    query = Query((part("Bell", X), part("At", ANY, X)))
    rows = {"At": at(2, "joe", a=0.5, b=0.25), "Bell": bell(1, tone="a") + bell(1, tone="b") + bell(1, tone="c")}
    assert approximate_answers(query, rows, AT, BELL) == {2: 0.75}


def test_a_safe_plan_of_three_streams() -> None:
    streams = [Stream(name, ("k", "v"), (0,), (1,), "independent") for name in "RST"]
    query = Query((part("R", X, ANY), part("S", X, ANY), part("T", "a", Y)))

    def there(step: int, key: str, probability: float) -> dict[str, Any]:
        return {"k": key, "v": "1", "at": step, "probability": probability}

    rows = {
        "R": [there(1, "p", 0.5), there(1, "q", 0.5)],
        "S": [there(2, "p", 0.5), there(2, "q", 0.5)],
        "T": [there(3, "a", 0.8), there(3, "b", 1.0), there(4, "a", 0.5)],
    }
    both = 1 - (1 - 0.25) ** 2
    assert approximate_answers(query, rows, *streams) == {3: 0.8 * both, 4: 0.2 * 0.5 * both}


def test_kleene_plus_over_uncertain_events() -> None:
    query = Query((part("At", ANY, "a"), part("At", ANY, "b", plus=Plus()), part("At", ANY, "c")))
    rows = {"At": at(1, "joe", a=1.0) + at(2, "joe", b=0.5, c=0.5) + at(3, "joe", b=0.5) + at(4, "joe", c=0.5)}
    # At 4: b at 2, at 3 or at both.
    assert approximate_answers(query, rows, AT) == {4: 0.75 * 0.5}


def test_each_unfolding_is_an_answer_of_its_own_step() -> None:
    query = Query((part("At", ANY, "a"), part("At", ANY, L, plus=Plus((), compared(L, "<>", Constant("c"))))))
    rows = {"At": at(1, "joe", a=1.0) + at(2, "joe", b=0.5, c=0.25) + at(3, "joe", b=0.5)}
    # At 3 unless c came at 2 (0.25), which is the next event and fails.
    assert approximate_answers(query, rows, AT) == {2: 0.5, 3: 0.75 * 0.5}


# -- Markov streams -----------------------------------------------------------------------------------------------


def test_markov_values_depend_on_the_step_before() -> None:
    rows = {"Walk": walk(1, "joe", None, a=0.5, b=0.5) + walk(2, "joe", "a", a=1.0) + walk(2, "joe", "b", b=1.0)}
    stays = Query((part("Walk", P, L), part("Walk", P, L)), selected=("l",))
    moves = Query((part("Walk", P, X), part("Walk", P, Y)), (compared(X, "<>", Y),))
    assert approximate_answers(stays, rows, WALK) == {(("a",), 2): 0.5, (("b",), 2): 0.5}
    assert approximate_answers(moves, rows, WALK) == {}


def test_after_no_event_only_rows_without_a_previous_value_count() -> None:
    rows = {"Walk": walk(1, "joe", None, a=0.5) + walk(2, "joe", "a", a=0.5) + walk(2, "joe", None, a=0.25)}
    assert approximate_answers(Query((part("Walk", ANY, "a"),)), rows, WALK) == {1: 0.5, 2: 0.5 * 0.5 + 0.5 * 0.25}


def test_a_previous_value_without_rows_leads_to_no_event() -> None:
    rows = {"Walk": walk(1, "joe", None, a=0.5, b=0.5) + walk(2, "joe", "a", a=1.0)}
    assert approximate_answers(Query((part("Walk", ANY, ANY),)), rows, WALK) == {1: 1.0, 2: 0.5}


def test_a_step_of_another_stream_is_a_step_without_an_event() -> None:
    rows = {
        "Walk": walk(1, "joe", None, a=1.0) + walk(3, "joe", "a", a=0.75) + walk(3, "joe", None, a=0.125),
        "Bell": bell(2),
    }
    assert approximate_answers(Query((part("Walk", ANY, "a"),)), rows, WALK) == {1: 1.0, 3: 0.75}
    # With the bell there is a step between them, and at it no row of Joe.
    query = Query((part("Bell", ANY), part("Walk", ANY, "a")))
    assert approximate_answers(query, rows, WALK, BELL) == {3: 0.125}


def test_a_key_may_begin_late() -> None:
    rows = {"Walk": walk(1, "joe", None, a=1.0) + walk(2, "sue", None, a=0.5) + walk(3, "sue", "a", a=1.0)}
    assert approximate_answers(Query((part("Walk", "sue", "a"),)), rows, WALK) == {2: 0.5, 3: 0.5}


def test_two_uncertain_attributes_are_one_value() -> None:
    stream = Stream("Pos", ("x", "car", "y"), (1,), (0, 2), "markov", "seen")

    def row(step: int, before: tuple[int, int] | None, now: tuple[int, int], probability: float) -> dict[str, Any]:
        old = before or (None, None)
        values = {"x": now[0], "y": now[1], "car": "c", "seen": step, "probability": probability}
        return values | {"prev_x": old[0], "prev_y": old[1]}

    rows = {
        "Pos": [
            row(1, None, (0, 0), 0.5),
            row(1, None, (0, 1), 0.5),
            row(2, (0, 0), (1, 0), 1.0),
            row(2, (0, 1), (0, 1), 0.5),
            row(2, (0, 1), (1, 1), 0.25),
        ]
    }
    query = Query((part("Pos", ANY, ANY, Y), part("Pos", Constant(1), ANY, Y)), selected=("y",))
    assert approximate_answers(query, rows, stream) == {((0,), 2): 0.5, ((1,), 2): 0.125}


# -- worlds -------------------------------------------------------------------------------------------------------


def chains() -> tuple[list[Any], list[Chain]]:
    rows = WALKS | {"At": at(2, "joe", h=0.3, c=0.2) + at(3, "joe", a=0.1, c=0.9), "Bell": bell(1, 3)}
    return chains_of({"Walk": WALK, "At": AT, "Bell": BELL}, rows)


def test_worlds_are_as_many_as_the_ways_of_the_chains() -> None:
    steps, given = chains()
    # Joe's walk: a h c c, a h h c, a h h a, a a h c, a a h a; Sue's: ⊥, a h c, a h ⊥; At: 3 times 2 ways.
    assert number_of_worlds(given) == 5 * 3 * 6 == len(list(worlds(steps, given)))


def test_more_mass_than_one_is_refused() -> None:
    with pytest.raises(AssertionError, match="more than 1"):
        chains_of({"At": AT}, {"At": at(1, "joe", a=0.6, b=0.6)})
    with pytest.raises(AssertionError, match="comes twice"):
        chains_of({"At": AT}, {"At": at(1, "joe", a=0.1) * 2})


def test_nothing_loaded_has_no_answer() -> None:
    assert approximate_answers(Q_F, {}, AT) == {}


@pytest.mark.parametrize(
    "query",
    [
        Query((part("At", ANY, Y), part("Walk", X, Y)), selected=("x",)),
        Query((part("Walk", X, L, plus=Plus(("x",))), part("Bell", ANY))),
        Query((part("Walk", X, P), part("At", X, Y)), (compared(P, "<", Y),)),
    ],
)
def test_sampled_worlds_have_the_same_mean(query: Query) -> None:
    steps, given = chains()
    draws, random, counts = 2000, Random(7), dict.fromkeys(answers(query, steps, given), 0)
    for _ in range(draws):
        for answer in answers_in(query, steps, sampled_world(steps, given, random)):
            counts[answer] += 1
    sampled = {answer: count / draws for answer, count in counts.items()}
    exact = answers(query, steps, given)
    assert exact
    assert differences(exact, sampled, within=5 * 0.5 / draws**0.5) == {}


def test_differences_see_missing_wrong_and_extra_answers() -> None:
    expected = {((), 1): 0.5, ((), 2): 0.25, ((), 3): 0.1}
    found = {((), 1): 0.5, ((), 2): 0.3, ((), 4): 1.0}
    assert differences(expected, found) == {((), 2): (0.25, 0.3), ((), 3): (0.1, 0.0), ((), 4): (0.0, 1.0)}
    assert differences(expected, {**expected, ((), 9): 1e-17}) == {}
    assert differences(expected, {**expected, ((), 1): float("nan")})


# -- rivals -------------------------------------------------------------------------------------------------------


def places(world: list[list[Any]]) -> list[str]:
    return ["".join(event.values[1] for event in events) for events in world]


def test_the_likeliest_value_of_each_step_need_not_be_a_path() -> None:
    rows = {
        "Walk": walk(1, "joe", None, a=0.4, b=0.6)
        + walk(2, "joe", "a", c=1.0)
        + walk(2, "joe", "b", d=0.35, e=0.35, f=0.3)
    }
    steps, given = chains_of({"Walk": WALK}, rows)
    assert places(most_likely_values(steps, given)) == ["b", "c"]
    assert places(most_likely_paths(steps, given)) == ["a", "c"]
    assert most_likely_path(given[0])[0] == pytest.approx(0.4)
    assert [sum(each.values()) for each in marginals(given[0])] == pytest.approx([1.0, 1.0])


def test_ties_go_to_the_first_value_and_never_to_no_event() -> None:
    rows = {"At": at(1, "joe", b=0.3, a=0.3) + at(2, "joe", a=0.5) + at(3, "joe", a=0.4)}
    steps, given = chains_of({"At": AT}, rows)
    # At 1 no event has 0.4, at 3 it has 0.6.
    assert places(most_likely_values(steps, given)) == ["", "a", ""]
    assert places(most_likely_paths(steps, given)) == ["", "a", ""]
    even = chains_of({"At": AT}, {"At": at(1, "joe", b=0.4, a=0.4) + at(2, "joe", c=0.25, b=0.25, a=0.25)})
    assert places(most_likely_values(*even)) == places(most_likely_paths(*even)) == ["a", "a"]


def test_rivals_keep_certain_events_and_every_key() -> None:
    rows = {"At": at(1, "joe", a=0.9) + at(1, "sue", b=0.8), "Bell": bell(1) + bell(1, tone="dong")}
    steps, given = chains_of({"At": AT, "Bell": BELL}, rows)
    found = {event.values for event in most_likely_values(steps, given)[0]}
    assert found == {("joe", "a"), ("sue", "b"), ("ding",), ("dong",)}
