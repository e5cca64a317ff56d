"""The processing order of rows: a table sorted by its sort columns."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from presage.arrays.rows import in_order, lexical_order


def sorted_table(table: pa.Table, sort: Sequence[str]) -> pa.Table:
    """The table sorted by these columns; returned as it is if already in order."""
    if table.num_rows < 2:
        return table
    keys = [table[name].to_numpy() for name in sort]
    if in_order(keys):
        return table
    return table.combine_chunks().take(pa.array(lexical_order(keys)))
