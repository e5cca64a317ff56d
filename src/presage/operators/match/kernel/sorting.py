"""The order of rows by ORDER BY: nulls first ascending, last descending; NaN greatest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from presage.arrays.columns import column
from presage.arrays.jit import Ints
from presage.arrays.order_keys import keys_of


def sorted_order(rows: pa.Table, sort: Sequence[tuple[str, bool]]) -> Ints:
    """Row numbers in order; the sort is stable."""
    keys: list[np.ndarray] = []
    for name, ascending in sort:
        array = column(rows, name)
        values = keys_of(array, f"ORDER BY '{name}'").keys
        present = np.asarray(array.is_valid().to_numpy(zero_copy_only=False), np.bool_)
        keys += [present, values] if ascending else [~present, ~values]
    order: Ints = np.lexsort(keys[::-1]) if keys else np.arange(rows.num_rows)
    return order.astype(np.int64, copy=False)
