"""Vectors: the columns that expressions compute with, converted from and to Arrow.

A vector has one value for each row, or a single value for all rows (constants, and expressions of constants). Both
broadcast against each other, so that kernels need not distinguish them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from presage.columnar.reshape import widened
from presage.model import types as t
from presage.model.arrow import to_arrow
from presage.model.time import to_micros
from presage.model.types import ArrayOf, DataType, MapOf, StructOf

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[Any]

# A TIMESTAMP is microseconds, a DATE days.
DTYPES: dict[DataType, type[np.generic]] = {
    t.INT: np.int32,
    t.LONG: np.int64,
    t.DOUBLE: np.float64,
    t.BOOLEAN: np.bool_,
    t.TIMESTAMP: np.int64,
    t.DATE: np.int32,
}
_ARROW = {data_type: to_arrow(data_type) for data_type in DTYPES}


class Flat:
    """Numbers, truth values, times or days. `valid` is None if nothing is NULL; the value under a NULL is undefined."""

    __slots__ = ("valid", "values")

    def __init__(self, values: Numbers, valid: Bools | None = None) -> None:
        self.values = values
        self.valid = valid

    def __len__(self) -> int:
        # The two may differ in length: a constant value with NULLs in some rows.
        return len(self.values) if self.valid is None else _joint(len(self.values), len(self.valid))


class Cells:
    """Texts, bytes, decimals, arrays, maps, structs and plain NULLs, as Arrow holds them."""

    __slots__ = ("_scalar", "_valid", "array")

    def __init__(self, array: pa.Array) -> None:
        self.array = array
        self._scalar: pa.Scalar | None = None
        self._valid: Bools | None = None

    def __len__(self) -> int:
        return len(self.array)

    @property
    def valid(self) -> Bools | None:
        if self._valid is None and self.array.null_count:
            self._valid = validity(self.array)
        return self._valid

    @property
    def scalar(self) -> pa.Scalar:
        """The single value, which functions of Arrow broadcast."""
        if self._scalar is None:
            self._scalar = self.array[0]
        return self._scalar


Vector = Flat | Cells


def _joint(a: int, b: int) -> int:
    return b if a == 1 else a


def joint_length(*vectors: Vector) -> int:
    """The common length of vectors."""
    length = 1
    for vector in vectors:
        length = _joint(length, len(vector))
    return length


def both_valid(a: Bools | None, b: Bools | None) -> Bools | None:
    if a is None or b is None:
        return b if a is None else a
    return a & b


def is_flat(data_type: DataType) -> bool:
    return data_type in DTYPES


# -- from and to Arrow --------------------------------------------------------------------------------


def one_array(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def from_arrow(array: pa.Array, data_type: DataType) -> Vector:
    """A vector of an array in any encoding that Arrow casts to the type's own."""
    wanted = _ARROW.get(data_type)
    if wanted is None:
        wanted = to_arrow(data_type)
        return Cells(array if array.type == wanted else widened(array, wanted))
    if array.type != wanted:
        # Times may be plain microseconds, which need no cast.
        array = array.cast(pa.int64() if data_type == t.TIMESTAMP and array.type == pa.int64() else wanted)
    return flat_from_arrow(array)


def flat_from_arrow(array: pa.Array) -> Flat:
    """A vector of an array of numbers, truth values or times, without a cast."""
    if pa.types.is_date32(array.type):
        array = array.view(pa.int32())
    rows, kind = len(array), array.type
    if not array.null_count:
        values = array.to_numpy(zero_copy_only=False)
        return Flat(values.view(np.int64) if values.dtype.kind == "M" else values)
    present, data = array.buffers()
    valid = _bits(present, array.offset, rows)
    if pa.types.is_boolean(kind):
        return Flat(_bits(data, array.offset, rows), valid)
    dtype = np.dtype(np.int64) if pa.types.is_timestamp(kind) else np.dtype(kind.to_pandas_dtype())
    return Flat(np.frombuffer(data, dtype, rows, array.offset * dtype.itemsize), valid)


