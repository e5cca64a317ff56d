"""Hash buckets of key values, by which old files are divided. Bucket numbers are part of the format on disk."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from presage.model.time import to_micros
from presage.storage.chunks import bucket_of
from presage.storage.delta import LiveFile
from presage.storage.staging import spelled

MOST_KEYS = 1_000  # queries with more combinations of key values are not pruned by bucket


def hashes(columns: Sequence[pa.ChunkedArray | pa.Array]) -> np.ndarray:
    """A 32-bit hash of each row, as uint64. O(rows), and one Python call per distinct value."""
    total = np.zeros(len(columns[0]) if columns else 0, np.uint64)
    for column in columns:
        whole = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
        chunks = whole.dictionary_encode().unify_dictionaries().chunks
        if chunks:
            # Nulls have the index -1: the last hash.
            of_values = np.array([*map(_hash, chunks[0].dictionary.to_pylist()), _hash(None)], np.uint64)
            parts = [of_values[chunk.indices.fill_null(-1).to_numpy()] for chunk in chunks]
            total = (total * np.uint64(0x01000193) + np.concatenate(parts)) & np.uint64(0xFFFFFFFF)
    return total


def buckets(columns: Sequence[pa.ChunkedArray | pa.Array], count: int) -> np.ndarray:
    # The low bits of a CRC of short texts are uniform enough for 16 buckets.
    return hashes(columns) % np.uint64(count)


def _hash(value: Any) -> int:
    """Values that queries treat as equal have equal hashes: 0.0 and -0.0, and all NaNs."""
    if value is None:
        return 0
    if isinstance(value, bool):
        data = b"b1" if value else b"b0"
    elif isinstance(value, int):
        data = b"i%d" % value
    elif isinstance(value, float):
        data = b"f" + (b"nan" if value != value else struct.pack(">d", value + 0.0))
    elif isinstance(value, datetime):
        data = b"t%d" % to_micros(value)
    else:
        data = b"s" + str(value).encode()
    return zlib.crc32(data)


def keys_of(schema: pa.Schema, key: Sequence[str]) -> tuple[str, ...]:
    """The key columns by which files are bucketed: those that are not nested."""
    return tuple(name for name in key if not pa.types.is_nested(schema.field(name).type))


class KeyFilter:
    """Which files may hold rows with one of the given values in each of the given columns."""

    def __init__(self, values: Mapping[str, Collection[Any]], key: Sequence[str], schema: pa.Schema) -> None:
        self._bounds: dict[str, list[Any]] = {}
        arrays: dict[str, pa.Array] = {}
        for name, wanted in values.items():
            try:
                arrays[name] = pa.array(list(wanted), schema.field(name).type)
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                continue  # the column cannot hold these values: the filter on rows decides
            items = [spelled(item) for item in arrays[name].to_pylist()]
            if None not in items:
                self._bounds[name] = items
        columns = keys_of(schema, key)
        self._hashes: np.ndarray | None = None
        combinations = np.prod([float(len(arrays[name])) for name in columns if name in arrays])
        if columns and all(name in arrays for name in columns) and combinations <= MOST_KEYS:
            rows = list(product(*(arrays[name].to_pylist() for name in columns)))
            self._hashes = hashes([pa.array([r[i] for r in rows], arrays[n].type) for i, n in enumerate(columns)])

    def excludes(self, file: LiveFile) -> bool:
        for name, values in self._bounds.items():
            low, high = file.low.get(name), file.high.get(name)
            if all((low is not None and v < low) or (high is not None and v > high) for v in values):
                return True
        bucket = bucket_of(file.name)
        if bucket is None or self._hashes is None:
            return False
        number, count = bucket
        return count > 1 and not bool((self._hashes % np.uint64(count) == number).any())
