"""A table in, its rows in processing order out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from presage.arrays.rows import lexical_order


def sorted_table(table: pa.Table, sort: Sequence[str]) -> pa.Table:
    """The table in the order of its key columns; a table that is in order already is not touched."""
    if table.num_rows < 2:
        return table
    keys = [table[name].to_numpy() for name in sort]
    if _is_sorted(keys):
        return table
    return table.combine_chunks().take(pa.array(lexical_order(keys)))


def _is_sorted(keys: list[np.ndarray]) -> bool:
    """Whether rows rise lexicographically by the key columns."""
    first, *others = keys
    if np.any(first[:-1] > first[1:]):
        return False
    # Rows that the columns so far do not tell from the next one: few.
    tied = np.flatnonzero(first[:-1] == first[1:])
    for key in others:
        here, after = key[tied], key[tied + 1]
        if np.any(here > after):
            return False
        tied = tied[here == after]
    return True
