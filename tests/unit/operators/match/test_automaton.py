"""Pattern trees become automata: ways on in order of preference, anchors, loops over nothing, limits."""

from __future__ import annotations

import pytest

from presage.errors import PresageError
from presage.operators.match.automaton import build_automaton, count_positions, variables_of
from presage.operators.match.kernel.spec import ACCEPT, Automaton, Edge
from presage.operators.match.regex import (
    Alternation,
    Concat,
    Empty,
    EndAnchor,
    Exclude,
    Permute,
    Regex,
    Repeat,
    StartAnchor,
    Variable,
)

A, B, C = Variable("A"), Variable("B"), Variable("C")
DONE = "."


def named(automaton: Automaton, edges: tuple[Edge, ...]) -> str:
    """Ways on as the variables that they lead to, a dot for the end."""
    return "".join(DONE if e.target == ACCEPT else automaton.variables[automaton.labels[e.target]] for e in edges)


def first(pattern: Regex) -> str:
    automaton = build_automaton(pattern)
    return named(automaton, automaton.first)


def follow(pattern: Regex, position: int) -> str:
    automaton = build_automaton(pattern)
    return named(automaton, automaton.follow[position])


def test_greedy_prefers_another_round_and_reluctant_the_way_out() -> None:
    assert first(Concat((Repeat(A, 0, None), B))) == "AB"
    assert first(Concat((Repeat(A, 0, None, greedy=False), B))) == "BA"
    assert follow(Concat((Repeat(A, 1, None), B)), 0) == "AB"
    assert follow(Concat((Repeat(A, 1, None, greedy=False), B)), 0) == "BA"


def test_the_last_round_that_must_be_is_the_one_that_repeats() -> None:
    automaton = build_automaton(Repeat(A, 3, None))
    assert automaton.labels == (0, 0, 0)
    assert [named(automaton, ways) for ways in automaton.follow] == ["A", "A", "A."]
    assert automaton.follow[2][0].target == 2


def test_bounded_rounds_are_written_out() -> None:
    automaton = build_automaton(Repeat(A, 1, 3))
    assert [named(automaton, ways) for ways in automaton.follow] == ["A.", "A.", "."]


def test_alternatives_keep_their_order() -> None:
    assert first(Alternation((B, Empty(), A))) == "B.A"


def test_permute_tries_orders_as_the_items_are_written() -> None:
    automaton = build_automaton(Permute((A, B, C)))
    assert named(automaton, automaton.first) == "AABBCC"
    assert [named(automaton, automaton.follow[e.target]) for e in automaton.first] == ["B", "C", "A", "C", "A", "B"]


def test_a_round_over_nothing_ends_the_loop() -> None:
    assert first(Repeat(Repeat(A, 0, 1), 0, None)) == "A."
    assert first(Concat((Repeat(Alternation((Empty(), A)), 1, None), B))) == "BA"


def test_anchors_hold_only_where_they_can() -> None:
    automaton = build_automaton(Concat((StartAnchor(), A, EndAnchor())))
    assert automaton.first == (Edge(0, at_start=True),)
    assert automaton.follow == ((Edge(ACCEPT, at_end=True),),)
    assert build_automaton(Concat((A, StartAnchor()))).follow == ((),)
    assert build_automaton(Concat((EndAnchor(), A))).first == ()


def test_an_anchored_way_after_the_same_way_without_anchor_is_dropped() -> None:
    assert build_automaton(Alternation((Empty(), StartAnchor()))).first == (Edge(ACCEPT),)
    assert len(build_automaton(Alternation((StartAnchor(), Empty()))).first) == 2


def test_excluded_positions_are_marked() -> None:
    automaton = build_automaton(Concat((A, Exclude(Concat((B, B))), C)))
    assert automaton.excluded == (False, True, True, False)


def test_positions_that_nothing_leads_to_are_gone() -> None:
    assert build_automaton(Concat((A, EndAnchor(), B))).labels == (0,)


def test_variables_are_numbered_as_they_appear_or_as_told() -> None:
    pattern = Concat((B, Repeat(Alternation((A, B)), 0, 1)))
    assert variables_of(pattern) == ("B", "A")
    assert build_automaton(pattern, ("A", "B")).labels[0] == 1


def test_many_ways_over_nothing_are_walked_once() -> None:
    maybe = Alternation((Repeat(A, 0, 1), Repeat(B, 0, 1), Repeat(C, 0, 1)))
    automaton = build_automaton(Concat((maybe,) * 40))
    assert len(automaton.first) == 3 * 40 + 1


@pytest.mark.parametrize(
    "pattern",
    [
        Repeat(Repeat(A, 1000, 1000), 1000, 1000),
        Permute((A,) * 12),
        Repeat(Repeat(A, 0, 1), 500, 500),
    ],
)
def test_patterns_too_large_are_refused(pattern: Regex) -> None:
    with pytest.raises(PresageError) as raised:
        build_automaton(pattern)
    assert raised.value.code == "LIMIT"


def test_positions_are_counted_before_they_are_made() -> None:
    assert count_positions(Repeat(Concat((A, Permute((B, C)))), 2, None)) == 2 * (1 + 4)
