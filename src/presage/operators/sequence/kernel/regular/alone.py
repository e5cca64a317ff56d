"""Groups of one chain each: rows as they lie, by step and chain, go through the automaton in one pass."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Ints
from presage.operators.sequence.kernel.facts import CERTAIN, MARKOV, Facts, Source
from presage.operators.sequence.kernel.regular.automaton import Steps, build_automaton
from presage.operators.sequence.kernel.regular.dense_beliefs import DenseBeliefs, Ran, Start
from presage.operators.sequence.kernel.regular.groups import Grouping
from presage.operators.sequence.kernel.regular.loops import (
    AloneRows,
    chances_alone,
    chances_linked,
    mark_seen,
    widths_of,
)
from presage.operators.sequence.kernel.regular.rows import arrivals
from presage.operators.sequence.kernel.regular.side_by_side import chances_side_by_side, moves_of


def is_alone(facts: Facts, grouping: Grouping) -> bool:
    """Whether each group has one chain, which has one value at a step."""
    if len(facts.sources) > 1 or facts.sources[0].kind == CERTAIN:
        return False
    codes = grouping.codes[0][grouping.codes[0] >= 0]
    return bool((np.bincount(codes, minlength=1) <= 1).all())


def run_alone(
    source: Source, letters: np.ndarray, grouping: Grouping, steps: Steps, start: Start, count: int
) -> Ran | None:
    """Rows as they are, by step and chain. `count`: how many steps there are."""
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
    # Pages that are never written cost nothing.
    found, likely = np.empty((3, rows), np.int64), np.empty(rows)
    own = AloneRows(source.chain, source.step, arrivals(source), letters, source.probability, source.value, source.prev)
    codes, follow, accepts = grouping.codes[0], automaton.follow, automaton.accepts
    moves = moves_of(automaton)
    if linked:
        made = chances_linked(
            own, numbers, codes, widths, dense.starts, follow, accepts, count, dense.mass, found, likely
        )
    elif moves is not None:
        beliefs = np.ascontiguousarray(dense.mass.reshape(groups, len(automaton.states)).T)
        made = chances_side_by_side(own, numbers, codes, moves, beliefs, found, likely)
        dense.mass[:] = beliefs.T.reshape(-1)
    else:
        beliefs = dense.mass.reshape(groups, len(automaton.states))
        made = chances_alone(own, numbers, codes, follow, accepts, beliefs, found, likely)
    group, step, arrival = found[:, :made]
    return dense.ran((group, step, likely[:made], arrival))


def _letters(bits: np.ndarray) -> tuple[Ints, np.ndarray, Ints, int]:
    """Symbols that occur, a narrow number for each row, the number of each symbol, and how many there may be."""
    if bits.dtype == np.int64:
        known, letters = np.unique(bits, return_inverse=True)
        return known, letters.reshape(-1).astype(np.uint16), np.arange(len(known)), len(known)
    letters = bits.astype(np.uint16, copy=False)
    seen = np.zeros(1 << 8 * bits.dtype.itemsize, np.bool_)
    mark_seen(letters, seen)
    known = np.flatnonzero(seen)
    return known, letters, known, len(seen)
