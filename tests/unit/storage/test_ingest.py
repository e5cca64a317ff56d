"""What a value must be to fit a declared type, given as dicts, as pandas and as Arrow."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from presage.errors import DataError
from presage.model.catalog import Attribute
from presage.model.json_values import plain_column
from presage.model.types import (
    BOOLEAN,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    ArrayOf,
    DataType,
    MapOf,
    StructOf,
)
from presage.storage.ingest import Checked, check
from presage.storage.value_coercion import Mismatch, coerce_value, parse_text

DAY = 1_704_067_200_000_000  # 2024-01-01
ROOM = StructOf((("room", STRING), ("floor", INT)))


def check_one(value: Any, wanted: DataType) -> Any:
    return coerce_value(value, wanted, "a", Counter())


@pytest.mark.parametrize(
    ("value", "wanted", "result"),
    [
        (3, INT, 3),
        (3.0, INT, 3),
        (Decimal("3.00"), LONG, 3),
        (2**31 - 1, INT, 2**31 - 1),
        (-(2**63), LONG, -(2**63)),
        (3, DOUBLE, 3.0),
        (2**60, DOUBLE, float(2**60)),
        (np.int16(3), DOUBLE, 3.0),
        (np.float32(0.5), DOUBLE, 0.5),
        ("x", STRING, "x"),
        (True, BOOLEAN, True),
        (np.bool_(False), BOOLEAN, False),
        ("2024-01-01", TIMESTAMP, DAY),
        ("2024-01-01T02:00:00+02:00", TIMESTAMP, DAY),
        ("2024-01-01T00:00:00.0000019Z", TIMESTAMP, DAY + 1),
        (datetime(2024, 1, 1), TIMESTAMP, DAY),
        (datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), TIMESTAMP, DAY),
        (date(2024, 1, 1), TIMESTAMP, DAY),
        (pd.Timestamp("2024-01-01T00:00:00.000001999"), TIMESTAMP, DAY + 1),
        (pd.Timestamp("1969-12-31T23:59:59.999999999"), TIMESTAMP, -1),
        (np.datetime64("2024-01-01T00:00:00.000001999", "ns"), TIMESTAMP, DAY + 1),
        (pd.NaT, TIMESTAMP, None),
        (pd.NA, INT, None),
        (None, ROOM, None),
        ([1, 2.0, None], ArrayOf(INT), [1, 2, None]),
        (np.array([1, 2]), ArrayOf(LONG), [1, 2]),
        ({"room": "r", "floor": 2}, ROOM, {"room": "r", "floor": 2}),
        ({"room": "r"}, ROOM, {"room": "r", "floor": None}),
        ({"k": 1}, MapOf(STRING, INT), [("k", 1)]),
        ({"1": "one"}, MapOf(INT, STRING), [(1, "one")]),
        ([("k", 1)], MapOf(STRING, INT), [("k", 1)]),
        ([[{"room": "r"}]], ArrayOf(ArrayOf(ROOM)), [[{"room": "r", "floor": None}]]),
        ("-Infinity", DOUBLE, -math.inf),
    ],
)
def test_a_value_that_the_type_holds_exactly_fits(value: Any, wanted: DataType, result: Any) -> None:
    assert check_one(value, wanted) == result


@pytest.mark.parametrize(
    ("value", "wanted", "reason"),
    [
        (3.5, INT, "attribute 'a' needs INT, found 3.5 (it is not a whole number)"),
        (2**31, INT, "attribute 'a' needs INT, found 2147483648 (it is out of range)"),
        (float("nan"), LONG, "attribute 'a' needs LONG, found NaN (it is not a whole number)"),
        (float("inf"), INT, "attribute 'a' needs INT, found Infinity (it is not a whole number)"),
        (True, INT, "attribute 'a' needs INT, found true"),
        ("3", INT, "attribute 'a' needs INT, found \"3\""),
        (True, DOUBLE, "attribute 'a' needs DOUBLE, found true"),
        ("1.5", DOUBLE, "attribute 'a' needs DOUBLE, found \"1.5\""),
        (2**53 + 1, DOUBLE, "attribute 'a' needs DOUBLE, found 9007199254740993 (a DOUBLE cannot hold it exactly)"),
        (10**400, DOUBLE, "(a DOUBLE cannot hold it exactly)"),
        pytest.param(10**5000, LONG, "found a int that cannot be shown (it is out of range)", id="thousands of digits"),
        (Decimal("0.1"), DOUBLE, "(a DOUBLE cannot hold it exactly)"),
        (3, STRING, "attribute 'a' needs STRING, found 3"),
        (b"x", STRING, "attribute 'a' needs STRING"),
        pytest.param("\ud800", STRING, "half of a surrogate pair", id="surrogate"),
        (1, BOOLEAN, "attribute 'a' needs BOOLEAN, found 1"),
        (1_704_067_200, TIMESTAMP, "found 1704067200 (give a datetime or an ISO 8601 text)"),
        ("yesterday", TIMESTAMP, 'found "yesterday" (it is not an ISO 8601 timestamp)'),
        ("2024-02-30", TIMESTAMP, "it is not an ISO 8601 timestamp"),
        ("2024-01-01T00:00+99:00", TIMESTAMP, "it is not an ISO 8601 timestamp"),
        ("0001-01-01T00:00+05:00", TIMESTAMP, "it is outside the years 1 to 9999"),
        ("abc", ArrayOf(STRING), "attribute 'a' needs ARRAY<STRING>"),
        ([1, "x"], ArrayOf(INT), "attribute 'a[1]' needs INT, found \"x\""),
        ({"floor": "up"}, ROOM, "attribute 'a.floor' needs INT"),
        ([1], ROOM, "attribute 'a' needs STRUCT<room STRING, floor INT>"),
        ([("k", 1), ("k", 2)], MapOf(STRING, INT), 'the key "k" comes twice'),
        ([(None, 1)], MapOf(STRING, INT), "a key is null"),
        ({"k": "x"}, MapOf(STRING, INT), "attribute 'a[\"k\"]' needs INT"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_type_and_value(value: Any, wanted: DataType, reason: str) -> None:
    with pytest.raises(Mismatch) as refused:
        check_one(value, wanted)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("text", "wanted", "result"),
    [
        (" 7 ", INT, 7),
        ("+7", LONG, 7),
        ("7.0", INT, 7),
        ("1e3", DOUBLE, 1000.0),
        (".5", DOUBLE, 0.5),
        ("-Infinity", DOUBLE, -math.inf),
        ("TRUE", BOOLEAN, True),
        (" x ", STRING, " x "),
        ("2024-01-01 00:00", TIMESTAMP, DAY),
        ("[1, 2]", ArrayOf(INT), [1, 2]),
        ('{"room": "r"}', ROOM, {"room": "r", "floor": None}),
    ],
)
def test_a_field_of_a_text_file_is_read_as_its_type(text: str, wanted: DataType, result: Any) -> None:
    assert parse_text(text, wanted, "a", Counter()) == result


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("7.5", INT),
        ("1_000", INT),
        ("9" * 30, LONG),
        pytest.param("9" * 9999, LONG, id="thousands of digits"),
        ("0x10", DOUBLE),
        ("1_0.0", DOUBLE),
        ("yes", BOOLEAN),
        ("12:00", TIMESTAMP),
        ("[1,", ArrayOf(INT)),
        ("['a']", ArrayOf(STRING)),
    ],
)
def test_a_field_that_is_not_its_type_is_refused(text: str, wanted: DataType) -> None:
    with pytest.raises(Mismatch):
        parse_text(text, wanted, "a", Counter())


def column(data: object, wanted: DataType) -> tuple[list[Any], list[str]]:
    checked = check((Attribute("a", wanted),), None, data)
    return checked.table["a"].to_pylist(), checked.rejected.reasons


@pytest.mark.parametrize(
    ("array", "wanted", "values", "rejected"),
    [
        (pa.array([1, None, 3], pa.int8()), LONG, [1, None, 3], 0),
        (pa.array([1, 2**31], pa.int64()), INT, [1], 1),
        (pa.array([1, 2**64 - 1], pa.uint64()), LONG, [1], 1),
        (pa.array([1.0, 2.5, float("nan"), 2.0**63]), LONG, [1], 3),
        (pa.array([-(2.0**63), 2.0**31 - 1]), LONG, [-(2**63), 2**31 - 1], 0),
        (pa.array([2**53, 2**53 + 1, 2**54], pa.int64()), DOUBLE, [float(2**53), float(2**54)], 1),
        (pa.array([0.5], pa.float32()), DOUBLE, [0.5], 0),
        (pa.array([Decimal("1.50"), Decimal("2.00")]), INT, [2], 1),
        (pa.array(["a", None]).dictionary_encode(), STRING, ["a", None], 0),
        (pa.array(["a"], pa.large_string()), STRING, ["a"], 0),
        (pa.array([1, 2]), STRING, [], 2),
        (pa.array([True]), INT, [], 1),
        (pa.nulls(2), ROOM, [None, None], 0),
        (pa.array([b"\xff", b"ok"]).view(pa.string()), STRING, ["ok"], 1),
    ],
)
def test_an_arrow_column_is_judged_as_its_values_are(
    array: pa.Array, wanted: DataType, values: list[Any], rejected: int
) -> None:
    found, reasons = column(pa.table({"a": array}), wanted)
    assert (found, len(reasons)) == (values, rejected)


@pytest.mark.parametrize(
    "array",
    [
        pa.array([DAY // 1_000_000], pa.timestamp("s")),
        pa.array([DAY // 1000], pa.timestamp("ms", "Asia/Tokyo")),
        pa.array([DAY * 1000 + 999], pa.timestamp("ns")),
        pa.array([date(2024, 1, 1)]),
        pa.array([DAY // 1000], pa.date64()),
        pa.array(["2024-01-01T00:00:00Z"]),
        pa.array(["2024-01-01"]).dictionary_encode(),
    ],
)
def test_arrow_times_of_every_unit_become_utc_microseconds(array: pa.Array) -> None:
    assert column(pa.table({"a": array}), TIMESTAMP) == ([datetime(2024, 1, 1, tzinfo=UTC)], [])


def test_times_that_no_calendar_holds_are_rejected() -> None:
    times = pa.array([2**62, 0, -(2**62)], pa.timestamp("us"))
    found, reasons = column(pa.table({"a": times}), TIMESTAMP)
    assert found == [datetime(1970, 1, 1, tzinfo=UTC)]
    assert len(reasons) == 2


def test_text_times_are_mixed_freely() -> None:
    texts = ["2024-01-01", "2024-01-01T00:00:00Z", "2024-01-01 01:00+01", None, "2023-02-29", " 2024-01-01T00:00 "]
    found, reasons = column(pa.table({"a": texts}), TIMESTAMP)
    first = datetime(2024, 1, 1, tzinfo=UTC)
    assert found == [first, first, first, None, first]
    assert len(reasons) == 1


def test_nan_stays_nan_in_a_double_from_python_and_pandas() -> None:
    for data in ([{"a": float("nan")}, {"a": None}], pd.DataFrame({"a": [float("nan"), None]}, dtype=object)):
        found, _ = column(data, DOUBLE)
        assert math.isnan(found[0])
        assert found[1] is None
    found, _ = column(pd.DataFrame({"a": [1.5, float("nan")]}), DOUBLE)
    assert math.isnan(found[1])


def test_what_json_has_no_number_for_is_read_as_it_is_written() -> None:
    written = plain_column(pa.chunked_array([[math.nan, math.inf, -math.inf, 1.5]]))
    values, refused = column([{"a": value} for value in written], DOUBLE)
    assert refused == []
    assert math.isnan(values[0])
    assert values[1:] == [math.inf, -math.inf, 1.5]


def test_nan_in_pandas_is_null_where_it_cannot_be_a_value() -> None:
    nan = float("nan")
    assert column(pd.DataFrame({"a": [3.0, nan]}), INT) == ([3, None], [])
    assert column(pd.DataFrame({"a": ["x", nan, None]}), STRING) == (["x", None, None], [])
    assert column(pd.DataFrame({"a": [True, nan]}), BOOLEAN) == ([True, None], [])
    times = pd.DataFrame({"a": pd.to_datetime(["2024-01-01", None])})
    assert column(times, TIMESTAMP) == ([datetime(2024, 1, 1, tzinfo=UTC), None], [])


@pytest.mark.parametrize(
    ("series", "wanted", "values"),
    [
        (pd.Series([1, None], dtype="Int64"), LONG, [1, None]),
        (pd.Series(["x", None], dtype="string"), STRING, ["x", None]),
        (pd.Series(["x", "y", "x"], dtype="category"), STRING, ["x", "y", "x"]),
        (pd.Series([1.5, None], dtype="Float64"), DOUBLE, [1.5, None]),
        (pd.Series(pd.to_datetime(["2024-01-01T09:00+09:00"])), TIMESTAMP, [datetime(2024, 1, 1, tzinfo=UTC)]),
        (pd.Series([[1, 2], None]), ArrayOf(INT), [[1, 2], None]),
        (pd.Series([np.array(["x"])]), ArrayOf(STRING), [["x"]]),
    ],
)
def test_columns_of_pandas_own_types_are_taken(series: pd.Series, wanted: DataType, values: list[Any]) -> None:
    assert column(pd.DataFrame({"a": series}), wanted) == (values, [])


def test_a_row_that_is_no_mapping_is_rejected_alone() -> None:
    found, reasons = column([{"a": 1}, 5, {"a": 2}], INT)
    assert found == [1, 2]
    assert reasons == ["a row must be a mapping from attributes to values, found 5"]


def test_a_generator_of_rows_is_taken() -> None:
    assert column(({"a": i} for i in range(3)), INT) == ([0, 1, 2], [])


def test_a_table_without_columns_has_the_rows_that_it_says() -> None:
    some = pa.table({"a": [1, 2, 3]}).select([])
    assert check((Attribute("a", INT),), None, some, "rows").table["a"].to_pylist() == [None] * 3


@pytest.mark.parametrize("data", ["rows", b"rows", {"a": [1]}, 5, None])
def test_what_is_no_table_is_refused_whole(data: object) -> None:
    with pytest.raises(DataError, match="found") as refused:
        check((Attribute("a", INT),), None, data, "rows for stream 'S'")
    assert refused.value.code == "DATA_SHAPE"


def test_a_column_that_comes_twice_is_refused() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(DataError, match="'a' comes twice"):
        column(table, INT)


def test_fields_that_a_struct_does_not_have_are_counted_by_their_path() -> None:
    checked = check((Attribute("w", ROOM),), None, [{"w": {"room": "r", "roof": 1}}, {"w": {"roof": None}}])
    assert checked.ignored == {"w.roof": 1}
    assert checked.table.num_rows == 2


def test_the_first_attribute_that_does_not_fit_gives_the_reason() -> None:
    attributes = (Attribute("a", INT), Attribute("b", INT))
    checked = check(attributes, None, [{"b": "x", "a": "y"}])
    assert "'a'" in checked.rejected.reasons[0]


def test_values_that_cannot_be_stored_are_shown_with_replacements() -> None:
    checked = check((Attribute("a", TIMESTAMP),), "a", [{"a": "\ud800"}])
    texts = pa.array([*checked.rejected.reasons, *checked.rejected.raws], pa.string())
    assert all("?" in text for text in texts.to_pylist())


def test_checked_rows_pass_through() -> None:
    checked = Checked(pa.table({"a": [1]}))
    assert check((Attribute("a", INT),), None, checked) is checked
