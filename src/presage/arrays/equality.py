"""Equality codes: one int64 per row; rows have the same code exactly when their values are equal.

Equality is that of GROUP BY: null equals null, NaN equals NaN, -0.0 equals 0.0; arrays, structs and maps by content.
Codes are dense and numbered by first occurrence, so a code is new exactly when it exceeds all codes before it. Linear:
one hash of each value (Arrow's); numbers in a narrow range need no hash.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.jit import Bools, Ints, compiled

CLOSE = 4  # a range of numbers is narrow if it has at most so many for each row


def equality_codes(columns: Sequence[pa.ChunkedArray], rows: int) -> tuple[Ints, int]:
    """Codes of the tuples that `columns` form, and how many there are. No column: all rows are equal."""
    if not columns:
        return np.zeros(rows, np.int64), min(rows, 1)
    codes, count = _column_codes(columns[0])
    for column in columns[1:]:
        more, more_count = _column_codes(column)
        codes, count = _pair_codes(codes, more, more_count)
    return codes, count


def first_occurrences(codes: Ints) -> Bools:
    """Which rows have a code that no earlier row has."""
    first = np.ones(len(codes), np.bool_)
    if len(codes) > 1:
        np.greater(codes[1:], np.maximum.accumulate(codes)[:-1], out=first[1:])
    return first


def _pair_codes(left: Ints, right: Ints, right_count: int) -> tuple[Ints, int]:
    return _number_codes(pa.chunked_array([pa.array(left * max(right_count, 1) + right)]))


def _number_codes(column: pa.ChunkedArray) -> tuple[Ints, int]:
    """Codes of 64-bit integers. In a narrow range a table by value is much smaller than a hash table, whose cache
    misses dominate for a million keys."""
    bounds = pc.min_max(column)
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    if low is None or high - low >= CLOSE * len(column):
        return _hash_codes(column)
    values = pc.subtract(column, low) if low else column
    size = high - low + 1
    if column.null_count:
        values = values.fill_null(size)
    return numbered(_one(values), size + 1)


def _one(column: pa.ChunkedArray) -> Ints:
    chunks = [chunk.to_numpy(zero_copy_only=False) for chunk in column.chunks]
    values: Ints = chunks[0] if len(chunks) == 1 else np.concatenate(chunks)
    return values


def _hash_codes(column: pa.ChunkedArray) -> tuple[Ints, int]:
    encoded = column.dictionary_encode(null_encoding="encode")
    if encoded.num_chunks == 0:
        return np.zeros(0, np.int64), 0
    # Arrow gives every chunk the dictionary of the whole column, so indices of different chunks agree.
    indices = [chunk.indices.to_numpy(zero_copy_only=False) for chunk in encoded.chunks]
    return np.concatenate(indices).astype(np.int64), len(encoded.chunk(encoded.num_chunks - 1).dictionary)


def _column_codes(column: pa.ChunkedArray) -> tuple[Ints, int]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        if pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type):
            return _dictionary_codes(column)
        return _column_codes(column.cast(kind.value_type))
    if pa.types.is_floating(kind):
        # Adding zero turns -0.0 into 0.0; every NaN becomes the one NaN, because Arrow hashes the bits.
        column = pc.add(column.cast(pa.float64()), 0.0)
        return _hash_codes(pc.if_else(pc.is_nan(column), float("nan"), column))
    if pa.types.is_signed_integer(kind) or pa.types.is_timestamp(kind):
        return _number_codes(column.cast(pa.int64()))
    if pa.types.is_date32(kind):
        return _number_codes(column.cast(pa.int32()).cast(pa.int64()))
    if pa.types.is_nested(kind):
        return _nested_codes(pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], kind))
    return _hash_codes(column)


def _dictionary_codes(column: pa.ChunkedArray) -> tuple[Ints, int]:
    """Hashes only the values of the dictionary, which may contain a null or duplicates."""
    if column.num_chunks == 0:
        return np.zeros(0, np.int64), 0
    values = [chunk.dictionary for chunk in column.chunks]
    known, count = _hash_codes(pa.chunked_array([*values, pa.nulls(1, column.type.value_type)]))
    places, first = [], 0
    for chunk, own in zip(column.chunks, values, strict=True):
        indices = chunk.indices.fill_null(len(known) - 1 - first) if chunk.indices.null_count else chunk.indices
        places.append(known[first:][indices.to_numpy(zero_copy_only=False)])
        first += len(own)
    return numbered(places[0] if len(places) == 1 else np.concatenate(places), count)


@compiled
def numbered(values: Ints, possible: int) -> tuple[Ints, int]:
    """Values below `possible`, numbered by first occurrence."""
    number = np.full(possible, -1, np.int64)
    codes = np.empty(values.size, np.int64)
    used = 0
    for i in range(values.size):
        if number[values[i]] < 0:
            number[values[i]] = used
            used += 1
        codes[i] = number[values[i]]
    return codes, used


def _nested_codes(array: pa.Array) -> tuple[Ints, int]:
    present = array.is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
    if pa.types.is_struct(array.type):
        codes, count = _number_codes(pa.chunked_array([pa.array(present)]))
        for field in array.flatten():
            more, more_count = _column_codes(pa.chunked_array([field]))
            codes, count = _pair_codes(codes, more, more_count)
        return codes, count
    is_map = pa.types.is_map(array.type)
    if is_map:
        array = _as_lists(array)
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    # flatten() leaves out what lies under a null and outside a slice.
    elements, _ = _column_codes(pa.chunked_array([array.flatten()]))
    if is_map:
        elements = _entries_in_key_order(array, elements, lengths)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths * elements.itemsize)))
    # A list as the bytes of its elements' codes: equal bytes are equal lists.
    texts = pa.Array.from_buffers(
        pa.large_binary(), len(array), [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(elements))]
    )
    codes, _ = _hash_codes(pa.chunked_array([texts]))
    return _pair_codes(codes, present, 2)


def _as_lists(maps: pa.Array) -> pa.Array:
    """Maps as lists of their entries: Arrow's functions for lists do not take maps."""
    entries = pa.StructArray.from_arrays([maps.keys, maps.items], ["key", "value"])
    offsets = pa.array(np.array(maps.offsets.to_numpy()))
    return pa.ListArray.from_arrays(offsets, entries, mask=maps.is_null())


def _entries_in_key_order(array: pa.Array, entries: Ints, lengths: Ints) -> Ints:
    """Sort the entries of maps by the codes of their keys: maps have no order."""
    keys, _ = _column_codes(pa.chunked_array([array.flatten().flatten()[0]]))
    owners = np.repeat(np.arange(len(lengths)), lengths)
    return entries[np.lexsort((keys, owners))]
