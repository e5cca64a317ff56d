"""Decimals, days, bytes and times of any unit: from every kind of input into the archive, and out of it."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import presage
from presage.model.catalog import Attribute
from presage.model.json_values import plain_column
from presage.model.types import BYTES, DATE, TIMESTAMP, DecimalOf
from presage.storage.delta_schema import from_delta, to_delta
from presage.storage.ingest import check
from presage.storage.suggestion import suggest
from presage.storage.text_csv import read_csv
from presage.storage.text_json import read_json

AMOUNT, DAY, RAW, AT = (
    Attribute("amount", DecimalOf(20, 4)),
    Attribute("day", DATE),
    Attribute("raw", BYTES),
    Attribute("at", TIMESTAMP),
)
ALL = (AMOUNT, DAY, RAW, AT)
LAST_NANOSECOND = -1  # of 1969
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def times(values: Any) -> list[int]:
    checked = check((AT,), None, pa.table({"at": values}) if isinstance(values, pa.Array) else values)
    assert not checked.rejected
    return checked.table["at"].cast(pa.int64()).to_pylist()


@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York"])
def test_nanoseconds_are_cut_to_the_microsecond_before_also_before_1970(zone: str | None) -> None:
    values = pa.array([LAST_NANOSECOND, 999, 1_000, -1_000, -1_001], pa.timestamp("ns", zone))
    assert times(values) == [-1, 0, 1, -1, -2]
    assert times([{"at": np.datetime64(LAST_NANOSECOND, "ns")}, {"at": pd.Timestamp(-1_001)}]) == [-1, -2]
    assert times([{"at": "1969-12-31T23:59:59.999999999"}, {"at": "1970-01-01T00:00:00.0000019Z"}]) == [-1, 1]


@pytest.mark.parametrize(("unit", "micros"), [("s", 1_000_000), ("ms", 1_000), ("us", 1)])
def test_a_time_without_a_zone_is_utc_in_every_unit(unit: str, micros: int) -> None:
    counts = [0, 1, -1, 1_704_067_200]
    naive, zoned = (pa.array(counts, pa.timestamp(unit, zone)) for zone in (None, "Asia/Tokyo"))
    assert times(naive) == times(zoned) == [count * micros for count in counts]
    assert times([{"at": dt.datetime(1970, 1, 1)}, {"at": EPOCH.replace(tzinfo=None) + dt.timedelta(1)}])[0] == 0


def test_parquet_and_pandas_follow_the_same_rule(tmp_path: Path) -> None:
    frame = pd.DataFrame({"at": pd.to_datetime(["2024-01-31 09:00:00.123456789", "1969-12-31 23:59:59.9999999"])})
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "a.parquet")
    with presage.Engine() as engine:
        engine.execute("CREATE STREAM A (at TIMESTAMP) EVENT TIME at; CREATE STREAM B (at TIMESTAMP) EVENT TIME at;")
        engine.load("A", frame)
        engine.load("B", tmp_path / "a.parquet")
        found = [engine.query(f"SELECT * FROM {name}").to_arrow()["at"].cast(pa.int64()).to_pylist() for name in "AB"]
    assert found == [[-1, 1_706_691_600_123_456]] * 2


JSON_LINE = b'{"amount": 1234567890123456.7891, "day": "2024-01-31", "raw": "AP8=", "at": "2024-01-31"}\n'
ROW = (Decimal("1234567890123456.7891"), dt.date(2024, 1, 31), b"\x00\xff")


@pytest.mark.parametrize(
    "data",
    [
        JSON_LINE,
        JSON_LINE.replace(b"1234567890123456.7891", b'"1234567890123456.7891"'),
        b"[" + JSON_LINE.strip() + b"]",
        JSON_LINE.replace(b"}", b', "more": {"x": 1}}'),
    ],
)
def test_a_decimal_in_json_keeps_its_digits(data: bytes) -> None:
    checked = read_json(data, "f.json", ALL, "at")
    assert not checked.rejected
    assert tuple(checked.table.to_pylist()[0].values())[:3] == ROW


def test_csv_has_the_same_values() -> None:
    data = b"amount,day,raw,at\n1234567890123456.7891,2024-01-31,AP8=,2024-01-31\n0.00001,2024-02-30,?,2024-01-31\n"
    checked = read_csv(data, "f.csv", ALL, "at")
    assert tuple(checked.table.to_pylist()[0].values())[:3] == ROW
    (reason,) = checked.rejected.reasons
    assert reason.startswith("attribute 'amount' needs DECIMAL(20,4)")


@pytest.mark.parametrize(
    ("attribute", "value", "reason"),
    [
        (AMOUNT, Decimal("0.00001"), "it has more than 4 digits behind the point"),
        (AMOUNT, 10**16, "it is out of range"),
        (AMOUNT, float("nan"), "a DECIMAL is finite"),
        (AMOUNT, "1.5€", "it is not a number"),
        (AMOUNT, True, ""),
        (DAY, dt.datetime(2024, 1, 31, 1), "it has a time of day"),
        (DAY, "2024-1-31", "it is not a day as ISO 8601 writes it"),
        (DAY, 19_000, "give a date or an ISO 8601 text"),
        (RAW, "not base 64", "it is not base 64"),
        (RAW, 5, "give bytes or a text in base 64"),
    ],
)
def test_a_value_that_does_not_fit_rejects_its_row_with_the_reason(
    attribute: Attribute, value: Any, reason: str
) -> None:
    (told,) = check((attribute,), None, [{attribute.name: value}]).rejected.reasons
    assert told.startswith(f"attribute '{attribute.name}' needs {attribute.type}, found ")
    assert reason in told


def test_what_is_written_as_json_is_read_back() -> None:
    row = {"amount": Decimal("-0.0100"), "day": dt.date(1969, 12, 31), "raw": b"\xff", "at": EPOCH}
    table = check(ALL, "at", [row, {"at": EPOCH}]).table
    written = [plain_column(column) for column in table.columns]
    assert [column[0] for column in written] == ["-0.0100", "1969-12-31", "/w==", "1970-01-01T00:00:00Z"]
    lines = [json.dumps(dict(zip(table.column_names, each, strict=True))) for each in zip(*written, strict=True)]
    assert read_json("\n".join(lines).encode(), "f", ALL, "at").table.equals(table)


def test_delta_readers_find_the_same_types_and_values(tmp_path: Path) -> None:
    home = tmp_path / "home"
    great = [Decimal(f"9999999999999999999999999999999{n}.123456") for n in range(5)]
    rows = [
        {
            "k": Decimal(n),
            "amount": great[n],
            "day": dt.date(2024, 1, 31) + dt.timedelta(n),
            "raw": bytes([n]),
            "at": at,
        }
        for n, at in enumerate(EPOCH + dt.timedelta(seconds=n) for n in range(5))
    ]
    create = "CREATE STREAM P (k DECIMAL(5,0), amount DECIMAL(38,6), day DATE, raw BYTES, at TIMESTAMP) EVENT TIME at"
    with presage.Engine(home=home) as engine:
        engine.execute(f"{create} KEY (k, day)")
        engine.load("P", rows)
        asked = engine.query("SELECT amount FROM P WHERE k = 3 AND day = '2024-02-03' AND raw = X'03'")
        assert asked.to_arrow()["amount"].to_pylist() == [great[3]]
    (folder,) = (log.parent for log in home.rglob("_delta_log") if log.parent.name == "events")
    table = deltalake.DeltaTable(str(folder))
    found = pa.table(table.to_pyarrow_table() if hasattr(table, "to_pyarrow_table") else table.to_arrow())
    names = ["k", "amount", "day", "raw", "at"]
    assert sorted(found.select(names).to_pylist(), key=lambda row: row["k"]) == rows
    with presage.Engine(home=home) as engine:
        assert engine.query("SELECT * FROM P").to_arrow().select(names).to_pylist() == rows


def test_schemas_go_through_deltas_json() -> None:
    schema = pa.schema(
        [("a", pa.decimal128(38, 10)), ("d", pa.date32()), ("l", pa.list_(pa.field("element", pa.binary())))]
    )
    assert from_delta(to_delta(schema)) == schema


def test_a_declaration_is_suggested_with_the_columns_own_types(tmp_path: Path) -> None:
    table = check(ALL, "at", [{"amount": 1, "day": "2024-01-31", "raw": b"x", "at": EPOCH}]).table
    pq.write_table(table, tmp_path / "p.parquet")
    assert suggest(tmp_path / "p.parquet").attributes == ALL
    # Without times days are the event time.
    pq.write_table(table.select(["amount", "day"]), tmp_path / "q.parquet")
    assert suggest(tmp_path / "q.parquet").attributes == (AMOUNT, Attribute("day", TIMESTAMP))
