"""States of MATCH_RECOGNIZE shared by statements of one plan template: the statement is a further key.

Keys are independent, so the part of one statement equals the state of its own kernel.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa

from presage.arrays.columns import ints
from presage.arrays.owned_rows import counted_by_owner, filled, joined_tables, part_of_tables
from presage.model.operator_state import State
from presage.operators.match.kernel.retained import COUNT, NO_COLUMN, OPEN
from presage.operators.match.kernel.spec import STATEMENT


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
    """The part of some of the statements."""
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
    return {} if rows is None else counted_by_owner(ints(rows, STATEMENT), ints(rows, OPEN))
