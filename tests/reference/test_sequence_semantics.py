"""Sequence queries in one certain world: what Fig. 2 of the paper says, in worlds small enough to work out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from reference.sequence_conditions import compared, member, negated, one_of
from reference.sequence_semantics import Anything, Condition, Constant, Event, Part, Plus, Query, Term, Variable, holds

HALL = [("h1",), ("h2",)]
ANY = Anything()
X, Y, Z, P, L = map(Variable, "xyzpl")


def part(stream: str, *terms: Term | str | int, where: Condition | None = None, plus: Plus | None = None) -> Part:
    constant = (str, int)
    return Part(stream, tuple(Constant(t) if isinstance(t, constant) else t for t in terms), where, plus)


def world(*steps: str) -> list[list[Event]]:
    """Steps as text: "R(a) S(b,c)"."""
    found = []
    for step in steps:
        events = [each.rstrip(")").partition("(") for each in step.split()]
        found.append([Event(stream, tuple(values.split(",")) if values else ()) for stream, _, values in events])
    return found


def steps_of(query: Query, steps: list[list[Event]]) -> list[int]:
    return sorted({step for _, step in holds(query, steps)})


def bindings(query: Query, steps: list[list[Event]]) -> set[tuple[tuple[Any, ...], int]]:
    return {(tuple(value for _, value in sorted(binding)), step) for binding, step in holds(query, steps)}


Q_F = Query((part("R", "a"), part("R", "b")))
Q_S = Query((part("R", "a"), part("R", Y)), (compared(Y, "=", Constant("b")),))


def test_a_filter_looks_past_other_events_and_a_selection_does_not() -> None:
    given = world("R(a)", "R(c)", "R(b)")
    assert steps_of(Q_F, given) == [2]
    assert steps_of(Q_S, given) == []


def test_a_subgoals_own_condition_is_a_filter() -> None:
    query = Query((part("R", "a"), part("R", Y, where=compared(Y, "=", Constant("b")))))
    assert steps_of(query, world("R(a)", "R(c)", "R(b)")) == [2]


def test_all_candidates_of_the_earliest_step_are_taken() -> None:
    query = Query((part("R", "a"), part("S", Y)))
    assert bindings(query, world("R(a)", "S(b) S(c)", "S(d)")) == {(("b",), 1), (("c",), 1)}
    selection = Query(query.parts, (compared(Y, "=", Constant("c")),))
    assert steps_of(selection, world("R(a)", "S(b) S(c)", "S(c)")) == [1]


def test_a_successor_is_strictly_later() -> None:
    query = Query((part("R", X), part("S", X)))
    assert steps_of(query, world("R(a) S(a)")) == []
    assert steps_of(query, world("R(a) S(a)", "S(a)")) == [1]


def test_a_match_may_start_at_every_step() -> None:
    query = Query((part("R", "a"), part("S")))
    assert steps_of(query, world("R(a)", "S()", "R(a)", "", "S()", "S()")) == [1, 4]


def test_two_matches_that_end_together_are_one_result() -> None:
    query = Query((part("R", "a"), part("S")))
    assert bindings(query, world("R(a)", "R(a)", "S()")) == {((), 2)}


def test_successors_agree_on_shared_variables_whatever_comes_between() -> None:
    query = Query((part("At", P, "a"), part("At", P, L)))
    given = world("At(joe,a)", "At(sue,b)", "At(sue,c) At(joe,d)", "At(joe,e)")
    assert bindings(query, given) == {(("d", "joe"), 2)}


def test_a_variable_twice_in_a_subgoal_is_one_value() -> None:
    assert bindings(Query((part("R", X, X),)), world("R(a,b)", "R(b,b)")) == {(("b",), 1)}


def test_anything_matches_and_binds_nothing() -> None:
    assert bindings(Query((part("R", ANY, X),)), world("R(a,b) R(c,b)")) == {(("b",), 0)}


def test_a_condition_is_applied_after_next_wherever_it_is_written() -> None:
    query = Query((part("R", X), part("S", Y)), (compared(X, "<>", Y),))
    assert steps_of(query, world("R(a)", "S(a)", "S(b)")) == []
    assert steps_of(query, world("R(a)", "S(a) S(b)")) == [1]


def test_a_condition_on_the_prefix_leaves_its_successors_alone() -> None:
    query = Query((part("R", X), part("R", Y)), (compared(X, "=", Constant("a")),))
    assert bindings(query, world("R(a)", "R(b)", "R(c)")) == {(("a", "b"), 1)}


def test_a_null_is_matched_by_nothing_but_anything() -> None:
    given = [[Event("R", (None,))], [Event("R", (None,))], [Event("R", ("b",))]]
    assert steps_of(Query((part("R", X),)), given) == [2]
    assert steps_of(Query((part("R", X, plus=Plus(("x",))),)), given) == [2]
    assert steps_of(Query((part("R", X),), (negated(compared(X, "=", Constant("a"))),)), given) == [2]
    assert steps_of(Query((part("R", ANY), part("R", X))), given) == [2]
    assert steps_of(Query((part("R", ANY), part("R", ANY))), given) == [1, 2]


# -- Kleene plus --------------------------------------------------------------------------------------------------


def test_a_plus_holds_after_each_unfolding() -> None:
    query = Query((part("R", "a"), part("S", X, plus=Plus())))
    assert steps_of(query, world("R(a)", "S(b)", "", "S(c)", "S(b)")) == [1, 3, 4]


def test_a_plus_without_a_prefix_starts_anywhere() -> None:
    query = Query((part("S", X, plus=Plus(("x",))), part("T", X)))
    assert bindings(query, world("S(a)", "S(b)", "S(a)", "T(a)", "T(b)")) == {(("a",), 3), (("b",), 4)}


def test_the_condition_of_a_plus_ends_it_at_the_first_unfolding_that_fails() -> None:
    hall = member("Hall", HALL, L)
    query = Query((part("At", "a"), part("At", L, plus=Plus((), hall)), part("At", "c")))
    # At(c) is the next At after At(h1): it ends the unfoldings, and is the next At(c) as well.
    assert steps_of(query, world("At(a)", "At(h1)", "At(h2)", "At(c)", "At(c)")) == [3]
    # From At(a) the next At is At(o), which is no hall: nothing goes on.
    assert steps_of(query, world("At(a)", "At(o)", "At(h1)", "At(c)")) == []
    # At(h1) has been unfolded; At(o) cannot be, but waiting for At(c) goes on.
    assert steps_of(query, world("At(a)", "At(h1)", "At(o)", "At(c)")) == [3]


def test_the_filter_of_a_plus_skips_what_its_condition_would_stop_at() -> None:
    hall = member("Hall", HALL, L)
    filtered = Query((part("At", "a"), part("At", L, where=hall, plus=Plus()), part("At", "c")))
    assert steps_of(filtered, world("At(a)", "At(o)", "At(h1)", "At(c)")) == [3]


def test_a_plus_without_shared_variables_takes_any_event_each_time() -> None:
    free = Query((part("At", P, L, plus=Plus()), part("T")))
    shared = Query((part("At", P, L, plus=Plus(("p", "l"))), part("T")))
    given = world("At(joe,a)", "At(joe,b)", "T()")
    assert bindings(free, given) == {((), 2)}
    assert bindings(shared, given) == {(("a", "joe"), 2), (("b", "joe"), 2)}


def test_shared_variables_select_the_unfoldings() -> None:
    hall = one_of(L, ["h1", "h2"])
    query = Query((part("At", P, "a"), part("At", P, L, plus=Plus(("p",), hall)), part("At", P, "c")))
    given = world("At(joe,a)", "At(joe,h1) At(sue,o)", "At(joe,h2)", "At(sue,c) At(joe,c)")
    assert bindings(query, given) == {(("joe",), 3)}


def test_the_first_unfolding_shares_all_with_the_prefix_and_later_ones_only_what_is_named() -> None:
    query = Query((part("R", X), part("S", X, plus=Plus()), part("T", X)))
    given = world("R(a)", "S(b)", "S(a)", "S(c)", "T(c)", "T(a)")
    # First S(a), then S(c) with any x; outside x is still the prefix's a.
    assert bindings(query, given) == {(("a",), 5)}
    unfolded = Query(query.parts[:2])
    assert bindings(unfolded, given) == {(("a",), 2), (("a",), 3)}


def test_a_variable_of_a_plus_that_is_not_shared_is_another_one_outside() -> None:
    query = Query((part("At", P, L, plus=Plus(("p",))), part("At", P, L)))
    assert bindings(query, world("At(joe,a)", "At(joe,b)")) == {(("b", "joe"), 1)}


def test_the_condition_of_a_plus_may_speak_of_the_prefix() -> None:
    query = Query((part("R", X), part("S", Y, plus=Plus((), compared(Y, "<>", X)))))
    assert steps_of(query, world("R(a)", "S(b)", "S(c)", "S(a)", "S(b)")) == [1, 2]


def test_in_the_condition_of_a_plus_a_name_is_the_unfoldings_own() -> None:
    query = Query((part("R", X), part("S", X, plus=Plus((), compared(X, "<>", Constant("c"))))))
    assert steps_of(query, world("R(a)", "S(a)", "S(b)", "S(c)", "S(a)")) == [1, 2]


def test_one_plus_after_another() -> None:
    query = Query((part("R", plus=Plus()), part("S", plus=Plus())))
    assert steps_of(query, world("R()", "S()", "R()", "S()")) == [1, 3]


def test_a_query_that_speaks_of_what_it_cannot_see_is_refused() -> None:
    hidden = Query((part("S", X, plus=Plus()),), (compared(X, "=", Constant("a")),))
    with pytest.raises(AssertionError):
        holds(hidden, [])
    with pytest.raises(AssertionError):
        holds(Query((part("S", X, plus=Plus()),), selected=("x",)), [])
