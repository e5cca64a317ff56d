"""States of many statements of one form in, one state with the statement as a further key out, and back.

In a shared state every key begins with the number of a statement. Keys do not touch each other, so the part of one
statement is what its own kernel would have kept.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa

from presage.arrays.columns import ints
from presage.arrays.jit import Ints
from presage.arrays.owned_rows import filled, joined_tables, part_of_tables
from presage.model.state import State
from presage.patterns.kernel.key_blocks import blocked, part_of, placed
from presage.patterns.kernel.network import WIDTH
from presage.patterns.kernel.pattern_spec import STATEMENT, PatternTables
from presage.patterns.kernel.retained import COUNT, NO_COLUMN, OPEN

# A state of a pattern without keys names its only one so.
ONE_KEY = "_key"


# -- tables of rows that carry the statement ------------------------------------------------------------------


def claimed_rows(state: State, number: int) -> State:
    """The state of one statement's MATCH_RECOGNIZE as a shared one."""
    tables = {}
    for name, table in state.tables.items():
        if NO_COLUMN in table.column_names:
            table = table.drop_columns([NO_COLUMN])
        tables[name] = table.append_column(STATEMENT, filled(number, table))
    return State(state.kernel, tables)


def joined_rows(states: Sequence[State]) -> State:
    return State(states[0].kernel, joined_tables([state.tables for state in states]))


def part_of_rows(state: State, numbers: Collection[int]) -> State:
    """What belongs to some of the statements."""
    return State(state.kernel, part_of_tables(state.tables, STATEMENT, numbers))


def rows_alone(state: State, number: int) -> State:
    tables = {}
    for name, table in part_of_rows(state, [number]).tables.items():
        own = table.drop_columns([STATEMENT])
        if own.column_names == [COUNT]:
            own = own.add_column(0, NO_COLUMN, pa.array(np.zeros(own.num_rows, np.int8)))
        tables[name] = own
    return State(state.kernel, tables)


def open_in_rows(state: State) -> dict[int, int]:
    """Open partial matches by statement."""
    rows = state.tables.get("rows")
    return {} if rows is None else _counted(ints(rows, STATEMENT), ints(rows, OPEN))


# -- patterns -------------------------------------------------------------------------------------------------


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
    """What belongs to some of the statements."""
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
    return _counted(ints(state.tables["keys"], STATEMENT)[ints(terms, "key")], count)


# -- parts ----------------------------------------------------------------------------------------------------


def _counted(owners: Ints, count: Ints) -> dict[int, int]:
    numbers, places = np.unique(owners, return_inverse=True)
    sums = np.bincount(places.reshape(-1), count, len(numbers)).astype(np.int64)
    return dict(zip(numbers.tolist(), sums.tolist(), strict=True))
