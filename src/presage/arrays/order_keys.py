"""Integer sort keys of a column, and their values. Spark's order: NaN greatest, -0.0 = 0.0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.columns import Values, column, with_nulls
from presage.arrays.jit import Bools, Floats, Ints
from presage.errors import error

GREATEST = np.iinfo(np.int64).max
HALF_WIDTH = 32  # dates and times of day of 32 bits reach int64 only by way of int32


@dataclass(frozen=True)
class Keys:
    """`keys[i]` for row i (GREATEST where null); `restore(keys, valid)` gives the values back."""

    keys: Ints
    restore: Callable[[Ints, Bools], pa.Array]


def keys_of(array: pa.Array, what: str) -> Keys:
    """`what` compares the values, as the user wrote it: for the error if they have no order."""
    kind = array.type
    if pa.types.is_null(kind):
        return Keys(np.full(len(array), GREATEST), lambda keys, _: pa.nulls(len(keys), kind))
    if pa.types.is_floating(kind):
        keys = float_keys(Values(array).floats)
        return Keys(_marked(keys, array), lambda k, valid: with_nulls(floats_of(k), valid).cast(kind))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
        narrow = pa.int32() if kind.bit_width == HALF_WIDTH and pa.types.is_temporal(kind) else None
        whole = (array.cast(narrow) if narrow else array).cast(pa.int64())
        keys = (whole.fill_null(0) if whole.null_count else whole).to_numpy()

        def restore(k: Ints, valid: Bools) -> pa.Array:
            values = with_nulls(np.where(valid, k, 0), valid)
            return (values.cast(narrow) if narrow else values).cast(kind)

        return Keys(_marked(keys, array), restore)
    if pa.types.is_nested(kind):
        raise error("UNSUPPORTED", what=what, where=f"over values of type {kind}", fix="take one of its fields")
    return _ranked(array)


def _ranked(array: pa.Array) -> Keys:
    """Texts by their rank among the distinct ones. Arrow compares UTF-8 bytes, as Spark does."""
    encoded = array.dictionary_encode()
    ascending = pc.array_sort_indices(encoded.dictionary)
    words = encoded.dictionary.take(ascending)
    ranks = np.empty(len(words), np.int64)
    ranks[ascending.to_numpy()] = np.arange(len(words))
    indices = encoded.indices
    rows = (indices.fill_null(0) if indices.null_count else indices).to_numpy()
    keys = ranks[rows] if len(words) else np.zeros(len(array), np.int64)

    def restore(k: Ints, valid: Bools) -> pa.Array:
        return words.take(with_nulls(np.where(valid, k, 0), valid))

    return Keys(_marked(keys, array), restore)


def _marked(keys: Ints, array: pa.Array) -> Ints:
    if not array.null_count:
        return keys
    return np.where(array.is_valid().to_numpy(zero_copy_only=False), keys, GREATEST)


def float_keys(values: Floats) -> Ints:
    """The bits of a double, inverted for negative numbers, have its order."""
    clean = values + 0.0  # one sign of zero
    clean[np.isnan(clean)] = np.nan  # one NaN, whose bits lie above infinity
    bits = clean.view(np.int64)
    return bits ^ ((bits >> 63) & GREATEST)


def floats_of(keys: Ints) -> Floats:
    return (keys ^ ((keys >> 63) & GREATEST)).view(np.float64)


def sorted_order(rows: pa.Table, sort: Sequence[tuple[str, bool]]) -> Ints:
    """Row numbers by ORDER BY columns with their direction (ascending): nulls first ascending, last descending; equal
    rows keep their order."""
    keys: list[np.ndarray] = []
    for name, ascending in sort:
        array = column(rows, name)
        values = keys_of(array, f"ORDER BY '{name}'").keys
        present = np.asarray(array.is_valid().to_numpy(zero_copy_only=False), np.bool_)
        keys += [present, values] if ascending else [~present, ~values]
    order: Ints = np.lexsort(keys[::-1]) if keys else np.arange(rows.num_rows)
    return order.astype(np.int64, copy=False)
