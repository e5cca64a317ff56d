"""Marks of keys: hashes of 32 bits that find the rows of some keys in a long table without comparing keys.

Equal keys (as in `equality`) have equal marks; a lookup may return a few other rows too. Marks are the same in every
process and are not stored. Linear. All lists and maps have the same mark.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from presage.arrays.columns import plain
from presage.arrays.decimals import words
from presage.arrays.jit import Ints, compiled

Marks = npt.NDArray[np.uint32]
_Hashes = npt.NDArray[np.uint64]
WIDTH = 32
_ODD = np.uint64(0x9E3779B97F4A7C15)
_NULL = np.uint64(0x5851F42D4C957F2D)
# Entries per wanted mark in the lookup table: sparse, so that few other rows are found.
SPARSE, LEAST_BITS, MOST_BITS = 64, 10, 22


def marks_of(columns: Sequence[pa.ChunkedArray], rows: int) -> Marks:
    """One mark per row for the tuples that `columns` form."""
    hashes = np.zeros(rows, np.uint64)
    for column in columns:
        # Chunk by chunk, which bounds temporary memory.
        parts = [_hashes(chunk) for chunk in plain(column).chunks]
        hashes = _mixed(hashes ^ np.concatenate([np.zeros(0, np.uint64), *parts]))
    return (hashes >> np.uint64(WIDTH)).astype(np.uint32)


def rows_with(marks: Marks, wanted: Marks) -> Ints:
    """The rows with one of the wanted marks, and a few others, ascending."""
    bits = int(np.clip(int(len(wanted) * SPARSE).bit_length(), LEAST_BITS, MOST_BITS))
    table = np.zeros(1 << bits, np.bool_)
    table[wanted >> np.uint32(WIDTH - bits)] = True
    return _rows_in(marks, table, WIDTH - bits)


def _mixed(hashes: _Hashes) -> _Hashes:
    """The upper half of the bits depends on all of them."""
    mixed: _Hashes = (hashes ^ (hashes >> np.uint64(32))) * _ODD
    return mixed ^ (mixed >> np.uint64(29)) * _ODD


def _hashes(array: pa.Array) -> _Hashes:
    kind = array.type
    if pa.types.is_null(kind):
        return np.full(len(array), _NULL)
    if pa.types.is_struct(kind):
        hashes = np.zeros(len(array), np.uint64)
        for field in array.flatten():
            hashes = _mixed(hashes ^ _hashes(field))
        return hashes
    return _without_null(array, _values(array))


def _without_null(array: pa.Array, hashes: _Hashes) -> _Hashes:
    if not array.null_count:
        return hashes
    return np.where(array.is_null().to_numpy(zero_copy_only=False), _NULL, hashes)


def _values(array: pa.Array) -> _Hashes:
    """Hashes of the values; arbitrary where null."""
    kind = array.type
    if pa.types.is_floating(kind):
        doubles = array.cast(pa.float64())
        values = (doubles.fill_null(0.0) if doubles.null_count else doubles).to_numpy() + 0.0  # one zero
        values[np.isnan(values)] = np.nan  # one NaN
        return np.asarray(values).view(np.uint64)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_timestamp(kind):
        longs = array.cast(pa.int64())
        numbers: Ints = (longs.fill_null(0) if longs.null_count else longs).to_numpy()
        return numbers.view(np.uint64)
    if pa.types.is_date32(kind):
        return _values(array.cast(pa.int32()))
    if pa.types.is_decimal(kind):
        low, high = words(array)
        return _mixed(low ^ high.view(np.uint64))
    if any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)):
        return _byte_hashes(array.cast(pa.large_binary()))
    return np.zeros(len(array), np.uint64)


def _byte_hashes(array: pa.Array) -> _Hashes:
    _, offsets, data = array.buffers()
    if not len(array) or data is None:
        return np.zeros(len(array), np.uint64)
    bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return _hashed_bytes(bounds, np.frombuffer(data, np.uint8))


@compiled
def _hashed_bytes(bounds: Ints, data: npt.NDArray[np.uint8]) -> _Hashes:
    """FNV-1a of the bytes between two bounds."""
    hashes = np.empty(bounds.size - 1, np.uint64)
    for i in range(hashes.size):
        value = np.uint64(0xCBF29CE484222325)
        for k in range(bounds[i], bounds[i + 1]):
            value = (value ^ np.uint64(data[k])) * np.uint64(0x100000001B3)
        hashes[i] = value
    return hashes


@compiled
def _rows_in(marks: Marks, table: npt.NDArray[np.bool_], shift: int) -> Ints:
    count = 0
    for i in range(marks.size):
        count += table[marks[i] >> shift]
    rows = np.empty(count, np.int64)
    at = 0
    for i in range(marks.size):
        if table[marks[i] >> shift]:
            rows[at] = i
            at += 1
    return rows
