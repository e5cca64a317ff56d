"""Shared execution of windows: one node, and one state, for many statements of one template.

Statements that differ only in constants share an execution: the number of the statement is a further key of the kernel.
The size of a window may be one of those constants.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from presage.arrays.columns import ints
from presage.arrays.owned_rows import filled, joined_tables, part_of_tables
from presage.model.operator_state import State
from presage.model.types import LONG
from presage.operators.windows.kernel.spec import SIZE, STATEMENT
from presage.operators.windows.nodes import Aggregate, Distinct, Output, Windowed, source_of
from presage.plan.expr import ColumnRef, Constant
from presage.plan.nodes import TIME, Named, Node

__all__ = ["KEEPERS", "STATEMENT", "alone", "claimed", "joined", "open_by_statement", "part", "shared_node"]

# Nodes with state.
KEEPERS: tuple[type[Node], ...] = (Aggregate, Distinct, Output)
# Tables of a state with the size of the window in each row.
_IN_WINDOWS = frozenset({"live", "open", "sessions"})
_OWN = ColumnRef(LONG, STATEMENT)


def shared_node(node: Node) -> Node | None:
    """The node for many statements; None if this one cannot be shared."""
    if isinstance(node, Windowed):
        window = node.window
        if not window.type.time_only:
            window = replace(window, group=(*window.group, _OWN))
        if window.type.is_sized:
            window = replace(window, size=0, sized_by=Constant(LONG, window.size))
        return replace(node, window=window)
    if isinstance(node, Aggregate):
        join, window = source_of(node)
        if join is not None:
            return None
        # A batch without groups emits a row for each of its events if columns are carried, else one for all.
        grouped = bool(node.group_by) or not window.is_batch or not node.carry or node.row_per == "window"
        group_by = (*node.group_by, Named(STATEMENT, _OWN)) if grouped else ()
        return replace(node, group_by=group_by, carry=(*node.carry, STATEMENT))
    if isinstance(node, Distinct):
        return replace(node, by=(*node.by, STATEMENT))
    if isinstance(node, Output):
        return replace(node, by=(*node.by, STATEMENT), keep=(*node.keep, STATEMENT))
    return None


def claimed(node: Node, state: State, number: int) -> State:
    """The state of one statement, as a shared state."""
    tables = {}
    for name, table in state.tables.items():
        if _is_sized(node, name):
            table = table.append_column(SIZE, filled(source_of(node)[1].size, table))
        tables[name] = table.append_column(STATEMENT, filled(number, table))
    return State(state.kernel, tables)


def joined(node: Node, several: Sequence[State]) -> State:
    """Shared states of different statements as one."""
    tables = joined_tables([state.tables for state in several])
    if isinstance(node, Output):
        # Rows wait in order of time.
        tables = {name: _by_time(table) for name, table in tables.items()}
    return State(several[0].kernel, tables)


def part(node: Node, state: State, numbers: Collection[int]) -> State:
    """The part of a shared state that belongs to some statements."""
    return State(state.kernel, part_of_tables(state.tables, STATEMENT, numbers))


def alone(node: Node, state: State, number: int) -> State:
    """The part of a shared state that belongs to one statement, in the format of its own kernel."""
    tables = {}
    for name, table in part_of_tables(state.tables, STATEMENT, [number]).items():
        own = table.drop_columns([STATEMENT, *([SIZE] if _is_sized(node, name) else [])])
        if own.num_columns:
            tables[name] = own
    return State(state.kernel, tables)


def _is_sized(node: Node, table: str) -> bool:
    return isinstance(node, Aggregate) and table in _IN_WINDOWS and source_of(node)[1].type.is_sized


def _by_time(table: pa.Table) -> pa.Table:
    return table.take(pa.array(np.argsort(ints(table, TIME), kind="stable")))


def open_by_statement(node: Node, state: State) -> None:
    """Windows have no matches."""
