"""The state of a pattern with keys, as blocks that can be taken out and put back key by key.

In every table the lines of a key are adjacent, `keys` holds their number, and a line refers to another one of its key
relative to the key's first line. So the lines of a key that a step does not touch do not change at all. The loop's
line numbers, which count from the beginning of a table, are computed only for the keys of a step.

The seen keys of EVERY-DISTINCT are not stored by key: patterns with it have no blocks.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from presage.arrays.columns import ints
from presage.arrays.jit import Bools, Ints
from presage.model.operator_state import State
from presage.operators.epl.kernel.input import EVENT
from presage.operators.epl.kernel.network.memory import FOREVER
from presage.operators.epl.kernel.network.tables import WIDTH
from presage.operators.epl.kernel.saving import STORED
from presage.operators.epl.kernel.spec import PatternTables

TERMS, BINDS, CELLS, ROWS, EVENTS, KEYS = "terms", "binds", "cells", "rows", "events", "keys"
# Tables whose lines belong to keys. Events are not a table: rows of a key that are views of one event share a number.
BLOCKS = (TERMS, BINDS, CELLS, ROWS)
COUNTED = (*BLOCKS, EVENTS)
DUE = "#due"  # when the next timer of the key is due
# Columns that refer to lines of a table: (table, column, referenced table).
REFERENCES = (
    (TERMS, "parent", TERMS),
    (TERMS, "begin", BINDS),
    (TERMS, "a", BINDS),
    (BINDS, "c0", BINDS),
    (BINDS, "c2", ROWS),
    (CELLS, "c0", TERMS),
    (CELLS, "c2", BINDS),
    (ROWS, EVENT, EVENTS),
)
MOST_PIECES = 16  # chunks of a column, above which they are combined


def can_be_blocked(spec: PatternTables) -> bool:
    return bool(spec.keys) and all(node.kind != "distinct" for node in spec.nodes)


def is_blocked(state: State) -> bool:
    return KEYS in state.tables and DUE in state.tables[KEYS].column_names


def counts_of(state: State, table: str) -> Ints:
    """How many lines of a table each key has."""
    return ints(state.tables[KEYS], f"#{table}")


def firsts_of(counts: Ints) -> Ints:
    """Where the lines of each key begin."""
    firsts: Ints = np.cumsum(counts) - counts
    return firsts


def due_of(state: State) -> Ints:
    return ints(state.tables[KEYS], DUE)


# -- some of the keys -----------------------------------------------------------------------------------------


def part_of(state: State, wanted: Bools) -> tuple[State, dict[str, Bools]]:
    """The part of some keys, and the lines of each table that it consists of."""
    lines = {KEYS: wanted} | {table: np.repeat(wanted, counts_of(state, table)) for table in BLOCKS}
    tables = {name: _chosen(state.tables[name], mask) for name, mask in lines.items()}
    return State(state.kernel, tables | _others(state), dict(state.numbers)), lines


def joined(first: State, second: State) -> State:
    """The keys of both, with the numbers of the second."""
    if KEYS not in second.tables:
        return State(first.kernel, first.tables, second.numbers)
    tables = {name: _behind(first.tables[name], second.tables[name]) for name in (KEYS, *BLOCKS)}
    return State(first.kernel, tables | _others(second), second.numbers)


def _others(state: State) -> dict[str, pa.Table]:
    return {name: table for name, table in state.tables.items() if name not in (KEYS, *BLOCKS)}


def _chosen(table: pa.Table, mask: Bools) -> pa.Table:
    return table.filter(pa.array(mask)) if len(mask) else table


def _behind(first: pa.Table, second: pa.Table) -> pa.Table:
    if not first.num_rows:
        return second
    table = pa.concat_tables([first, second.select(first.column_names).cast(first.schema)])
    pieces = table.column(0).num_chunks if table.num_columns else 0
    return table.combine_chunks() if pieces > MOST_PIECES else table


# -- the loop's numbers, and back -----------------------------------------------------------------------------


def placed(state: State) -> State:
    """The state with line numbers of whole tables, and the key of each term: as `load_memory` reads it."""
    if not is_blocked(state):
        return state
    counts = {table: counts_of(state, table) for table in COUNTED}
    owners = _owners(counts)
    tables = _moved(state.tables, owners, {table: firsts_of(count) for table, count in counts.items()})
    tables[TERMS] = tables[TERMS].add_column(list(STORED).index("key"), "key", pa.array(owners[TERMS]))
    tables[KEYS] = tables[KEYS].drop_columns([DUE, *(f"#{table}" for table in COUNTED)])
    return State(state.kernel, tables, dict(state.numbers))


def blocked(spec: PatternTables, state: State) -> State:
    """The state in blocks, from one of `save_memory`. Lines that no term of a key refers to are left out."""
    if KEYS not in state.tables or is_blocked(state):
        return state
    count = state.tables[KEYS].num_rows
    terms, binds, cells, rows = (state.tables[table] for table in BLOCKS)
    owners = {TERMS: ints(terms, "key")}
    owners[CELLS] = owners[TERMS][ints(cells, "c0")]
    owners[BINDS], order, places = _in_blocks(binds, terms, cells, owners)
    binds = _with(binds.take(pa.array(order)), "c0", _mapped(places, ints(binds, "c0")[order]))
    terms = _with(_with(terms, "begin", _mapped(places, ints(terms, "begin"))), "a", _mapped(places, ints(terms, "a")))
    cells = _with(cells, "c2", _mapped(places, ints(cells, "c2")))
    # A row belongs to one key.
    pairs, needed = np.unique(owners[BINDS] * (rows.num_rows + 1) + ints(binds, "c2"), return_inverse=True)
    owners[ROWS], chosen = np.divmod(pairs, rows.num_rows + 1)
    binds, rows = _with(binds, "c2", needed.reshape(-1)), rows.take(pa.array(chosen))
    marks = ints(rows, EVENT)
    pairs, numbers = np.unique(owners[ROWS] * (int(marks.max(initial=0)) + 1) + marks, return_inverse=True)
    owners[EVENTS] = pairs // (int(marks.max(initial=0)) + 1)
    rows = _with(rows, EVENT, numbers.reshape(-1))
    counts = {table: np.bincount(owners[table], minlength=count) for table in COUNTED}
    tables = {TERMS: terms, BINDS: binds, CELLS: cells, ROWS: rows, KEYS: state.tables[KEYS]} | _others(state)
    tables = _moved(tables, owners, {table: -firsts_of(counts[table]) for table in COUNTED})
    tables[TERMS] = tables[TERMS].drop_columns(["key"])
    for table in COUNTED:
        tables[KEYS] = tables[KEYS].append_column(f"#{table}", pa.array(counts[table].astype(np.int64)))
    tables[KEYS] = tables[KEYS].append_column(DUE, pa.array(_next_due(spec, terms, counts[TERMS])))
    return State(state.kernel, tables, dict(state.numbers))


def _in_blocks(
    binds: pa.Table, terms: pa.Table, cells: pa.Table, owners: Mapping[str, Ints]
) -> tuple[Ints, Ints, Ints]:
    """Bindings by key: the key of each, its old number, and by old number the new one (-1: dropped)."""
    before = ints(binds, "c0")
    owner = np.full(len(before), -1, np.int64)
    for named, of in ((ints(terms, "begin"), TERMS), (ints(terms, "a"), TERMS), (ints(cells, "c2"), CELLS)):
        owner[named[named >= 0]] = owners[of][named >= 0]
    last = np.flatnonzero(owner >= 0)
    while len(last):
        earlier = before[last]
        new = earlier >= 0
        new[new] = owner[earlier[new]] < 0
        owner[earlier[new]] = owner[last[new]]
        last = earlier[new]
    order = np.flatnonzero(owner >= 0)
    if np.any(owner[order][1:] < owner[order][:-1]):
        order = order[np.argsort(owner[order], kind="stable")]  # a binding stays after the one it extends
    places = np.full(len(before), -1, np.int64)
    places[order] = np.arange(len(order))
    return owner[order], order, places


def _next_due(spec: PatternTables, terms: pa.Table, counts: Ints) -> Ints:
    """By key. Repeats are left out: their `due` is an upper bound."""
    timed = np.array([node.kind != "until" for node in spec.nodes])[ints(terms, "node") // WIDTH]
    due = np.append(np.where(timed, ints(terms, "due"), FOREVER), FOREVER)
    earliest = np.full(len(counts), FOREVER, np.int64)
    some = counts > 0
    if some.any():
        earliest[some] = np.minimum.reduceat(due, firsts_of(counts)[some])
    return earliest


def _owners(counts: Mapping[str, Ints]) -> dict[str, Ints]:
    return {table: np.repeat(np.arange(len(counts[table])), counts[table]) for table in BLOCKS}


def _moved(tables: Mapping[str, pa.Table], owners: Mapping[str, Ints], by: Mapping[str, Ints]) -> dict[str, pa.Table]:
    """Adds to each reference the offset of its key in the referenced table; -1 stays -1."""
    moved = dict(tables)
    for table, name, counted in REFERENCES:
        values = ints(moved[table], name)
        moved[table] = _with(moved[table], name, np.where(values >= 0, values + by[counted][owners[table]], -1))
    return moved


def _mapped(places: Ints, numbers: Ints) -> Ints:
    return np.where(numbers >= 0, places[np.maximum(numbers, 0)] if len(places) else -1, -1)


def _with(table: pa.Table, column: str, values: Ints) -> pa.Table:
    return table.set_column(table.column_names.index(column), column, pa.array(values.astype(np.int64, copy=False)))
