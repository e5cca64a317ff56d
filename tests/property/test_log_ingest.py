"""The quick way and the careful way of reading rows come to the same rows, reasons and counts."""

from __future__ import annotations

import io
import json
import math
from collections import Counter
from contextlib import suppress
from csv import reader, writer
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from presage.model.arrow import to_arrow
from presage.model.catalog import Attribute
from presage.model.types import (
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    ArrayOf,
    DataType,
    DecimalOf,
    StructOf,
)
from presage.storage import text_csv, text_json
from presage.storage.column_coercion import parse_array
from presage.storage.columns import attributes_schema
from presage.storage.ingest import Checked, check, decide_rest
from presage.storage.text_csv import read_csv, read_csv_carefully, read_header, whole_rows
from presage.storage.text_json import read_json, read_json_carefully
from presage.storage.value_coercion import Mismatch, coerce_value, parse_text

DECIMALS = (DecimalOf(10, 2), DecimalOf(38, 10), DecimalOf(5, 5), DecimalOf(20, 0))
SCALARS = (STRING, INT, LONG, DOUBLE, BOOLEAN, TIMESTAMP, DATE, BYTES, *DECIMALS)
ATTRIBUTES = (
    Attribute("s", STRING),
    Attribute("i", INT),
    Attribute("d", DOUBLE),
    Attribute("b", BOOLEAN),
    Attribute("t", TIMESTAMP),
    Attribute("n", DecimalOf(10, 2)),
    Attribute("y", DATE),
    Attribute("r", BYTES),
)
NESTED = (
    Attribute("t", TIMESTAMP),
    Attribute("a", ArrayOf(STRING)),
    Attribute("w", StructOf((("x", INT), ("y", STRING)))),
)

times = st.sampled_from(
    [
        "2024-01-01",
        "2024-02-30",
        "2024-01-01T00:00",
        "2024-01-01 10:00:00.5",
        "2024-01-01T00:00:00.1234567Z",
        "2024-01-01T00:00:00+01:00",
        "2024-01-01T00:00-0130",
        "2024-01-01T24:00:00",
        "2024-01-01T00:00:60",
        "0000-01-01",
        "0001-01-01T00:00+01",
        "9999-12-31T23:59:59.999999-01",
        "2024-1-1",
        "20240101",
        " 2024-01-01Z",
        "2024-01-01z",
    ]
)
numbers = (
    st.sampled_from(
        [
            "0",
            "-0",
            "007",
            "+5",
            "3.0",
            "3.",
            ".5",
            "1e3",
            "-1E-3",
            "1e999",
            "nan",
            "-inf",
            "2147483648",
            "1" * 19,
            "0x1",
            "12.30",
            "-0.005",
            ".12345",
            "1." + "0" * 30,
            "12345678.90",
        ]
    )
    | st.integers(-(2**64), 2**64).map(str)
    | st.floats().map(str)
)
words = st.text(st.sampled_from("ab ,;'é\t☃"), max_size=5) | st.sampled_from(["true", "FALSE", "null", "[]"])
fields = st.just("") | numbers | times | words


def same(a: Checked, b: Checked) -> None:
    assert repr(a.table.to_pylist()) == repr(b.table.to_pylist())  # repr: NaN equals NaN, 0.0 is not -0.0
    assert a.table.schema == b.table.schema
    assert repr(a.rejected) == repr(b.rejected)  # what remains of a rejected row may hold NaN, too
    assert a.ignored == b.ignored


@given(st.lists(fields, max_size=6), st.sampled_from(SCALARS))
def test_text_columns_are_parsed_as_their_fields_are(texts: list[str], wanted: DataType) -> None:
    array = pa.array(texts, pa.string())
    decided, undecided = parse_array(array, wanted)
    found, reasons = decide_rest(decided, undecided, array, Attribute("a", wanted), Counter(), parse_text)
    expected, expected_reasons = [], {}
    for i, text in enumerate(texts):
        try:
            expected.append(parse_text(text, wanted, "a", Counter()))
        except Mismatch as mismatch:
            expected.append(None)
            expected_reasons[i] = str(mismatch)
    assert repr(found.to_pylist()) == repr(pa.array(expected, to_arrow(wanted)).to_pylist())
    assert reasons == expected_reasons


values = (
    st.none()
    | st.booleans()
    | st.integers(-(2**65), 2**65)
    | st.floats()
    | st.sampled_from([2**53, 2**53 + 1, -(2**63), 2**63, 2.0**63, -0.0, Decimal("1.5"), Decimal(2)])
    | st.decimals(allow_nan=False, allow_infinity=False, places=2)
    | st.binary(max_size=3)
    | times
    | st.datetimes()
    | st.dates()
)