def _bits(buffer: pa.Buffer, offset: int, rows: int) -> Bools:
    """Unpacks a bitmap. For small arrays Arrow's own functions are many times slower."""
    first = offset // 8
    packed = np.frombuffer(buffer, np.uint8, (offset + rows + 7) // 8 - first, first)
    return np.unpackbits(packed, count=offset - first * 8 + rows, bitorder="little")[offset - first * 8 :].view(
        np.bool_
    )


def validity(array: pa.Array) -> Bools | None:
    """Which values are not NULL; None if no value is NULL."""
    if not array.null_count:
        return None
    present = array.buffers()[0]
    if present is None:
        return np.zeros(len(array), np.bool_)  # an array of type null has no bitmap
    return _bits(present, array.offset, len(array))


def to_array(vector: Vector, data_type: DataType, rows: int) -> pa.Array:
    """Exactly `rows` values of exactly the type's Arrow type."""
    if isinstance(vector, Cells):
        array = vector.array if len(vector) == rows else _repeated(vector, rows)
        wanted = to_arrow(data_type)
        return array if array.type == wanted else widened(array, wanted)
    values, mask = vector.values, None
    if len(values) != rows:
        values = np.broadcast_to(values, rows)
    if vector.valid is not None:
        mask = ~vector.valid
        if len(mask) != rows:
            mask = np.broadcast_to(mask, rows)
    array = pa.array(values, mask=mask)
    wanted = _ARROW[data_type]
    if array.type == wanted:
        return array
    return array.view(wanted) if data_type in (t.TIMESTAMP, t.DATE) else array.cast(wanted)


def _repeated(vector: Cells, rows: int) -> pa.Array:
    # pa.repeat of zero rows makes list arrays without their first offset.
    return pa.repeat(vector.scalar, rows) if rows else vector.array.slice(0, 0)


def to_cells(vector: Vector, data_type: DataType) -> pa.Array:
    """An array of the vector's own length."""
    return to_array(vector, data_type, len(vector))


def truth(vector: Vector, rows: int) -> Bools:
    """Which rows are true; NULL is not."""
    if isinstance(vector, Cells):
        return np.zeros(rows, np.bool_)
    found = vector.values if vector.valid is None else vector.values & vector.valid
    return found if len(found) == rows else np.broadcast_to(found, rows)


# -- constants and rows -------------------------------------------------------------------------------


def constant(value: object, data_type: DataType) -> Vector:
    dtype = DTYPES.get(data_type)
    if dtype is None:
        return Cells(pa.array([_plain(value, data_type)], to_arrow(data_type)))
    if value is None:
        return Flat(np.zeros(1, dtype), np.zeros(1, np.bool_))
    return Flat(np.array([_plain(value, data_type)], dtype))


def nothing(data_type: DataType) -> Vector:
    return constant(None, data_type)


def _plain(value: object, data_type: DataType) -> object:
    """A value in the form that `pa.array` takes."""
    if value is None:
        return None
    if isinstance(data_type, ArrayOf):
        return [_plain(v, data_type.element) for v in cast(Sequence[object], value)]
    if isinstance(data_type, MapOf):
        pairs = cast(Mapping[object, object], value).items()
        return [(_plain(k, data_type.key), _plain(v, data_type.value)) for k, v in pairs]
    if isinstance(data_type, StructOf):
        parts = value.values() if isinstance(value, Mapping) else cast(Sequence[object], value)
        return {n: _plain(v, f) for (n, f), v in zip(data_type.fields, parts, strict=True)}
    return to_micros(value) if isinstance(value, datetime) else value


def take(vector: Vector, rows: Ints) -> Vector:
    """The values at these rows; a row of -1 gives NULL. A single value is repeated."""
    missing = rows < 0
    none_missing = not missing.any()
    if isinstance(vector, Flat):
        values, valid = vector.values, vector.valid
        if len(values) == 0:
            values, valid = np.zeros(1, values.dtype), np.zeros(1, np.bool_)
        places = rows if none_missing else np.where(missing, 0, rows)
        found = values[places if len(values) != 1 else np.zeros_like(places)]
        present = None if valid is None else valid[places if len(valid) != 1 else np.zeros_like(places)]
        return Flat(found, present if none_missing else both_valid(present, ~missing))
    places = rows if len(vector) != 1 else np.where(missing, -1, 0)
    return Cells(vector.array.take(pa.array(places, mask=None if none_missing else missing)))


def slots_of(array: pa.Array) -> tuple[Ints, Ints, Bools | None]:
    """Of arrays or maps: the start of each among the elements, its size, and which are not NULL."""
    offsets = array.offsets.to_numpy().astype(np.int64)
    starts, sizes = offsets[:-1], np.diff(offsets)
    valid = validity(array)
    # A NULL array may still have elements.
    return starts, sizes if valid is None else np.where(valid, sizes, 0), valid
