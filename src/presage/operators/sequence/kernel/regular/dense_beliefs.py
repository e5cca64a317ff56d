"""Beliefs of all groups as one array that loops change in place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.operators.sequence.kernel.regular.automaton import Automaton


@dataclass
class Start:
    """Lines of beliefs to begin with, by group; the others stand at the beginning."""

    group: Ints
    value: Ints
    state: Ints
    mass: Floats


@dataclass
class Ran:
    found: tuple[Ints, Ints, Floats, Ints]  # group, step, chance, arrival of the step's last row
    group: Ints
    value: Ints
    state: Ints
    mass: Floats


class DenseBeliefs:
    """Beliefs of all groups in one array: a group's begin at `starts`, for each value of its chain (0: none) one number
    for each state."""

    def __init__(self, automaton: Automaton, widths: Ints, start: Start) -> None:
        self.automaton = automaton
        self.size = len(automaton.states)
        self.starts = np.cumsum(widths * self.size) - widths * self.size
        self.mass = np.zeros(int((widths * self.size).sum()))
        self.mass[self.starts] = 1.0
        self.mass[self.starts[start.group]] = 0.0
        places = {int(bits): i for i, bits in enumerate(automaton.states)}
        at = np.array([places[int(bits)] for bits in start.state], np.int64)
        np.add.at(self.mass, self.starts[start.group] + (start.value + 1) * self.size + at, start.mass)

    def ran(self, found: tuple[Ints, Ints, Floats, Ints]) -> Ran:
        """What was found, and lines of beliefs; who stands as at the beginning needs none."""
        there = np.flatnonzero(self.mass > 0.0)
        owner = np.searchsorted(self.starts, there, side="right") - 1
        within = there - self.starts[owner]
        value, state = within // self.size - 1, self.automaton.states[within % self.size]
        moved = np.zeros(len(self.starts), np.bool_)
        moved[owner[(value >= 0) | (state != 0)]] = True
        lines = np.flatnonzero(moved[owner])
        return Ran(found, owner[lines], value[lines], state[lines], self.mass[there[lines]])
