"""One pass of the automaton over the rows of all groups, with their beliefs in one array.

`run_alone` takes groups of one chain each: their rows need no sorting. `run_together` takes groups in which chains
meet, with rows by group, step and chain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.arrays.rows import changes
from presage.operators.sequence.kernel.facts import CERTAIN, MARKOV, Facts, Source
from presage.operators.sequence.kernel.regular.automaton import Automaton, Steps, build_automaton
from presage.operators.sequence.kernel.regular.groups import Chains, Grouping, arrivals
from presage.operators.sequence.kernel.regular.loops import (
    AloneRows,
    GroupRows,
    Runs,
    chances_alone,
    chances_linked,
    chances_together,
    mark_seen,
    widths_of,
)
from presage.operators.sequence.kernel.regular.side_by_side import chances_side_by_side, moves_of


@dataclass
class Start:
    """Lines of beliefs before the pass, by group; other groups are in the initial state."""

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
    """Beliefs of all groups in one array: those of a group from `starts` on, by value of its chain (0: none) and
    state."""

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
        """What was found, and lines of beliefs; groups in the initial state need none."""
        there = np.flatnonzero(self.mass > 0.0)
        owner = np.searchsorted(self.starts, there, side="right") - 1
        within = there - self.starts[owner]
        value, state = within // self.size - 1, self.automaton.states[within % self.size]
        moved = np.zeros(len(self.starts), np.bool_)
        moved[owner[(value >= 0) | (state != 0)]] = True
        lines = np.flatnonzero(moved[owner])
        return Ran(found, owner[lines], value[lines], state[lines], self.mass[there[lines]])


def is_alone(facts: Facts, grouping: Grouping) -> bool:
    """Whether each group has one chain, which has one value at a step."""
    if len(facts.sources) > 1 or facts.sources[0].kind == CERTAIN:
        return False
    codes = grouping.codes[0][grouping.codes[0] >= 0]
    return bool((np.bincount(codes, minlength=1) <= 1).all())


def run_alone(
    source: Source, letters: np.ndarray, grouping: Grouping, steps: Steps, start: Start, count: int
) -> Ran | None:
    """Rows by step and chain. `count`: the number of steps. None if the automaton would be too large."""
    known, letters, places, most = _letters(letters)
    automaton = build_automaton(steps, known, start.state, several=False)
    if automaton is None:
        return None
    numbers = np.zeros(most, np.int64)
    numbers[places] = np.searchsorted(automaton.symbols, known)
    groups, linked = len(grouping.values), source.kind == MARKOV
    widths = np.ones(groups, np.int64)
    np.maximum.at(widths, start.group, start.value + 2)
    if linked:
        widths_of(source.chain, source.value, source.prev, grouping.codes[0], widths)
    dense = DenseBeliefs(automaton, widths, start)
    rows = len(source.chain)
    # Memory pages that are never written cost nothing.
    found, likely = np.empty((3, rows), np.int64), np.empty(rows)
    own = AloneRows(source.chain, source.step, arrivals(source), letters, source.probability, source.value, source.prev)
    codes, moves = grouping.codes[0], moves_of(automaton)
    if linked:
        made = chances_linked(own, numbers, codes, widths, dense.starts, automaton, count, dense.mass, found, likely)
    elif moves is not None:
        beliefs = np.ascontiguousarray(dense.mass.reshape(groups, len(automaton.states)).T)
        made = chances_side_by_side(own, numbers, codes, moves, beliefs, found, likely)
        dense.mass[:] = beliefs.T.reshape(-1)
    else:
        beliefs = dense.mass.reshape(groups, len(automaton.states))
        made = chances_alone(own, numbers, codes, automaton, beliefs, found, likely)
    group, step, arrival = found[:, :made]
    return dense.ran((group, step, likely[:made], arrival))


def _letters(bits: np.ndarray) -> tuple[Ints, np.ndarray, Ints, int]:
    """Symbols that occur, a narrow number for each row, the number of each symbol, and the limit of these numbers."""
    if bits.dtype == np.int64:
        known, letters = np.unique(bits, return_inverse=True)
        return known, letters.reshape(-1).astype(np.uint16), np.arange(len(known)), len(known)
    letters = bits.astype(np.uint16, copy=False)
    seen = np.zeros(1 << 8 * bits.dtype.itemsize, np.bool_)
    mark_seen(letters, seen)
    known = np.flatnonzero(seen)
    return known, letters, known, len(seen)


def run_together(rows: Chains, bits: Ints, grouping: Grouping, steps: Steps, start: Start, count: int) -> Ran | None:
    """`bits`: the symbol of each row; `count`: the number of steps. None if the automaton would be too large."""
    widths = rows.widths.copy()
    np.maximum.at(widths, start.group, start.value + 2)
    kept = np.flatnonzero(rows.linked | (bits != 0))
    automaton = build_automaton(steps, bits[kept], start.state, several=_several(rows, kept))
    if automaton is None:
        return None
    symbol = np.searchsorted(automaton.symbols, bits[kept])
    group, step = rows.group[kept], rows.step[kept]
    begins = np.flatnonzero(changes([group, step], len(kept)))
    runs = np.append(begins, len(kept))
    run_group, run_step = group[begins], step[begins]
    run_bounds = np.searchsorted(run_group, np.arange(len(grouping.values) + 1))
    found = np.zeros(len(begins))
    dense = DenseBeliefs(automaton, widths, start)
    own = np.append(0, np.cumsum(rows.linked[kept]))
    linked = runs[:-1] + own[runs[1:]] - own[runs[:-1]]
    group_rows = GroupRows(rows.chain[kept], symbol, rows.value[kept], rows.prev[kept], rows.probability[kept])
    group_runs = Runs(runs, linked, run_step, run_bounds)
    chances_together(group_runs, group_rows, automaton, widths, dense.starts, count, dense.mass, found)
    positive = np.flatnonzero(found > 0.0)
    arrival = np.maximum.reduceat(rows.arrival[kept], begins) if len(begins) else begins
    return dense.ran((run_group[positive], run_step[positive], found[positive], arrival[positive]))


def _several(rows: Chains, kept: Ints) -> bool:
    """Whether chains meet at a step of a group."""
    if len(kept) < 2:
        return False
    group, step, chain = rows.group[kept], rows.step[kept], rows.chain[kept]
    return bool(((group[1:] == group[:-1]) & (step[1:] == step[:-1]) & (chain[1:] != chain[:-1])).any())
