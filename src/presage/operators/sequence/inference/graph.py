"""Transition probabilities of a building's graph: stay with a given chance, else go evenly to a neighbour."""

from __future__ import annotations

from collections.abc import Iterable

# One state's way on: (next state, probability) with probability > 0, by the number of the next state.
Ways = tuple[tuple[int, float], ...]


def transitions_of(states: int, edges: Iterable[tuple[int, int]], stay: float, directed: bool) -> tuple[Ways, ...]:
    """Ways on of each state. An edge said twice counts once, a loop not at all; who has no neighbour stays."""
    neighbours: list[set[int]] = [set() for _ in range(states)]
    for a, b in edges:
        if a != b:
            neighbours[a].add(b)
            if not directed:
                neighbours[b].add(a)
    ways = []
    for state, others in enumerate(neighbours):
        chances = {other: (1.0 - stay) / len(others) for other in others}
        chances[state] = stay if others else 1.0
        ways.append(tuple((other, p) for other, p in sorted(chances.items()) if p > 0.0))
    return tuple(ways)
