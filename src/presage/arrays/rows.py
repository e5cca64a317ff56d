"""Row operations: appending, taking, runs of equal rows, lexical order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from presage.arrays.jit import Bools, Ints

# Rows of one `take`: small enough that the text of a column stays below the 2 GB of Arrow's 32-bit offsets.
TAKEN_AT_ONCE = 1 << 22


def append_rows(carried: pa.Table | None, arriving: pa.Table) -> pa.Table:
    """`carried`, then `arriving`, with the columns and types of `arriving`."""
    if carried is None or carried.num_rows == 0:
        return arriving
    columns = [
        pa.chunked_array([*carried[name].cast(arriving[name].type).chunks, *arriving[name].chunks], arriving[name].type)
        for name in arriving.column_names
    ]
    return pa.table(columns, names=arriving.column_names)


def take_rows(table: pa.Table, positions: Ints) -> pa.Table:
    """The rows at `positions`, in that order."""
    table = table.combine_chunks()
    if len(positions) <= TAKEN_AT_ONCE:
        return table.take(pa.array(positions))
    starts = range(0, len(positions), TAKEN_AT_ONCE)
    return pa.concat_tables([table.take(pa.array(positions[s : s + TAKEN_AT_ONCE])) for s in starts])


def changes(columns: Sequence[Ints], rows: int) -> Bools:
    """Which rows differ from the row before them in one of `columns`; the first row does."""
    changed = np.zeros(rows, np.bool_)
    changed[:1] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return changed


def ordinals(starts: Bools) -> Ints:
    """0, 1, 2 … within each run of rows; `starts` marks the first row of each run."""
    at = np.arange(len(starts), dtype=np.int64)
    return at - np.maximum.accumulate(np.where(starts, at, 0))


def in_order(columns: Sequence[Ints]) -> bool:
    """Whether rows are in the order of `lexical_order`."""
    first, *others = columns
    if np.any(first[:-1] > first[1:]):
        return False
    # The few rows that equal the next one in the columns so far.
    tied = np.flatnonzero(first[:-1] == first[1:])
    for column in others:
        here, after = column[tied], column[tied + 1]
        if np.any(here > after):
            return False
        tied = tied[here == after]
    return True


def lexical_order(columns: Sequence[Ints]) -> Ints:
    """The stable order of rows by the first column, then the second, and so on.

    As `np.lexsort` with the columns reversed. Rows that differ in the first column are sorted by it alone.
    """
    first = columns[0]
    order: Ints = np.argsort(first, kind="stable")
    if len(columns) == 1 or len(first) < 2:
        return order
    values = first[order]
    same = values[1:] == values[:-1]
    if same.any():
        tied = np.zeros(len(first), np.bool_)
        tied[1:] |= same
        tied[:-1] |= same
        rows = order[tied]
        order[tied] = rows[np.lexsort([column[rows] for column in reversed(columns)])]
    return order
