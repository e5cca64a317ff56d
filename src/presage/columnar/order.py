"""Comparison of vectors of an orderable type: SQL's null logic, NaN equal to itself and greatest.

Inside arrays and structs NULL equals NULL and is least, as in Spark. -0.0 equals 0.0 everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.columnar.vectors import (
    Cells,
    Flat,
    Ints,
    Numbers,
    Vector,
    both_valid,
    flat_from_arrow,
    is_flat,
    slots_of,
    to_cells,
    validity,
)
from presage.model import types as t
from presage.model.types import DataType, DecimalOf

Compare = Callable[..., Flat]

COMPARE: dict[str, np.ufunc] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_ARROW: dict[str, Callable[..., pa.Array]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
# Computed as the negated opposite: IEEE compares NaN as false, so the negation treats NaN as greatest.
_BY_OPPOSITE = {">": np.less_equal, ">=": np.less, "<>": np.equal}


def compare(op: str, data_type: DataType) -> Compare:
    """`= <> < <= > >=` on operands of this type."""
    if data_type == t.DOUBLE:
        return lambda a, b: _doubles(op, a, b)
    if is_flat(data_type):
        return _flat(COMPARE[op])
    if data_type in (t.STRING, t.BYTES) or isinstance(data_type, DecimalOf):
        return _cells(_ARROW[op])
    if data_type == t.NULL:
        return lambda a, b: Flat(np.zeros(1, np.bool_), np.zeros(1, np.bool_))
    return lambda a, b: _nested(COMPARE[op], a, b, data_type)


def _flat(operator: np.ufunc) -> Compare:
    def run(a: Flat, b: Flat) -> Flat:
        return Flat(operator(a.values, b.values), both_valid(a.valid, b.valid))

    return run


def _doubles(op: str, a: Flat, b: Flat) -> Flat:
    return Flat(compare_doubles(op, a.values, b.values), both_valid(a.valid, b.valid))


def compare_with_numbers(op: str, x: Numbers, y: Numbers) -> Any:
    """One comparison is enough where `y` has no NaN."""
    return ~_BY_OPPOSITE[op](x, y) if op in _BY_OPPOSITE else COMPARE[op](x, y)


def compare_doubles(op: str, x: Numbers, y: Numbers) -> Any:
    if len(x) == 1 and len(y) != 1:
        op, x, y = _MIRRORED[op], y, x
    if len(y) == 1 and y[0] == y[0]:
        return compare_with_numbers(op, x, y)
    match op:
        case "=":
            return (x == y) | ((x != x) & (y != y))
        case "<>":
            return (x != y) & ((x == x) | (y == y))
        case "<":
            return (x < y) | ((x == x) & (y != y))
        case "<=":
            return (x <= y) | (y != y)
        case ">":
            return (x > y) | ((y == y) & (x != x))
    return (x >= y) | (x != x)


def broadcast(a: Cells, b: Cells) -> tuple[pa.Array | pa.Scalar, pa.Array | pa.Scalar]:
    """The two as arguments of a function of Arrow: a single value as a scalar, but never both."""
    if len(a) == len(b):
        return a.array, b.array
    return (a.scalar if len(a) == 1 else a.array), (b.scalar if len(b) == 1 else b.array)


def _cells(operator: Callable[..., pa.Array]) -> Compare:
    def run(a: Cells, b: Cells) -> Flat:
        return flat_from_arrow(operator(*broadcast(a, b)))

    return run


def _nested(operator: np.ufunc, a: Vector, b: Vector, data_type: DataType) -> Flat:
    left, right = to_cells(a, data_type), to_cells(b, data_type)
    ranks = order_ranks(pa.concat_arrays([left, right]))
    return Flat(operator(ranks[: len(left)], ranks[len(left) :]), both_valid(a.valid, b.valid))


# -- ranks ----------------------------------------------------------------------------------------------


def order_ranks(array: pa.Array) -> Ints:
    """A rank for each value, in the order of the values. NULL is -1."""
    kind = array.type
    if pa.types.is_null(kind):
        return np.full(len(array), -1, np.int64)
    if pa.types.is_struct(kind):
        ranks = _row_ranks([order_ranks(field) for field in array.flatten()], len(array))
    elif pa.types.is_list(kind):
        ranks = _list_ranks(array)
    elif any(
        test(kind) for test in (pa.types.is_string, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_decimal)
    ):
        ranks = _text_ranks(array)
    else:
        # np.unique treats NaN as equal to itself and greatest.
        ranks = np.unique(flat_from_arrow(array).values, return_inverse=True)[1]
    valid = validity(array)
    return ranks if valid is None else np.where(valid, ranks, -1)


def _text_ranks(array: pa.Array) -> Ints:
    encoded = array.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    indices = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    return places[indices] if len(order) else np.full(len(array), -1, np.int64)


def _row_ranks(columns: list[Ints], rows: int) -> Ints:
    """Ranks of tuples, by the first column first."""
    ranks = np.zeros(rows, np.int64)
    for column in columns:
        ranks = np.unique(ranks * (int(column.max(initial=0)) + 2) + column + 1, return_inverse=True)[1]
    return ranks


def _list_ranks(array: pa.Array) -> Ints:
    """Encodes a list as the ranks of its elements, high byte first: such byte strings compare as the lists do."""
    starts, sizes, _ = slots_of(array)
    ends = np.cumsum(sizes)
    places = np.repeat(starts - ends + sizes, sizes) + np.arange(int(sizes.sum()))
    elements = order_ranks(array.values)[places] + 1
    offsets = np.concatenate((np.zeros(1, np.int64), ends * 8))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(elements.astype(">u8"))]
    return _text_ranks(pa.Array.from_buffers(pa.large_binary(), len(array), buffers))
