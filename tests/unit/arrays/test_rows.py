"""Rows in the order of several columns."""

from __future__ import annotations

import numpy as np
import pytest

from presage.arrays.rows import lexical_order


@pytest.mark.parametrize("values", [1, 2, 5, 1_000_000])
@pytest.mark.parametrize("columns", [1, 2, 4])
@pytest.mark.parametrize("rows", [0, 1, 2, 40])
def test_rows_are_in_the_order_that_sorting_by_all_columns_gives(values: int, columns: int, rows: int) -> None:
    chance = np.random.default_rng(values + columns + rows)
    keys = [chance.integers(-values, values, rows) for _ in range(columns)]
    assert lexical_order(keys).tolist() == np.lexsort(keys[::-1]).tolist()