@given(st.lists(values, max_size=5), st.sampled_from(SCALARS))
def test_lists_are_judged_as_their_values_are(given_values: list[Any], wanted: DataType) -> None:
    checked = check((Attribute("a", wanted),), None, [{"a": value} for value in given_values])
    expected = []
    for value in given_values:
        with suppress(Mismatch):
            expected.append(coerce_value(value, wanted, "a", Counter()))
    assert repr(checked.table["a"].to_pylist()) == repr(pa.array(expected, to_arrow(wanted)).to_pylist())


moments = [pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC", "America/New_York")]
days = [pa.date32(), pa.date64()]
exact = [pa.decimal128(10, 2), pa.decimal128(38, 12), pa.decimal64(10, 2), pa.decimal256(50, 3)]
raw = [pa.binary(), pa.large_binary(), pa.binary(2)]
arrays = st.sampled_from(
    [
        pa.int8(),
        pa.int64(),
        pa.uint64(),
        pa.float32(),
        pa.float64(),
        pa.bool_(),
        pa.string(),
        *moments,
        *days,
        *exact,
        *raw,
    ]
)


def items_of(kind: pa.DataType) -> st.SearchStrategy[Any]:
    if pa.types.is_integer(kind):
        width, signed = kind.bit_width, pa.types.is_signed_integer(kind)
        return st.integers(-(2 ** (width - 1)) if signed else 0, 2 ** (width - signed) - 1)
    if pa.types.is_floating(kind):
        near = st.integers(-(2**30), 2**30).map(lambda n: n / 100)
        return st.floats(width=kind.bit_width) | near.filter(lambda x: kind.bit_width == 64) | st.just(2.0**63)
    if pa.types.is_boolean(kind):
        return st.booleans()
    if pa.types.is_timestamp(kind):
        return st.integers(-(2**35), 2**35) | st.integers(-100, 100).map(lambda n: n * 86_400 * 1000)
    if pa.types.is_date(kind):
        return st.dates()
    if pa.types.is_decimal(kind):
        most = 10 ** min(kind.precision, 38) - 1
        wholes = st.integers(-most, most) | st.integers(-(10**6), 10**6) | st.integers(-99, 99).map(lambda n: n * 100)
        return wholes.map(lambda n: Decimal((n < 0, tuple(map(int, str(abs(n)))), -kind.scale)))
    if pa.types.is_fixed_size_binary(kind):
        return st.binary(min_size=2, max_size=2)
    return st.binary(max_size=3) if kind in raw else times | words


@given(st.data(), arrays, st.sampled_from(SCALARS))
def test_arrow_columns_are_judged_as_their_values_are(data: st.DataObject, kind: pa.DataType, wanted: DataType) -> None:
    given_values = data.draw(st.lists(st.none() | items_of(kind), max_size=5))
    table = pa.table({"a": pa.array(given_values, kind)})
    one_by_one = check((Attribute("a", wanted),), None, table.to_pylist())
    same(check((Attribute("a", wanted),), None, table), one_by_one)


def carefully(data: bytes) -> Checked:
    header = read_header(data, "f")
    if header is None:
        return Checked(attributes_schema(ATTRIBUTES).empty_table())
    return read_csv_carefully(data[header.size :], "f", header.names, ATTRIBUTES, "t", header.lines)


csv_rows = st.lists(st.lists(fields, min_size=4, max_size=6), max_size=5)


@given(csv_rows, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_csv_file_is_the_same_read_both_ways(rows: list[list[str]], end: str, last: bool) -> None:
    text = io.StringIO()
    writer(text, lineterminator=end).writerows([["s", "i", "d", "t", "other"], *rows])
    data = text.getvalue().encode()
    data = data if last else data.removesuffix(end.encode())
    same(read_csv(data, "f", ATTRIBUTES, "t"), carefully(data))


@given(csv_rows, st.sampled_from(["\n", "\r\n"]), st.integers(1, 200))
def test_a_csv_file_is_cut_between_its_rows(rows: list[list[str]], end: str, most: int) -> None:
    text = io.StringIO()
    writer(text, lineterminator=end).writerows(rows)
    data, pieces = text.getvalue().encode(), []
    rest = data
    while rest:
        size = next(filter(None, (whole_rows(rest[:n]) for n in range(most, len(rest)))), len(rest))
        pieces.append(rest[:size])
        rest = rest[size:]
    assert b"".join(pieces) == data
    cut = [row for piece in pieces for row in reader(io.StringIO(piece.decode(), newline=""))]
    assert cut == list(reader(io.StringIO(data.decode(), newline="")))


good_csv = st.tuples(
    st.text(st.sampled_from("ab é"), max_size=3),
    st.integers(-5, 5).map(str) | st.just(""),
    st.floats(allow_nan=False, allow_infinity=False).map(str),
    st.datetimes().map(lambda t: t.isoformat()),
    st.just("") | st.just("x"),
)


@given(st.lists(good_csv, max_size=5))
def test_a_clean_csv_file_is_the_same_read_both_ways(rows: list[tuple[str, ...]]) -> None:
    data = "\n".join(",".join(row) for row in [("s", "i", "d", "t", "other"), *rows]).encode()
    same(read_csv(data, "f", ATTRIBUTES, "t"), carefully(data))


json_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**64)
    | st.floats()
    | st.text(st.sampled_from('ab"\\é☃\u2028\x01'), max_size=4)
    | times
)
json_values = json_scalars | st.lists(json_scalars, max_size=2) | st.dictionaries(st.sampled_from("xyz"), json_scalars)
good_json = st.fixed_dictionaries(
    {"t": st.datetimes().map(lambda t: t.isoformat())},
    optional={
        "s": st.none() | st.text(max_size=3).filter(lambda s: s.isprintable()),
        "i": st.none() | st.integers(-(2**31), 2**31 - 1),
        "d": st.none() | st.integers(-(2**54), 2**54) | st.floats(allow_nan=False, allow_infinity=False),
        "b": st.none() | st.booleans(),
        "other": st.integers() | st.text(max_size=2).filter(lambda s: s.isprintable()),
    },
)
any_json = st.dictionaries(st.sampled_from(["s", "i", "d", "b", "t", "other"]), json_values)


