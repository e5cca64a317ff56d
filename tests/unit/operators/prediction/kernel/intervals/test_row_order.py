"""The order of rows, against Arrow's sort of a whole table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from presage.operators.prediction.kernel.intervals.row_order import SHORT, row_order

KINDS = {
    "numbers": pa.array([5, -3, 2, 9, 7], pa.int32()),
    "numbers and null": pa.array([5, None, 2, 9, 7]),
    "texts and null": pa.array(["b", "a", None, "", "é"]),
    "floats": pa.array([0.5, float("nan"), -1.0, None, 0.25]),
    "texts of a dictionary": pa.array(["z", "m", None, "a", "z"]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("moments", [1, 40, 4000])
def test_rows_come_in_the_order_of_a_sort_of_all_columns(kind: str, moments: int) -> None:
    random = np.random.default_rng(moments)
    n = 400
    assert n / 1 > SHORT
    end, start = random.integers(0, moments, n), random.integers(0, 3, n)
    values = KINDS[kind]
    one, other = (pa.chunked_array([values.take(pa.array(random.integers(0, 5, m))) for m in (150, 250)]) for _ in "ab")
    plain = [c.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else c for c in (one, other)]
    table = pa.table({"end": end, "a": plain[0], "b": plain[1], "start": start, "row": np.arange(n)})
    expected = table.sort_by([(name, "ascending") for name in table.column_names])["row"].to_pylist()
    assert row_order(end, [one, other], start).tolist() == expected


def test_no_rows_have_no_order() -> None:
    none = np.empty(0, np.int64)
    assert row_order(none, [pa.chunked_array([], pa.string())], none).tolist() == []
