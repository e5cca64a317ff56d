"""SELECT DISTINCT on tiny streams: which rows pass, in one call and across calls."""

from __future__ import annotations

import struct

import pyarrow as pa

from presage.operators.windows.kernel.distinct import DistinctKernel
from presage.operators.windows.kernel.spec import SEQ, TIME


def passing(values: pa.Array) -> list[int]:
    """Positions of the values that pass, when each comes in a call of its own."""
    kernel = DistinctKernel(("v",), ("v",))
    places = pa.array(range(len(values)), pa.int64())
    rows = pa.table({TIME: places, SEQ: places, "v": values})
    state, out = kernel.initial(), []
    for i in range(len(values)):
        state, passed = kernel.step(state, rows.slice(i, 1), i)
        out += passed[SEQ].to_pylist()
    assert state.rows() == len(out)
    whole = kernel.step(kernel.initial(), rows, len(values))[1]
    assert whole[SEQ].to_pylist() == out
    return out


def test_null_is_a_value_like_others() -> None:
    assert passing(pa.array(["a", None, "a", None, ""])) == [0, 1, 4]


def test_all_NaN_are_one_value_and_both_zeros_are_one() -> None:
    other_nan = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000123))[0]
    assert passing(pa.array([float("nan"), other_nan, 0.0, -0.0, None])) == [0, 2, 4]


def test_a_struct_of_nulls_is_not_null() -> None:
    kind = pa.struct([("p", pa.int64())])
    assert passing(pa.array([None, {"p": None}, {"p": 1}, None, {"p": None}], kind)) == [0, 1, 2]


def test_arrays_are_equal_element_by_element() -> None:
    kind = pa.list_(pa.string())
    assert passing(pa.array([["a", "b"], ["ab"], [], None, [None], ["a", "b"], [], ["b", "a"]], kind)) == [
        0,
        1,
        2,
        3,
        4,
        7,
    ]


def test_maps_are_equal_whatever_the_order_of_their_entries() -> None:
    kind = pa.map_(pa.string(), pa.int64())
    assert passing(pa.array([[("a", 1), ("b", 2)], [("b", 2), ("a", 1)], [("a", 2), ("b", 1)], None, []], kind)) == [
        0,
        2,
        3,
        4,
    ]


def test_values_of_a_dictionary_count_not_its_codes() -> None:
    assert passing(pa.array(["a", "b", "a"]).dictionary_encode()) == [0, 1]


def test_without_columns_to_compare_one_row_passes() -> None:
    kernel = DistinctKernel((), ())
    rows = pa.table({TIME: pa.array([1, 2], pa.int64()), SEQ: pa.array([1, 2], pa.int64())})
    state, out = kernel.step(kernel.initial(), rows, 2)
    assert out.to_pylist() == [{TIME: 1, SEQ: 1}]
    assert kernel.step(state, rows, 2)[1].num_rows == 0
