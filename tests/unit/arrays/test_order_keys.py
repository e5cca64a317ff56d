"""Integers that compare as the values of a column do, and the values back from them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from presage.arrays.order_keys import GREATEST, keys_of
from presage.errors import PresageError

ASCENDING: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int32(), [-(2**31), -1, 0, 7]),
    (pa.float64(), [-np.inf, -1.5, 0.0, 2.0, np.inf, np.nan]),
    (pa.string(), ["", "A", "a", "ab", "é"]),
    (pa.bool_(), [False, True]),
    (pa.date32(), [dt.date(1969, 12, 31), dt.date(2024, 2, 29)]),
    (pa.timestamp("us"), [dt.datetime(1969, 1, 1), dt.datetime(2024, 1, 1)]),
]


@pytest.mark.parametrize(("kind", "values"), ASCENDING, ids=lambda x: str(x) if isinstance(x, pa.DataType) else "")
def test_keys_ascend_as_the_values_do_and_lead_back_to_them(kind: pa.DataType, values: list[Any]) -> None:
    column = pa.array([*reversed(values), None], kind)
    found = keys_of(column, "max")
    assert np.all(np.diff(found.keys[:-1]) < 0)
    assert found.keys[-1] == GREATEST
    back = found.restore(found.keys, np.array([True] * len(values) + [False]))
    assert back.type == kind
    assert repr(back.to_pylist()) == repr(column.to_pylist())


def test_both_zeros_are_one_value_and_so_is_every_nan() -> None:
    other_nan = np.array([0xFFF8000000000001], np.uint64).view(np.float64)[0]
    keys = keys_of(pa.array([0.0, -0.0, np.nan, other_nan]), "max").keys
    assert keys[0] == keys[1]
    assert keys[2] == keys[3]


def test_values_without_an_order_are_refused_by_what_compares_them() -> None:
    with pytest.raises(PresageError, match=r"max\(x\)"):
        keys_of(pa.array([[1]]), "max(x)")
