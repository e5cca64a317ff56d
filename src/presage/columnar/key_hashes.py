"""64-bit hashes of keys: values in one SQL group have equal hashes, in every process.

Null equals null, NaN equals NaN, -0.0 equals 0.0; arrays, structs and maps by their content.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

NULL = np.uint64(0x5851F42D4C957F2D)


def key_hashes(column: pa.ChunkedArray) -> np.ndarray:
    """One hash per row. Linear; makes a Python object per distinct text and per nested value."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_null(kind):
        return np.full(len(column), NULL)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        hashes = _text_hashes(column)
    elif pa.types.is_binary(kind) or pa.types.is_decimal(kind):
        texts = [each.hex() if isinstance(each, bytes) else str(each) for each in column.to_pylist()]
        hashes = _hash_array(np.array(texts, dtype=object))
    elif pa.types.is_nested(kind):
        texts = [repr(_canonical(value, kind)) for value in column.to_pylist()]
        hashes = _hash_array(np.array(texts, dtype=object))
    elif pa.types.is_floating(kind):
        values = pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy() + 0.0  # adding zero turns -0.0 into 0.0
        values[np.isnan(values)] = np.nan  # NaNs may differ in their bits
        hashes = _hash_array(values.view(np.uint64))
    else:
        if pa.types.is_date32(kind):
            column = column.cast(pa.int32())
        hashes = _hash_array(pc.fill_null(column.cast(pa.int64()), 0).to_numpy())
    return np.where(column.is_null().to_numpy(), NULL, hashes) if column.null_count else hashes


def hashes_of_several(columns: Sequence[pa.ChunkedArray], rows: int) -> np.ndarray:
    """One hash per row of several columns, the same on every machine and in every process."""
    mixed = np.zeros(rows, np.uint64)
    for column in columns:
        mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + key_hashes(column)
    return mixed


def shards_of(table: pa.Table, keys: Sequence[str], shards: int) -> np.ndarray:
    """The shard of each row: a hash of its key."""
    mixed = hashes_of_several([table[name] for name in keys], table.num_rows)
    return (mixed >> np.uint64(32)) % np.uint64(shards)


def _hash_array(values: np.ndarray) -> np.ndarray:
    # Imported here: pandas takes longer to load than a small query to run.
    from pandas.util import hash_array

    hashes: np.ndarray = hash_array(values, categorize=False)
    return hashes


def _text_hashes(column: pa.ChunkedArray) -> np.ndarray:
    encoded = pa.concat_arrays(column.chunks or [pa.array([], column.type)]).dictionary_encode()
    texts = _hash_array(encoded.dictionary.to_numpy(zero_copy_only=False))
    codes = pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False)
    return texts[codes] if len(texts) else np.zeros(len(codes), np.uint64)


def _canonical(value: Any, kind: pa.DataType) -> Any:
    """An object with one `repr` for all equal values."""
    if value is None:
        return None
    if pa.types.is_floating(kind):
        return "NaN" if value != value else value + 0.0
    if pa.types.is_struct(kind):
        return tuple(_canonical(value[field.name], field.type) for field in kind)
    if pa.types.is_map(kind):
        entries = [(_canonical(k, kind.key_type), _canonical(v, kind.item_type)) for k, v in value]
        return sorted(map(repr, entries))  # a map has no order
    if pa.types.is_list(kind):
        return [_canonical(v, kind.value_type) for v in value]
    return value
