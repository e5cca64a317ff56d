"""Classes of equivalent states of an automaton, and their order."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Ints, compiled, inlined


@compiled
def classes_of(follow: Ints, found: Bools, absorbing: bool) -> tuple[Ints, Ints]:
    """The class of each state, numbered from the first state on, and one state of each class. `absorbing`: what follows
    a found sequence makes no difference."""
    states = len(follow)
    own, count = np.zeros(states, np.int64), 1
    leaders = np.zeros(states, np.int64)
    while True:
        new, size = np.zeros(states, np.int64), 0
        for state in range(states):
            number = 0
            while number < size and not _alike(state, leaders[number], own, follow, found, absorbing):
                number += 1
            if number == size:
                leaders[size] = state
                size += 1
            new[state] = number
        own = new
        if size == count:
            return own, leaders[:count].copy()
        count = size


@inlined
def _alike(state, other, own, follow, found, absorbing):  # type: ignore[no-untyped-def]
    """Whether two states are of one class and lead to the same classes."""
    alike = own[state] == own[other]
    for letter in range(follow.shape[1]):
        same = own[follow[state, letter]] == own[follow[other, letter]]
        alike = alike and found[state, letter] == found[other, letter]
        alike = alike and (same or (absorbing and found[state, letter]))
    return alike


@compiled
def outward(moves: Ints) -> Ints:
    """A topological order of moves[state, letter] (below 0: none): each state after all others that lead to it. Empty
    if there is a cycle."""
    states = len(moves)
    order, placed = np.empty(states, np.int64), np.zeros(states, np.bool_)
    for place in range(states):
        chosen = -1
        for state in range(states):
            free = not placed[state]
            for other in range(states):
                if other != state and not placed[other]:
                    free = free and not (moves[other] == state).any()
            if free and chosen < 0:
                chosen = state
        if chosen < 0:
            return order[:0].copy()
        order[place], placed[chosen] = chosen, True
    return order
