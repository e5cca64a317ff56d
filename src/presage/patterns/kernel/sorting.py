"""Rows and columns of ORDER BY come in, their order goes out: nulls first ascending, last descending; NaN greatest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.columns import column
from presage.arrays.jit import Ints
from presage.errors import error


def sorted_order(rows: pa.Table, sort: Sequence[tuple[str, bool]]) -> Ints:
    """Numbers of the rows in order; rows that are equal stay as they are."""
    keys: list[np.ndarray] = []
    for name, ascending in sort:
        values, present = _keys(column(rows, name), name)
        keys += [present, values] if ascending else [~present, ~values]
    order: Ints = np.lexsort(keys[::-1]) if keys else np.arange(rows.num_rows)
    return order.astype(np.int64, copy=False)


def _keys(array: pa.Array, name: str) -> tuple[Ints, np.ndarray]:
    """Integers in the order of the values (0 where null), and which values there are."""
    kind = array.type
    present = np.asarray(array.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.int64), present
    if pa.types.is_floating(kind):
        floats = array.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy(zero_copy_only=False)
        return _float_keys(floats), present
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), present
    if pa.types.is_temporal(kind):
        narrow = pa.int32() if kind.bit_width == pa.int32().bit_width else pa.int64()
        return array.cast(narrow).cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), present
    if pa.types.is_nested(kind):
        raise error("UNSUPPORTED", what=f"ORDER BY '{name}'", where=f"of type {kind}", fix="take one of its fields")
    coded = array.dictionary_encode()
    ranks = np.empty(len(coded.dictionary) + 1, np.int64)
    ranks[pc.sort_indices(coded.dictionary).to_numpy()] = np.arange(len(coded.dictionary))
    ranks[-1] = 0
    return ranks[coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)], present


def _float_keys(floats: np.ndarray) -> Ints:
    """The bits of a double are in its order, but for the sign. Every NaN is the same, and -0.0 is 0.0."""
    clean = np.where(np.isnan(floats), np.nan, floats) + 0.0
    bits = np.ascontiguousarray(clean).view(np.int64)
    return np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)
