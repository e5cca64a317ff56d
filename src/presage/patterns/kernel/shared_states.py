"""States of many statements of one form in, one state with the statement as a further key out, and back.

In a shared state every key begins with the number of a statement. Keys do not touch each other, so the part of one
statement is what its own kernel would have kept. What is left behind by a part that was taken away (bindings and rows
that nobody needs) goes with the next step.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa

from presage.arrays.columns import ints
from presage.arrays.jit import Ints
from presage.arrays.owned_rows import filled, joined_tables, part_of_tables, stacked
from presage.model.state import State
from presage.patterns.kernel.network import WIDTH
from presage.patterns.kernel.pattern_input import EVENT
from presage.patterns.kernel.pattern_spec import STATEMENT, PatternTables
from presage.patterns.kernel.retained import COUNT, NO_COLUMN, OPEN

# A state of a pattern without keys names its only one so.
ONE_KEY = "_key"
# Columns of a pattern's tables that count lines of another table: (table, column, table that it counts).
_REFERENCES = (
    ("terms", "parent", "terms"),
    ("terms", "begin", "binds"),
    ("terms", "a", "binds"),
    ("terms", "key", "keys"),
    ("binds", "c0", "binds"),
    ("binds", "c2", "rows"),
    ("cells", "c0", "terms"),
    ("cells", "c2", "binds"),
)


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


def claimed_pattern(state: State, number: int) -> State:
    """The state of one statement's pattern as a shared one."""
    if "keys" not in state.tables:
        return State(state.kernel)
    keys = state.tables["keys"]
    if ONE_KEY in keys.column_names:
        keys = keys.drop_columns([ONE_KEY])
    return State(
        state.kernel, state.tables | {"keys": keys.append_column(STATEMENT, filled(number, keys))}, dict(state.numbers)
    )


def joined_patterns(states: Sequence[State]) -> State:
    states = [state for state in states if "keys" in state.tables]
    if len(states) < 2:
        return states[0] if states else State("pattern")
    tables: dict[str, pa.Table] = {}
    for name in states[0].tables:
        parts = []
        before: dict[str, int] = dict.fromkeys(states[0].tables, 0)
        events = 0
        for state in states:
            table = state.tables[name]
            for owner, column, counted in _REFERENCES:
                if owner == name and table.num_rows:
                    table = _moved(table, column, before[counted])
            if name == "rows" and table.num_rows:
                table = _moved(table, EVENT, events)
                events = int(ints(table, EVENT).max()) + 1
            parts.append(table)
            for counted, other in state.tables.items():
                before[counted] += other.num_rows
        tables[name] = stacked(parts)
    return State("pattern", tables, {"open": sum(state.numbers.get("open", 0) for state in states)})


def part_of_patterns(spec: PatternTables, state: State, numbers: Collection[int]) -> State:
    """What belongs to some of the statements."""
    if "keys" not in state.tables:
        return State(state.kernel)
    keys, terms, cells = (state.tables[name] for name in ("keys", "terms", "cells"))
    wanted = np.isin(ints(keys, STATEMENT), np.fromiter(numbers, np.int64, len(numbers)))
    alive = wanted[ints(terms, "key")] if terms.num_rows else np.zeros(0, np.bool_)
    if cells.num_rows:
        cells = cells.filter(pa.array(alive[ints(cells, "c0")]))
        cells = _renumbered(cells, "c0", alive)
    terms = terms.filter(pa.array(alive))
    if terms.num_rows:
        terms = _renumbered(_renumbered(terms, "parent", alive), "key", wanted)
    tables = state.tables | {"keys": keys.filter(pa.array(wanted)), "terms": terms, "cells": cells}
    part = State(state.kernel, tables, dict(state.numbers))
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
    terms = state.tables.get("terms")
    if terms is None or not terms.num_rows:
        return {}
    kinds = np.array([node.kind for node in spec.nodes])[ints(terms, "node") // WIDTH]
    begun = ints(terms, "begin") >= 0
    waiting = begun & np.isin(kinds, ("filter", "interval"))
    count = (waiting | ((kinds == "until") & (ints(terms, "count") > 0))).astype(np.int64)
    cells = state.tables["cells"]
    if cells.num_rows:
        owner = ints(cells, "c0")
        np.add.at(count, owner, ints(cells, "c2") != ints(terms, "begin")[owner])
    return _counted(ints(state.tables["keys"], STATEMENT)[ints(terms, "key")], count)


# -- parts ----------------------------------------------------------------------------------------------------


def _counted(owners: Ints, count: Ints) -> dict[int, int]:
    numbers, places = np.unique(owners, return_inverse=True)
    sums = np.bincount(places.reshape(-1), count, len(numbers)).astype(np.int64)
    return dict(zip(numbers.tolist(), sums.tolist(), strict=True))


def _moved(table: pa.Table, column: str, by: int) -> pa.Table:
    """References count from further on; -1 means none."""
    values = ints(table, column)
    return _with(table, column, np.where(values >= 0, values + by, -1))


def _renumbered(table: pa.Table, column: str, kept: np.ndarray) -> pa.Table:
    """References to lines of which only some are kept."""
    values = ints(table, column)
    places = np.cumsum(kept) - 1
    return _with(table, column, np.where(values >= 0, places[np.maximum(values, 0)], -1))


def _with(table: pa.Table, column: str, values: Ints) -> pa.Table:
    return table.set_column(table.column_names.index(column), column, pa.array(values.astype(np.int64, copy=False)))
