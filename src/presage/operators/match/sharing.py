"""MATCH_RECOGNIZE shared by statements of one plan template: one node, with the statement as a further key.

Keys are independent, so the part of one statement in a shared state equals the state of its own kernel.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from presage.arrays.columns import ints
from presage.arrays.owned_rows import counted_by_owner, filled, joined_tables, part_of_tables
from presage.execution.stage import STATEMENT
from presage.model.operator_state import State
from presage.model.types import LONG
from presage.operators.match.kernel.retained import COUNT, NO_COLUMN, OPEN
from presage.operators.match.nodes import Match
from presage.plan.expr import ColumnRef
from presage.plan.nodes import Named, Node

KEEPERS: tuple[type[Node], ...] = (Match,)


def shared_node(node: Node) -> Node | None:
    if not isinstance(node, Match):
        return None
    tables = node.tables
    conditions = tuple(replace(c, text="") for c in tables.conditions)
    own = Named(STATEMENT, ColumnRef(LONG, STATEMENT))
    return replace(
        node,
        prepared=(*node.prepared, own),
        tables=replace(tables, keys=(*tables.keys, STATEMENT), conditions=conditions, clause=""),
        text="",
    )


def claimed(node: Node, state: State, number: int) -> State:
    """The state of one statement as a shared one."""
    tables = {}
    for name, table in state.tables.items():
        if NO_COLUMN in table.column_names:
            table = table.drop_columns([NO_COLUMN])
        tables[name] = table.append_column(STATEMENT, filled(number, table))
    return State(state.kernel, tables)


def joined(node: Node, several: Sequence[State]) -> State:
    return State(several[0].kernel, joined_tables([state.tables for state in several]))


def part(node: Node, state: State, numbers: Collection[int]) -> State:
    """The part of some of the statements."""
    return State(state.kernel, part_of_tables(state.tables, STATEMENT, numbers))


def alone(node: Node, state: State, number: int) -> State:
    """The part of one statement as a state of its own."""
    tables = {}
    for name, table in part(node, state, [number]).tables.items():
        own = table.drop_columns([STATEMENT])
        if own.column_names == [COUNT]:
            own = own.add_column(0, NO_COLUMN, pa.array(np.zeros(own.num_rows, np.int8)))
        tables[name] = own
    return State(state.kernel, tables)


def open_by_statement(node: Node, state: State) -> dict[int, int]:
    """The number of open partial matches of each statement."""
    rows = state.tables.get("rows")
    return {} if rows is None else counted_by_owner(ints(rows, STATEMENT), ints(rows, OPEN))
