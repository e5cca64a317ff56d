"""The columns that programs read, encoded as numbers.

Truth values become 0 and 1, times microseconds, texts their rank among all texts of the text columns and of the
programs. Ranks compare as the bytes of the texts do. They hold for this one table only. Decimals
and bytes have ranks, too, as texts in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.columns import plain
from presage.arrays.decimals import order_texts
from presage.arrays.jit import Bools, Floats, Ints
from presage.arrays.programs.code import FLOAT, TEXT, Code


@dataclass
class Encoded:
    """Writable, contiguous. `ints` and `int_valid` have one line for each column of integers or texts, in the order
    of `Code.columns`; `floats` and `float_valid` one for each column of doubles. A null has the value 0.
    `texts` are the ranks of `Code.texts`."""

    ints: Ints
    int_valid: Bools
    floats: Floats
    float_valid: Bools
    texts: Ints


def encode(table: pa.Table, code: Code) -> Encoded:
    """A column that the table does not have is all null."""
    rows = table.num_rows
    whole = [(name, bank) for name, bank in code.columns if bank != FLOAT]
    doubles = [name for name, bank in code.columns if bank == FLOAT]
    encoded = Encoded(
        np.zeros((len(whole), rows), np.int64),
        np.zeros((len(whole), rows), np.bool_),
        np.zeros((len(doubles), rows), np.float64),
        np.zeros((len(doubles), rows), np.bool_),
        np.zeros(len(code.texts), np.int64),
    )
    present = frozenset(table.column_names)
    texts: list[tuple[int, pa.ChunkedArray]] = []
    for k, (name, bank) in enumerate(whole):
        if name not in present or pa.types.is_null(table.column(name).type):
            continue
        if bank == TEXT:
            texts.append((k, table.column(name)))
        else:
            _fill(encoded.ints[k], encoded.int_valid[k], _whole(plain(table.column(name))))
    for k, name in enumerate(doubles):
        if name in present and not pa.types.is_null(table.column(name).type):
            _fill(encoded.floats[k], encoded.float_valid[k], plain(table.column(name)).cast(pa.float64(), safe=False))
    if texts or code.texts:
        _rank(encoded, texts, code.texts)
    return encoded


def _whole(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Timestamps as microseconds, dates as days."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32())
    return column


def _fill(values: np.ndarray, valid: Bools, column: pa.ChunkedArray) -> None:
    for start, stop, chunk in _placed(column):
        if chunk.null_count:
            valid[start:stop] = chunk.is_valid().to_numpy(zero_copy_only=False)
            chunk = chunk.fill_null(False if pa.types.is_boolean(chunk.type) else 0)
        else:
            valid[start:stop] = True
        values[start:stop] = chunk.to_numpy(zero_copy_only=False)


def _placed(column: pa.ChunkedArray) -> Iterator[tuple[int, int, pa.Array]]:
    """The chunks with their ranges of rows."""
    start = 0
    for chunk in column.chunks:
        yield start, start + len(chunk), chunk
        start += len(chunk)


# -- texts ----------------------------------------------------------------------------------------------


def _rank(encoded: Encoded, columns: list[tuple[int, pa.ChunkedArray]], texts: tuple[str, ...]) -> None:
    """Each distinct text is sorted once, however many rows have it."""
    pieces = [(k, start, stop, _coded(chunk)) for k, column in columns for start, stop, chunk in _placed(column)]
    distinct = [_in_order(piece.dictionary) for _, _, _, piece in pieces]
    distinct.append(pa.array(texts, pa.large_string()))
    joined = pa.concat_arrays(distinct).dictionary_encode()
    order = pc.sort_indices(joined.dictionary).to_numpy()
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    # A null in a chunk's own dictionary is a null in `joined`.
    valid_texts = joined.is_valid().to_numpy(zero_copy_only=False)
    numbers = joined.indices.fill_null(0).to_numpy(zero_copy_only=False)
    ranks = np.where(valid_texts, places[numbers], 0) if len(order) else np.zeros(len(joined), np.int64)
    start = 0
    for (k, first, last, piece), own in zip(pieces, distinct, strict=False):
        if len(own):
            indices = piece.indices.fill_null(0).to_numpy(zero_copy_only=False)
            valid = piece.indices.is_valid().to_numpy(zero_copy_only=False) & valid_texts[start:][indices]
            encoded.ints[k, first:last] = np.where(valid, ranks[start:][indices], 0)
            encoded.int_valid[k, first:last] = valid
        start += len(own)
    encoded.texts[:] = ranks[start:]


def _in_order(distinct: pa.Array) -> pa.Array:
    if pa.types.is_decimal(distinct.type) or pa.types.is_binary(distinct.type):
        return order_texts(distinct)
    return distinct.cast(pa.large_string())


def _coded(chunk: pa.Array) -> pa.DictionaryArray:
    return chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
