"""Values of merged parts: Spark's null, NaN and overflow, and what a partly covered history is scaled to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from presage.errors import PresageError
from presage.model import types as t
from presage.model.arrow import to_arrow
from presage.model.types import DataType
from presage.operators.recall.finish import finish, scale_factors
from presage.operators.recall.partial import Aggregate, merge_parts, parts_of
from reference.aggregates_in_parts import no_parts


def value(function: str, kind: DataType, values: list[Any], factor: float | None = None) -> Any:
    """Of values that arrive one chunk each."""
    aggregate = Aggregate(function, "v", kind, shown="h.x")
    tables = []
    for i, each in enumerate(values):
        rows = pa.table({"event": ["e"], "t": [i], "seq": [i], "x": pa.array([each], to_arrow(kind))})
        tables.append(parts_of(rows, ("event",), [(aggregate, "x")], "t", "seq"))
    merged = merge_parts(tables, ("event",), [aggregate])
    (row,) = finish(merged, ("event",), [aggregate], None if factor is None else np.array([factor])).to_pylist()
    return row["v"]


# Each of them is what Spark 4 answers.
@pytest.mark.parametrize(
    ("function", "kind", "values", "expected"),
    [
        ("count", t.LONG, [None, None], 0),
        ("count", t.LONG, [1, None], 1),
        ("sum", t.LONG, [None, None], None),
        ("sum", t.LONG, [None, 3], 3),
        ("sum", t.INT, [2**31 - 1, 2**31 - 1], 2**32 - 2),
        ("sum", t.LONG, [2**63 - 1, -1], 2**63 - 2),
        ("sum", t.LONG, [-(2**63)], -(2**63)),
        ("sum", t.DOUBLE, [math.inf, 1.0], math.inf),
        ("sum", t.DOUBLE, [1e308, 1e308], math.inf),
        ("avg", t.LONG, [None], None),
        ("avg", t.LONG, [1, 2, None], 1.5),
        ("avg", t.LONG, [2**63 - 1, 2**63 - 1], 2.0**63),
        ("avg", t.DOUBLE, [None, 0.5], 0.5),
        ("stddev", t.DOUBLE, [None, None], None),
        ("stddev", t.DOUBLE, [7.0, None], None),
        ("stddev", t.LONG, [2, 4, 4, 4, 5, 5, 7, 9], 2.138089935299395),
        ("stddev", t.DOUBLE, [5.0, 5.0], 0.0),
        ("min", t.DOUBLE, [math.nan, 2.0], 2.0),
        ("max", t.DOUBLE, [None, 2.0, math.inf], math.inf),
        ("min", t.STRING, ["b", None, "B"], "B"),
        ("max", t.STRING, ["z", "é"], "é"),
        ("max", t.BOOLEAN, [False, None], False),
        ("min", t.LONG, [None], None),
        ("max", t.LONG, [-(2**63), None], -(2**63)),
        ("min", t.LONG, [2**63 - 1, None], 2**63 - 1),
        ("first", t.LONG, [None, 1], None),
        ("last", t.LONG, [None, 1], 1),
    ],
)
def test_values_are_those_of_spark(function: str, kind: DataType, values: list[Any], expected: Any):
    found = value(function, kind, values)
    assert type(found) is type(expected)
    assert found == (pytest.approx(expected) if isinstance(expected, float) else expected)


@pytest.mark.parametrize(
    ("function", "values"),
    [
        ("max", [1.0, math.nan, math.inf]),
        ("min", [math.nan, None]),
        ("sum", [math.inf, -math.inf]),
        ("avg", [math.nan, 1.0]),
        ("stddev", [math.inf, 1.0]),
        ("stddev", [1.0, math.nan]),
        ("stddev", [math.inf, math.inf]),
    ],
)
def test_nan_where_spark_has_nan(function: str, values: list[Any]):
    assert math.isnan(value(function, t.DOUBLE, values))


@pytest.mark.parametrize("values", [[2**63 - 1, 1], [-(2**63), -1], [2**62] * 4])
def test_a_sum_that_leaves_the_range_of_long_is_an_error(values: list[int]):
    with pytest.raises(PresageError, match=r"sum\(h.x\) exceeds the range of LONG") as caught:
        value("sum", t.LONG, values)
    assert caught.value.code == "ARITHMETIC_OVERFLOW"


def test_a_sum_that_leaves_the_range_only_on_the_way_is_none():
    # In which order chunks are merged must not decide.
    assert value("sum", t.LONG, [2**63 - 1, 1, -1]) == 2**63 - 1


def test_an_event_without_history_has_a_count_of_zero_and_nothing_else():
    aggregates = [Aggregate("count", "c"), *(Aggregate(f, f, t.LONG) for f in ("sum", "avg", "stddev", "max", "last"))]
    none = no_parts(pa.table({"event": ["e"]}), aggregates)
    (row,) = finish(none, ("event",), aggregates, np.array([2.0])).to_pylist()
    assert row == {"event": "e", "c": 0, "sum": None, "avg": None, "stddev": None, "max": None, "last": None}


# -- extrapolation -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "kind", "values", "factor", "expected"),
    [
        ("count", t.STRING, ["a", "b", None], 7.0, 14),
        ("count", t.LONG, [1], 1.6, 2),
        ("count", t.LONG, [1], 2.5, 2),
        ("sum", t.LONG, [10, 5], 1.25, 19),
        ("sum", t.LONG, [-10], 1.26, -13),
        ("sum", t.DOUBLE, [10.0, 5.0], 1.25, 18.75),
        ("sum", t.LONG, [None], 3.0, None),
        ("sum", t.LONG, [2**53 + 1], 1.0, 2**53 + 1),
        ("avg", t.LONG, [10, 5], 7.0, 7.5),
        ("stddev", t.LONG, [1, 3], 7.0, math.sqrt(2)),
        ("min", t.LONG, [10, 5], 7.0, 5),
        ("last", t.LONG, [10, 5], 7.0, 5),
    ],
)
def test_counts_and_sums_are_scaled_and_keep_their_types(function, kind, values, factor, expected):
    found = value(function, kind, values, factor)
    assert type(found) is type(expected)
    assert found == expected


def test_each_row_has_a_factor_of_its_own():
    count = Aggregate("count", "c")
    parts = pa.table({"event": ["a", "b"], "c.count": [10, 10]})
    assert finish(parts, ("event",), [count], np.array([1.0, 3.0])).to_pydict()["c"] == [10, 30]


def test_an_estimate_that_leaves_the_range_of_long_is_an_error():
    assert value("sum", t.LONG, [2**61], 3.9) > 2**62
    with pytest.raises(PresageError, match=r"sum\(h.x\) exceeds"):
        value("sum", t.LONG, [2**61], 4.0)
    with pytest.raises(PresageError, match=r"sum\(h.x\) exceeds"):
        value("sum", t.LONG, [-(2**61)], 8.0)


def test_factors_are_one_where_all_or_nothing_is_covered():
    requested, covered = np.array([28, 28, 28, 28]), np.array([7, 28, 0, 30])
    assert scale_factors(requested, covered).tolist() == [4.0, 1.0, 1.0, 1.0]