@given(st.lists(st.one_of(good_json, good_json, any_json), max_size=5), st.sampled_from(["\n", "\r\n"]), st.booleans())
@example([{"t": "2024-01-01", "d": -0.0}], "\n", True)
@example([{"t": "2024-01-01", "d": 2**53 + 1}], "\n", True)
def test_a_json_file_is_the_same_read_both_ways(rows: list[dict[str, Any]], end: str, ascii_only: bool) -> None:
    data = end.join(json.dumps(row, ensure_ascii=ascii_only) for row in rows).encode(errors="replace")
    same(read_json(data, "f", ATTRIBUTES, "t"), read_json_carefully(data, "f", ATTRIBUTES, "t"))


@given(st.lists(good_json, min_size=1, max_size=4))
def test_a_clean_json_file_has_no_rejected_row(rows: list[dict[str, Any]]) -> None:
    exact = [r for r in rows if not isinstance(r.get("d"), int) or float(r["d"]) == r["d"]]
    data = "\n".join(map(json.dumps, exact)).encode()
    checked = read_json(data, "f", ATTRIBUTES, "t")
    assert checked.table.num_rows == len(exact)
    doubles = [r.get("d") for r in exact]
    assert all(a == b or (a is b) for a, b in zip(checked.table["d"].to_pylist(), doubles, strict=True))


nested_json = st.fixed_dictionaries(
    {"t": st.just("2024-01-01")},
    optional={
        "a": st.none() | st.lists(st.none() | times | words, max_size=3) | st.just("a") | st.just([1]),
        "w": st.none() | st.fixed_dictionaries({}, optional={"x": st.integers(0, 9), "y": times, "z": json_scalars}),
    },
)


@given(st.lists(nested_json, max_size=4))
def test_nested_json_is_the_same_read_both_ways(rows: list[dict[str, Any]]) -> None:
    data = "\n".join(map(json.dumps, rows)).encode(errors="replace")
    same(read_json(data, "f", NESTED, "t"), read_json_carefully(data, "f", NESTED, "t"))


@given(
    st.lists(
        st.sampled_from(['{"t": "2024-01-01"}', '{"t":', '"2024-01-01"}', "", "  ", '{"s": 1} {"s": 2}', "}{", "{}"])
    )
)
def test_lines_that_are_not_one_object_are_the_same_read_both_ways(lines: list[str]) -> None:
    data = "\n".join(lines).encode()
    if data.strip():
        same(read_json(data, "f", ATTRIBUTES, "t"), read_json_carefully(data, "f", ATTRIBUTES, "t"))


def test_the_quick_way_is_taken_where_a_file_is_clean() -> None:
    line = json.dumps({"s": "a", "i": 1, "d": 1.5, "b": True, "t": "2024-01-01", "more": [1]})
    assert text_json._read_plain(f"{line}\n{line}\n".encode(), ATTRIBUTES) is not None
    assert text_csv.read_fields(b"a,1,1.5,2024-01-01\n", ["s", "i", "d", "t"]) is not None
    assert math.isclose(read_csv(b"s,i,d,t\na,1,1.5,2024-01-01\n", "f", ATTRIBUTES, "t").table["d"][0].as_py(), 1.5)
