"""Row functions over vectors: the function is called once for each distinct tuple of arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from presage.columnar.cancellation import check_cancelled
from presage.columnar.vectors import Bools, Ints, Vector, both_valid, from_arrow, nothing, take, to_cells
from presage.model import types as t
from presage.model.arrow import to_arrow
from presage.model.types import DataType


def per_distinct(function: Callable[..., Any], types: tuple[DataType, ...], result: DataType) -> Callable[..., Vector]:
    """NULL for a NULL argument, and where the function returns None. A TIMESTAMP is passed as microseconds, a DATE as
    days."""
    arrow = to_arrow(result)

    def run(*args: Vector) -> Vector:
        valid: Bools | None = None
        tables: list[list[Any]] = []
        places: list[Ints] = []
        codes: Ints | None = None
        for arg, data_type in zip(args, types, strict=True):
            valid = both_valid(valid, arg.valid)
            values, place = _encoded(arg, data_type)
            if len(arg) == 1 and not values:
                return nothing(result)
            tables.append(values)
            places.append(place)
            if len(arg) != 1:
                codes = place if codes is None else _dense(codes) * max(len(values), 1) + place
        if codes is None:
            return from_arrow(pa.array([function(*[values[0] for values in tables])], arrow), result)
        if valid is not None:
            codes = np.where(valid, codes, -1)
        distinct, rows, inverse = np.unique(codes, return_index=True, return_inverse=True)
        # The arguments of each distinct tuple are those of its first row.
        picked = []
        for values, place in zip(tables, places, strict=True):
            first = place[rows] if len(place) != 1 else np.zeros_like(rows)
            picked.append([values[i] for i in first] if values else [None] * len(rows))
        found: list[Any] = []
        for code, *tup in zip(distinct, *picked, strict=True):
            check_cancelled()
            found.append(None if code < 0 else function(*tup))
        return take(from_arrow(pa.array(found, arrow), result), inverse)

    return run


def _encoded(vector: Vector, data_type: DataType) -> tuple[list[Any], Ints]:
    array = to_cells(vector, data_type)
    if data_type in (t.TIMESTAMP, t.DATE):
        array = array.view(pa.int64() if data_type == t.TIMESTAMP else pa.int32())
    encoded = array.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)


def _dense(codes: Ints) -> Ints:
    """Renumbered from 0, so that products of many codes stay small."""
    return np.unique(codes, return_inverse=True)[1]
