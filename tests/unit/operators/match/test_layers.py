"""Columns for the nodes of a graph."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from presage.operators.match.layers import columns


def test_steps_stand_in_a_row() -> None:
    assert columns({0: [1], 1: [2], 2: []}, 0) == {0: 0, 1: 1, 2: 2}


def test_a_node_stands_behind_all_that_lead_to_it() -> None:
    assert columns({0: [1, 2], 1: [2], 2: []}, 0) == {0: 0, 1: 1, 2: 2}


def test_choices_of_a_loop_stand_above_each_other() -> None:
    assert columns({0: [1, 2], 1: [1, 2, 3], 2: [1, 2, 3], 3: []}, 0) == {0: 0, 1: 1, 2: 1, 3: 2}


def test_steps_of_a_loop_stand_in_a_row() -> None:
    assert columns({0: [1], 1: [2], 2: [3], 3: [1, 4], 4: []}, 0) == {0: 0, 1: 1, 2: 2, 3: 3, 4: 4}


def test_what_cannot_be_reached_has_no_column() -> None:
    assert columns({0: [1], 1: [], 2: [1]}, 0) == {0: 0, 1: 1}


def test_a_thousand_nodes_in_a_row_need_no_deep_stack() -> None:
    graph = {n: [n + 1] for n in range(5_000)} | {5_000: []}
    assert columns(graph, 0)[5_000] == 5_000


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 7), max_size=4), min_size=8, max_size=8))
def test_only_ways_within_a_loop_lead_back(targets: list[list[int]]) -> None:
    graph = dict(enumerate(targets))
    reached = {n: reachable(graph, n) for n in graph}
    column = columns(graph, 0)
    assert set(column) == {0} | reached[0]
    for n in column:
        for target in graph[n]:
            assert column[target] > column[n] or n in reached[target]


def reachable(graph: dict[int, list[int]], start: int) -> set[int]:
    found: set[int] = set()
    todo = [*graph[start]]
    while todo:
        node = todo.pop()
        if node not in found:
            found.add(node)
            todo.extend(graph[node])
    return found
