"""Readings as arrays of the loops: numbers of symbols, or values.

A null is no reading. A reading that no state can give (an unknown symbol, a number that is not finite) is ignored, too,
and counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.columns import Values, column
from presage.arrays.jit import Bools, Floats, Ints
from presage.errors import error
from presage.operators.sequence.kernel.hidden_markov.spec import HiddenMarkov

SPELLED = {"true": True, "false": False}


class Readings(NamedTuple):
    """By row: its symbol (-1: none) or its values (NaN: none; `codes` is -1 if all are), and whether it is ignored."""

    codes: Ints
    values: Floats
    ignored: Bools


def readings_of(model: HiddenMarkov, table: pa.Table, observes: tuple[str, ...]) -> Readings:
    if model.is_gaussian:
        return _numbers(table, observes)
    return _symbols(model, column(table, observes[0]))


def _numbers(table: pa.Table, observes: tuple[str, ...]) -> Readings:
    values = np.empty((table.num_rows, len(observes)))
    ignored = np.zeros(table.num_rows, np.bool_)
    for j, name in enumerate(observes):
        array = column(table, name)
        if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type) or pa.types.is_null(array.type)):
            what = f"the attribute '{name}', read by a model with normal distributions,"
            raise error("TYPE_MISMATCH", what=what, expected="numbers", found=array.type, fix="observe a number")
        numbers = Values(array)
        valid = np.ones(len(array), np.bool_) if numbers.valid is None else numbers.valid
        finite = np.isfinite(numbers.floats)
        ignored |= valid & ~finite
        values[:, j] = np.where(valid & finite, numbers.floats, np.nan)
    # One attribute that is not finite makes the whole reading unreliable.
    values[ignored] = np.nan
    return Readings(np.where(np.isnan(values).all(axis=1), -1, 0), values, ignored)


def _symbols(model: HiddenMarkov, array: pa.Array) -> Readings:
    possible = np.flatnonzero(model.table.max(axis=1) > 0.0)
    values = [_spelled(model.symbols[i], array.type) for i in possible]
    known = [(i, value) for i, value in zip(possible, values, strict=True) if value is not None]
    found = pc.index_in(array, value_set=pa.array([value for _, value in known], array.type))
    places = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    codes = np.append(np.array([i for i, _ in known], np.int64), -1)[places]
    ignored = (codes < 0) & array.is_valid().to_numpy(zero_copy_only=False)
    return Readings(codes, np.zeros((0, 1)), ignored)


def _spelled(symbol: str, kind: pa.DataType) -> object:
    """A symbol of the model file as a value of the column's type; None if it is not one."""
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return symbol
    if pa.types.is_boolean(kind):
        return SPELLED.get(symbol.lower())
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    try:
        number = float(symbol)
    except ValueError:
        return None
    if pa.types.is_floating(kind):
        return number
    if not number.is_integer() or abs(number) >= 2 ** (kind.bit_width - 1):
        return None
    return int(symbol) if symbol.lstrip("+-").isdigit() else int(number)
