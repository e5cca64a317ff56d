"""The step of a window that nothing leaves: one row for each event that enters.

State: a row of accumulators for each group; the keys that have occurred, if only the first event of each enters; the
values that DISTINCT has counted; all values only where an aggregate needs them again.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.arrays.codes import first_of, paired
from presage.arrays.columns import Universe, Values, bools_of, column, selected
from presage.arrays.equality import first_occurrences
from presage.arrays.fold_engine import FoldEngine
from presage.arrays.jit import Bools
from presage.operators.windows.kernel.engine import aggregate_column, keeps_values
from presage.operators.windows.kernel.script import Script, arrivals
from presage.operators.windows.kernel.slot_engine import SlotEngine
from presage.operators.windows.kernel.spec import PASS, Aggregate, Window
from presage.operators.windows.window_types import FIRST

Tables = dict[str, pa.Table]


def step_unbounded(
    window: Window, group_by: tuple[str, ...], aggregates: tuple[Aggregate, ...], tables: Tables, events: pa.Table
) -> tuple[Tables, pa.Table, list[pa.Array]]:
    """The next tables of the state, the events that emit a row, and the columns of the aggregates."""
    after: Tables = {}
    if window.type.retention == FIRST:
        events, after["keys"] = _first_of_each_key(window, tables.get("keys"), events)
    passing = selected(events, bools_of(events, PASS))

    grouped = Universe(tables.get("groups"), passing)
    codes, groups = grouped.codes(group_by)
    history = Universe(tables.get("history"), passing)

    def is_first(name: str, values: Values) -> Bools:
        return _first_of_each_value(name, values, group_by, passing, tables, after)

    def script() -> Script:
        never = np.full(history.rows, passing.num_rows)
        return arrivals(*history.codes(group_by), history.kept_rows, never)

    before = _accumulators(tables.get("groups"), group_by)
    engine = FoldEngine(codes[grouped.kept_rows :], groups, before, True, SlotEngine(script, {}), is_first)
    new = Universe(None, passing)
    columns = [
        aggregate_column(each, i, (history if keeps_values(each) else new).values, engine)
        for i, each in enumerate(aggregates)
    ]
    after["groups"] = grouped.table(group_by, first_of(codes, groups), engine.after)
    kept = [a.column for a in aggregates if keeps_values(a) and a.column is not None]
    if kept:
        after["history"] = history.table([*group_by, *kept], np.arange(history.rows), {})
    return after, passing, columns


def _accumulators(groups: pa.Table | None, group_by: tuple[str, ...]) -> dict[str, pa.Array]:
    if groups is None:
        return {}
    return {name: column(groups, name) for name in groups.column_names if name not in group_by}


def _first_of_each_key(window: Window, seen: pa.Table | None, events: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Events with a new key, and all keys so far. A key has occurred whether or not its event passes WHERE."""
    names = (*window.group, *window.by)
    universe = Universe(seen, events)
    codes, count = universe.codes(names)
    entering = first_occurrences(codes)[universe.kept_rows :]
    return selected(events, entering), universe.table(names, first_of(codes, count), {})


def _first_of_each_value(
    name: str, values: Values, group_by: tuple[str, ...], passing: pa.Table, tables: Tables, after: Tables
) -> Bools:
    """Which new rows have a value that is new to their group; the table of pairs grows by them."""
    value = name + ".value"
    universe = Universe(tables.get("seen" + name), passing.append_column(value, values.array))
    group, _ = universe.codes(group_by)
    codes, count = universe.codes([value])
    pairs, pair_count = paired(group, codes, count)
    after["seen" + name] = universe.table([*group_by, value], first_of(pairs, pair_count), {})
    return first_occurrences(pairs)[universe.kept_rows :]
