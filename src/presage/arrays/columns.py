"""Columns of the rows of a step: those kept in the state and the new ones; arrays as NumPy values with validity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.decimals import limbs_of
from presage.arrays.equality import equality_codes
from presage.arrays.jit import Bools, Floats, Ints
from presage.errors import error

HIGH_BITS = 32
LOW_MASK = (1 << HIGH_BITS) - 1
ELEMENT = "element"
MOST_LISTED = 2**31 - 1  # Arrow's lists have offsets of 32 bits
MOST_TEXT = 2**31 - 1  # bytes of a column of texts, for the same reason
WIDE_FROM = MOST_TEXT  # with more bytes the texts of a step have offsets of 64 bits


def column(table: pa.Table, name: str) -> pa.Array:
    """A column as one array of its plain type."""
    chunks = plain(table.column(name))
    return joined(chunks.chunks) if chunks.num_chunks else pa.array([], chunks.type)


def joined(arrays: Sequence[pa.Array]) -> pa.Array:
    """Arrays as one. Texts of more than two gigabytes get offsets of 64 bits, as Arrow requires."""
    if len(arrays) == 1:
        return arrays[0]
    return pa.concat_arrays(_widened(arrays))


def _widened(arrays: Sequence[pa.Array]) -> Sequence[pa.Array]:
    """The arrays with one type: large strings if one of them is large, or all of them together are."""
    wide = any(pa.types.is_large_string(array.type) for array in arrays)
    if not wide and not (pa.types.is_string(arrays[0].type) and sum(array.nbytes for array in arrays) > WIDE_FROM):
        return arrays
    return [array.cast(pa.large_string()) for array in arrays]


def plain(chunks: pa.ChunkedArray) -> pa.ChunkedArray:
    return chunks.cast(chunks.type.value_type) if pa.types.is_dictionary(chunks.type) else chunks


def taken(table: pa.Table, name: str, rows: Ints) -> pa.Array:
    """Some rows of a column, as one array of its plain type."""
    chunks = table.column(name)
    if pa.types.is_dictionary(chunks.type) and chunks.num_chunks == 1:
        # Decode the texts of these rows only.
        return take(chunks.chunk(0), rows).cast(chunks.type.value_type)
    return take(column(table, name), rows)


def ints(table: pa.Table, name: str) -> Ints:
    values: Ints = column(table, name).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return values


def floats(table: pa.Table, name: str) -> Floats:
    values: Floats = column(table, name).to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    return values


def bools(array: pa.Array) -> Bools:
    """Null counts as false."""
    filled = array.fill_null(False) if array.null_count else array
    return np.asarray(filled.to_numpy(zero_copy_only=False), np.bool_)


class Universe:
    """The rows of a step: those kept in the state, then the new ones, in order of arrival."""

    def __init__(self, kept: pa.Table | None, new: pa.Table) -> None:
        self.kept = kept
        self.new = new
        self.kept_rows: int = 0 if kept is None else kept.num_rows
        self.rows: int = self.kept_rows + new.num_rows
        self._columns: dict[str, pa.Array] = {}
        self._values: dict[str, Values] = {}
        self._codes: dict[tuple[str, ...], tuple[Ints, int]] = {}

    def column(self, name: str) -> pa.Array:
        if name not in self._columns:
            array = column(self.new, name)
            if self.kept is not None and self.kept_rows:
                array = joined([column(self.kept, name), array])
            self._columns[name] = array
        return self._columns[name]

    def codes(self, names: Iterable[str]) -> tuple[Ints, int]:
        """Codes of the tuples that some columns form."""
        columns = tuple(names)
        if columns not in self._codes:
            self._codes[columns] = equality_codes([self._chunks(name) for name in columns], self.rows)
        return self._codes[columns]

    def _chunks(self, name: str) -> pa.ChunkedArray:
        # Not copied into one array: copying texts is expensive.
        if self.kept is None or not self.kept_rows:
            return self.new.column(name)
        return pa.chunked_array(_widened([column(self.kept, name), *plain(self.new.column(name)).chunks]))

    def values(self, name: str) -> Values:
        if name not in self._values:
            self._values[name] = Values(self.column(name))
        return self._values[name]

    def kept_ints(self, name: str) -> Ints:
        """A bookkeeping column that only kept rows have."""
        if self.kept is None or not self.kept_rows:
            return np.empty(0, np.int64)
        return ints(self.kept, name)

    def table(self, names: Iterable[str], rows: Ints, further: Mapping[str, np.ndarray | pa.Array]) -> pa.Table:
        """The given rows of some columns, with bookkeeping columns after them."""
        chosen = unique(names)
        arrays = [take(self.column(name), rows) for name in chosen]
        added = [values if isinstance(values, pa.Array) else pa.array(values) for values in further.values()]
        return pa.Table.from_arrays([*arrays, *added], names=[*chosen, *further])


class Values:
    """An argument column of an aggregate, with its numbers on demand."""

    def __init__(self, array: pa.Array) -> None:
        self.array = array

    @property
    def is_integral(self) -> bool:
        return bool(pa.types.is_integer(self.array.type))

    @property
    def is_decimal(self) -> bool:
        return bool(pa.types.is_decimal(self.array.type))

    @cached_property
    def limbs(self) -> tuple[Ints, ...]:
        """Of decimals: see `limbs_of`."""
        return limbs_of(self.array)

    @cached_property
    def valid(self) -> Bools | None:
        """Which values are not null; None: all of them."""
        if not self.array.null_count:
            return None
        return np.asarray(self.array.is_valid().to_numpy(zero_copy_only=False), np.bool_)

    @cached_property
    def floats(self) -> Floats:
        """As doubles, null as 0."""
        doubles = self.array.cast(pa.float64(), safe=False)
        values: Floats = (doubles.fill_null(0.0) if doubles.null_count else doubles).to_numpy()
        return values

    @cached_property
    def halves(self) -> tuple[Ints, Ints]:
        """Integers as high * 2**32 + low, null as 0: sums of halves do not overflow, which reveals where the whole
        does."""
        longs = self.array.cast(pa.int64())
        values: Ints = (longs.fill_null(0) if longs.null_count else longs).to_numpy()
        return values >> HIGH_BITS, values & LOW_MASK


def all_valid(values: Values) -> Bools:
    return np.ones(len(values.array), np.bool_) if values.valid is None else values.valid


def take(array: pa.Array, rows: Ints) -> pa.Array:
    return narrowed(array.take(pa.array(rows)))


def narrowed(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Large strings as plain ones if they fit: large strings exist within a step only."""
    if pa.types.is_large_string(array.type) and array.nbytes <= MOST_TEXT:
        return array.cast(pa.string())
    return array


def with_nulls(values: np.ndarray, valid: Bools) -> pa.Array:
    return pa.array(values) if valid.all() else pa.array(values, mask=~valid)


def lists_of(array: pa.Array, offsets: Ints, rows: Ints) -> pa.Array:
    """Lists of the values at `rows`, cut at `offsets`."""
    if offsets[-1] > MOST_LISTED:
        raise error(
            "LIMIT",
            what="the lists that window(...) makes in one step",
            limit_name="values in lists",
            limit=MOST_LISTED,
            fix="use a smaller window",
        )
    values = take(array, rows)
    kind = pa.list_(pa.field(ELEMENT, values.type))
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values, type=kind)


def unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def selected(table: pa.Table, keep: Bools) -> pa.Table:
    """The rows where `keep`; the same table if that is all of them."""
    return table if keep.all() else table.take(pa.array(np.flatnonzero(keep)))


def bools_of(table: pa.Table, name: str) -> Bools:
    """A boolean column; true everywhere if the table does not have it."""
    if name not in table.column_names:
        return np.ones(table.num_rows, np.bool_)
    return bools(pc.cast(column(table, name), pa.bool_()))
