"""States of EPL patterns shared by statements of one plan template: the statement is a further key.

Keys are independent, so the part of one statement equals the state of its own kernel.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from presage.arrays.columns import ints
from presage.arrays.owned_rows import counted_by_owner, filled, joined_tables
from presage.model.operator_state import State
from presage.operators.epl.kernel.key_blocks import blocked, part_of, placed
from presage.operators.epl.kernel.network.tables import WIDTH
from presage.operators.epl.kernel.spec import STATEMENT, PatternTables

# The column of the only key in the state of a pattern without keys.
ONE_KEY = "_key"


def claimed_pattern(spec: PatternTables, state: State, number: int) -> State:
    """The state of one statement's pattern as a shared one."""
    if "keys" not in state.tables:
        return State(state.kernel)
    state = blocked(spec, state)
    keys = state.tables["keys"]
    if ONE_KEY in keys.column_names:
        keys = keys.drop_columns([ONE_KEY])
    return State(
        state.kernel, state.tables | {"keys": keys.append_column(STATEMENT, filled(number, keys))}, dict(state.numbers)
    )


def joined_patterns(spec: PatternTables, states: Sequence[State]) -> State:
    states = [blocked(spec, state) for state in states if "keys" in state.tables]
    if len(states) < 2:
        return states[0] if states else State("pattern")
    open_ = sum(state.numbers.get("open", 0) for state in states)
    return State("pattern", joined_tables([state.tables for state in states]), {"open": open_})


def part_of_patterns(spec: PatternTables, state: State, numbers: Collection[int]) -> State:
    """The part of some of the statements."""
    if "keys" not in state.tables:
        return State(state.kernel)
    state = blocked(spec, state)
    wanted = np.isin(ints(state.tables["keys"], STATEMENT), np.fromiter(numbers, np.int64, len(numbers)))
    part, _ = part_of(state, wanted)
    part.numbers["open"] = sum(open_in_patterns(spec, part).values())
    return part


def pattern_alone(spec: PatternTables, state: State, number: int) -> State:
    part = part_of_patterns(spec, state, [number])
    if "keys" not in part.tables:
        return part
    keys = part.tables["keys"].drop_columns([STATEMENT])
    if not any(name.startswith(ONE_KEY) for name in keys.column_names):
        keys = keys.add_column(0, ONE_KEY, filled(0, keys))
    part.tables["keys"] = keys
    return part


def open_in_patterns(spec: PatternTables, state: State) -> dict[int, int]:
    """Open partial matches by statement: see `pattern.open_matches`."""
    if "keys" not in state.tables or not state.tables["terms"].num_rows:
        return {}
    state = placed(blocked(spec, state))
    terms, cells = state.tables["terms"], state.tables["cells"]
    kinds = np.array([node.kind for node in spec.nodes])[ints(terms, "node") // WIDTH]
    begun = ints(terms, "begin") >= 0
    waiting = begun & np.isin(kinds, ("filter", "interval"))
    count = (waiting | ((kinds == "until") & (ints(terms, "count") > 0))).astype(np.int64)
    if cells.num_rows:
        owner = ints(cells, "c0")
        np.add.at(count, owner, ints(cells, "c2") != ints(terms, "begin")[owner])
    return counted_by_owner(ints(state.tables["keys"], STATEMENT)[ints(terms, "key")], count)
