"""Conversion of Arrow arrays to a wider Arrow type, at any level of nesting."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def widened(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Arrow does not cast inside of all nested types. The types differ only in numbers, NULLs and names."""
    if array.type == wanted:
        return array
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), wanted)
    if pa.types.is_map(wanted):
        keys, items = widened(array.keys, wanted.key_type), widened(array.items, wanted.item_type)
        return maps_of(array.offsets, keys, items, wanted, array)
    if pa.types.is_list(wanted) and pa.types.is_list(array.type):
        return lists_of(array.offsets, widened(array.values, wanted.value_type), wanted, array)
    if pa.types.is_struct(wanted):
        fields = [widened(f, wanted.field(i).type) for i, f in enumerate(array.flatten())]
        return structs_of(fields, wanted, len(array), array.is_null() if array.null_count else None)
    # A LONG beyond 2**53 is rounded, which Arrow calls unsafe.
    return array.cast(wanted, safe=False)


def structs_of(fields: list[pa.Array], wanted: pa.DataType, rows: int, mask: pa.Array | None = None) -> pa.Array:
    if not fields:
        return pa.array([{}] * rows, wanted) if mask is None else pc.if_else(mask, None, pa.array([{}] * rows, wanted))
    return pa.StructArray.from_arrays(fields, fields=list(wanted), mask=mask)


def lists_of(offsets: pa.Array, values: pa.Array, wanted: pa.DataType, like: pa.Array | None = None) -> pa.Array:
    """Lists with these bounds in `values`; NULL where `like` is."""
    return pa.ListArray.from_arrays(_copied(offsets), values, type=wanted, mask=_nulls(like))


def maps_of(
    offsets: pa.Array, keys: pa.Array, items: pa.Array, wanted: pa.DataType, like: pa.Array | None = None
) -> pa.Array:
    return pa.MapArray.from_arrays(_copied(offsets), keys, items, type=wanted, mask=_nulls(like))


def _copied(offsets: pa.Array) -> pa.Array:
    """Copies the offsets of a slice: with a mask, Arrow requires offset 0."""
    return pa.array(np.array(offsets.to_numpy(zero_copy_only=False), np.int32))


def _nulls(like: pa.Array | None) -> pa.Array | None:
    return like.is_null() if like is not None and like.null_count else None
