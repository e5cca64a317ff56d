"""Beliefs of a sequence as tables of its stored state; numbers are valid within one step of the kernel only.

A line has a value of each dividing variable and of each other one (null: not seen yet), the key and value of the
group's Markov chain (null: no event), a state of the automaton, and the probability of all this.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.arrays.columns import column, ints
from presage.arrays.jit import Floats
from presage.model.operator_state import State
from presage.operators.sequence.kernel.build import Built
from presage.operators.sequence.kernel.carried import Carried
from presage.operators.sequence.kernel.query import dividing
from presage.operators.sequence.kernel.regular.groups import OTHER, Beliefs
from presage.operators.sequence.kernel.spec import SequenceTables

LINES, SEEN = "beliefs", "seen:"
STATE, MASS = "#state", "#mass"


def load_beliefs(spec: SequenceTables, state: State) -> Carried | None:
    if LINES not in state.tables:
        return None
    seen = {n.removeprefix(SEEN): column(t, "value") for n, t in state.tables.items() if n.startswith(SEEN)}
    return Carried(state.tables[LINES], seen)


def nothing_known(spec: SequenceTables) -> Beliefs:
    """Before the first step: every group is in the initial state, and no value was seen."""
    names, others = divided(spec)
    nothing = np.zeros(0, np.int64)
    empty = np.zeros((0, len(names)), np.int64), np.zeros((0, len(others)), np.int64)
    return Beliefs(*empty, nothing, nothing, nothing, np.zeros(0), dict.fromkeys(others, nothing))


def divided(spec: SequenceTables) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The given variables: those that divide the chains into groups, and the others."""
    given = frozenset(spec.given)
    names = dividing(spec.query, given)
    return names, tuple(sorted(given - set(names)))


def before_of(spec: SequenceTables, carried: Carried, built: Built) -> Beliefs:
    """The carried lines in the numbers of this step."""
    numbers = built.kept
    assert carried.lines is not None
    names, others = divided(spec)
    count = carried.lines.num_rows
    groups = np.zeros((count, len(names)), np.int64)
    for i, name in enumerate(names):
        groups[:, i] = numbers[name][:count]
    other = np.zeros((count, len(others)), np.int64)
    for i, name in enumerate(others):
        codes = numbers[name][:count]
        other[:, i] = np.where(codes < 0, OTHER, codes)
    seen = {name: numbers[name][count:] for name in others}
    state, mass = ints(carried.lines, STATE), _floats(carried.lines, MASS)
    return Beliefs(groups, other, built.kept_chain, built.kept_value, state, mass, seen)


def save_beliefs(spec: SequenceTables, beliefs: Beliefs, built: Built) -> dict[str, pa.Table]:
    names, others = divided(spec)
    columns: dict[str, pa.Array] = {}
    for i, name in enumerate(names):
        columns[name] = built.numbers.variables[name].take(pa.array(beliefs.groups[:, i]))
    for i, name in enumerate(others):
        codes = beliefs.others[:, i]
        columns[name] = built.numbers.variables[name].take(pa.array(codes, mask=codes == OTHER))
    columns |= built.chain_values(beliefs.chain, beliefs.value)
    columns[STATE] = pa.array(beliefs.state)
    columns[MASS] = pa.array(beliefs.mass)
    tables = {LINES: pa.table(columns)}
    for name in others:
        tables[SEEN + name] = pa.table({"value": built.numbers.variables[name].take(pa.array(beliefs.seen[name]))})
    return tables


def _floats(table: pa.Table, name: str) -> Floats:
    values: Floats = column(table, name).to_numpy(zero_copy_only=False).astype(np.float64)
    return values
