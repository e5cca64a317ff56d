"""A building's graph as transitions."""

from __future__ import annotations

import pytest

from presage.operators.sequence.inference.model import transitions_of


def test_who_does_not_stay_goes_evenly_to_the_neighbours() -> None:
    ways = transitions_of(3, [(0, 1), (1, 2)], 0.6, directed=False)
    assert [dict(row) for row in ways] == [
        pytest.approx({0: 0.6, 1: 0.4}),
        pytest.approx({0: 0.2, 1: 0.6, 2: 0.2}),
        pytest.approx({1: 0.4, 2: 0.6}),
    ]


def test_a_directed_edge_leads_one_way_and_a_place_without_ways_on_is_not_left() -> None:
    assert transitions_of(2, [(0, 1)], 0.25, directed=True) == (((0, 0.25), (1, 0.75)), ((1, 1.0),))


def test_edges_said_twice_and_loops_change_nothing() -> None:
    plain = transitions_of(2, [(0, 1)], 0.5, directed=False)
    assert transitions_of(2, [(0, 1), (1, 0), (0, 1), (1, 1)], 0.5, directed=False) == plain


def test_ways_of_no_chance_are_left_out() -> None:
    assert transitions_of(2, [(0, 1)], 0.0, directed=False) == (((1, 1.0),), ((0, 1.0),))
    assert transitions_of(2, [(0, 1)], 1.0, directed=False) == (((0, 1.0),), ((1, 1.0),))
