"""Input that is meant to hurt, or might as well be: it is loaded and read back, or rejected with a reason."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from presage.model.catalog import Attribute, EventType
from presage.model.types import DOUBLE, LONG, STRING, TIMESTAMP
from presage.storage import Log, SourceOffsets, lateness
from presage.storage.columns import MAX_TIME, MIN_TIME
from presage.storage.staging import MAX_TEXT

ATTRIBUTES = (Attribute("s", STRING), Attribute("n", LONG), Attribute("d", DOUBLE), Attribute("at", TIMESTAMP))
TICK = EventType("Tick", "stream", ATTRIBUTES, event_time="at", max_delay=5_000_000)
WHEN = "2024-01-01"
TEN_MEGABYTES = 10_000_000


@pytest.fixture
def log() -> Iterator[Log]:
    with Log.open() as log:
        log.create_stream(TICK)
        yield log


def column(log: Log, name: str) -> list[object]:
    found: list[object] = log.archive.read_arrow(log.archive.snapshot("Tick"), [name])[name].to_pylist()
    return found


def statistics(log: Log) -> list[str]:
    folder = log.home.table_folder("Tick", "events") / "_delta_log"
    entries = [json.loads(line) for path in sorted(folder.glob("*.json")) for line in path.read_text().splitlines()]
    return [entry["add"]["stats"] for entry in entries if "add" in entry]


def test_a_text_of_ten_megabytes_is_loaded_and_leaves_the_statistics_small(log: Log) -> None:
    texts = ["é" * TEN_MEGABYTES, "\U0001f600" * 1_000_000]
    for text in texts:
        assert log.append(TICK, [{"s": text, "at": WHEN}]).accepted == 1
    assert column(log, "s") == texts
    assert all(len(stats) < 2_000 for stats in statistics(log))
    assert json.loads(statistics(log)[0])["minValues"]["s"] == "é" * MAX_TEXT


TEXTS = [
    "\0",
    "a\0b",
    "\x7f\x1b[31m",
    "\u202eabc",
    "日本語",
    "עברית",
    "e\u0301",
    "\U0010ffff",
    "\ufeff",
    "'; DROP --",
    "",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_comes_back_as_it_was(log: Log, text: str) -> None:
    assert log.append(TICK, [{"s": text, "at": WHEN}]).accepted == 1
    assert column(log, "s") == [text]
    table = DeltaTable(str(log.home.table_folder("Tick", "events"))).to_pyarrow_table()
    assert table["s"].to_pylist() == [text]


@pytest.mark.parametrize("text", ["\ud800", "ok \udfff", "\udc00\ud800"])
def test_half_of_a_surrogate_pair_is_rejected_wherever_it_stands(log: Log, text: str) -> None:
    report = log.append(TICK, [{"s": text, "at": WHEN}, {"s": "fine", "at": WHEN, text: 1}, {"s": "x", "at": text}])
    assert (report.accepted, report.rejected) == (1, 2)
    assert log.archive.read_rejected("Tick").num_rows == 2
    assert [name.isprintable() for name in report.ignored] == [True]


def test_a_key_may_be_any_text(log: Log) -> None:
    for key in ("", "\0", "日本", "\ud800", "k" * 100_000):
        assert log.append(TICK, [{"at": WHEN}], once=key).accepted == 1
        assert log.append(TICK, [{"at": WHEN}], once=key).duplicate


def test_names_of_streams_and_attributes_may_be_of_any_script(log: Log) -> None:
    event_type = EventType(
        "событие 日本/..%2e~", "stream", (Attribute("цена", DOUBLE), Attribute("時", TIMESTAMP)), event_time="時"
    )
    log.create_stream(event_type)
    assert log.append(event_type, [{"цена": 1.5, "時": WHEN}]).accepted == 1
    assert log.archive.read_arrow(log.archive.snapshot(event_type.name), ["цена"]).to_pylist() == [{"цена": 1.5}]


def test_names_of_streams_may_be_long_and_differ_at_the_end(log: Log) -> None:
    for name in ("日" * 200 + "a", "日" * 200 + "b"):
        event_type = EventType(name, "stream", ATTRIBUTES, event_time="at")
        log.create_stream(event_type)
        source = SourceOffsets("s", "no")
        log.append(event_type, [{"s": name[-1], "at": WHEN, "no": 0}], source=source)
        assert log.archive.read_arrow(log.archive.snapshot(name), ["s"]).to_pylist() == [{"s": name[-1]}]


def test_the_ends_of_the_range_of_whole_numbers(log: Log) -> None:
    given = [-(2**63), 2**63 - 1, 2**63, -(2**63) - 1, 10**400]
    report = log.append(TICK, [{"n": n, "at": WHEN} for n in given])
    assert (report.accepted, report.rejected) == (2, 3)
    assert column(log, "n") == [-(2**63), 2**63 - 1]


def test_numbers_that_are_none(log: Log) -> None:
    given = [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7976931348623157e308]
    log.append(TICK, [{"d": d, "at": WHEN} for d in given])
    read = np.array(column(log, "d"), dtype=float)
    assert np.array_equal(read, np.array(given), equal_nan=True)
    assert math.copysign(1, read[3]) == -1
    assert log.append(TICK, [{"n": math.nan, "at": WHEN}, {"n": math.inf, "at": WHEN}]).rejected == 2


def test_the_first_moment_of_time_is_loaded_and_its_watermark_can_be_told(log: Log) -> None:
    moments = pa.table({"at": pa.array([MIN_TIME, MIN_TIME + 1], pa.timestamp("us"))})
    assert log.append(TICK, moments).accepted == 2
    info = log.archive.describe("Tick")
    assert (info.first_time, info.watermark) == (MIN_TIME, MIN_TIME)
    outside = pa.table({"at": pa.array([MIN_TIME - 1, MAX_TIME + 1, -(2**63) + 1, 2**63 - 1], pa.timestamp("us"))})
    assert log.append(TICK, outside).rejected == 4


def test_loads_of_nothing_change_nothing(log: Log) -> None:
    for nothing in ([], (), iter(()), pa.table({}), pa.table({"at": pa.array([], pa.timestamp("us"))})):
        assert log.append(TICK, nothing).accepted == 0
    assert (log.position, log._committer.state.n) == (0, 1)


def test_rows_that_are_no_rows_are_rejected(log: Log) -> None:
    loop: list[object] = []
    loop.append(loop)
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    report = log.append(
        TICK, [None, 7, "text", b"\xff", loop, {}, {"at": WHEN, "s": loop}, {"at": WHEN, "s": deep}, {1: 2}]
    )
    assert (report.accepted, report.rejected) == (0, 9)
    while isinstance(deep, list):  # taken apart here: its end by itself would be as deep as it is
        deep = deep.pop()


def test_the_same_load_again_and_again_with_a_key_is_one(log: Log) -> None:
    for _ in range(5):
        log.append(TICK, [{"s": "a", "at": WHEN}], once="k")
    assert column(log, "s") == ["a"]


def test_rows_in_more_bytes_than_one_array_holds_are_put_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lateness, "BYTES_AT_ONCE", 0)
    table = pa.concat_tables([pa.table({"s": [f"{i}-{j}" for j in range(3)]}) for i in range(4)])
    order = np.array([11, 0, 5, 4, 3, 10, 1, 2, 9, 8, 7, 6])
    assert lateness.reordered(table, order).equals(table.take(pa.array(order)))
    gathered = lateness._gathered

    def overflow(batches: list[pa.RecordBatch], starts: np.ndarray, rows: np.ndarray) -> pa.Table:
        if len(rows) > 2:
            raise pa.ArrowInvalid("offset overflow")
        return gathered(batches, starts, rows)

    monkeypatch.setattr(lateness, "_gathered", overflow)
    assert lateness.reordered(table, order).equals(table.take(pa.array(order)))
