"""The named limits at the log: how far ahead of the clock, how long a text, how many strange names."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from presage.errors import PresageError
from presage.model.catalog import Attribute, EventType
from presage.model.time import MICROS, format_timestamp, parse_timestamp
from presage.model.types import STRING, TIMESTAMP
from presage.storage import Log, limits, max_ahead, read_files
from presage.storage.columns import MAX_TIME, MIN_TIME
from presage.storage.limits import EARLIEST_CLOCK, MAX_AHEAD, limit_names
from presage.storage.value_coercion import MAX_RAW

ATTRIBUTES = (Attribute("s", STRING), Attribute("at", TIMESTAMP))
TICK = EventType("Tick", "stream", ATTRIBUTES, event_time="at")
STRICT = replace(TICK, options={"max_ahead": "1 hour"})
YEAR = 365 * MICROS["day"]


def micros(text: str) -> int:
    return parse_timestamp(text) or 0


def row(at: object, s: str = "") -> dict[str, object]:
    return {"s": s, "at": at}


@pytest.fixture
def log() -> Iterator[Log]:
    with Log.open() as log:
        log.create_stream(TICK)
        yield log


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The wall clock in microseconds, ours to set."""
    hand = [micros("2026-06-01")]
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: hand[0] * 1_000)
        yield hand


def test_an_event_of_the_year_9999_is_rejected_and_the_watermark_stays(log: Log, clock: list[int]) -> None:
    report = log.append(TICK, [row("2026-05-01"), row("9999-12-31T23:59:59", "far")])
    assert (report.accepted, report.rejected) == (1, 1)
    assert log.archive.describe("Tick").watermark == micros("2026-05-01")
    (rejected,) = log.archive.read_rejected("Tick").to_pylist()
    assert rejected["reason"] == (
        "'at' is more than 3650 day (the limit max_ahead) after the wall clock, 2026-06-01T00:00:00Z, "
        "found 9999-12-31T23:59:59Z"
    )
    assert rejected["origin"] == "row 2"
    assert rejected["raw"] == '{"s": "far", "at": "9999-12-31T23:59:59"}'
    assert log.append(TICK, [row("2026-05-02")]).accepted == 1


def test_the_limit_is_the_streams_own_and_what_is_on_it_passes(log: Log, clock: list[int]) -> None:
    now = clock[0]
    report = log.append(
        STRICT, [row(format_timestamp(now + 3_600_000_000)), row(format_timestamp(now + 3_600_000_001))]
    )
    assert (report.accepted, report.rejected) == (1, 1)
    assert (max_ahead(TICK), max_ahead(STRICT)) == (MAX_AHEAD, MICROS["hour"])


def test_rows_of_a_file_keep_their_line(log: Log, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text('s,at\n"a",2024-01-01\n"b",bad\n"c",9999-01-01\n')
    (tmp_path / "plain.csv").write_text("s,at\na,2024-01-01\nc,9999-01-01\n")
    log.append(TICK, read_files(tmp_path / "rows.csv", ATTRIBUTES, "at"))
    assert log.archive.read_rejected("Tick")["origin"].to_pylist() == ["rows.csv:3", "rows.csv:4"]
    log.append(TICK, read_files(tmp_path / "plain.csv", ATTRIBUTES, "at"))
    assert '"s": "c"' in log.archive.read_rejected("Tick")["raw"][-1].as_py()


def test_a_watermark_from_the_far_future_is_refused_by_the_same_limit(log: Log, clock: list[int]) -> None:
    log.append(TICK, [row("2026-05-01")])
    for far in (clock[0] + 11 * YEAR, MAX_TIME, 2**70):
        with pytest.raises(PresageError, match="the limit max_ahead") as refused:
            log.append_watermark("Tick", far)
        assert refused.value.code == "DATA_SHAPE"
    with pytest.raises(PresageError, match="1 hour"):
        log.append_watermark("Tick", clock[0] + 2 * MICROS["hour"], max_ahead(STRICT))
    assert log.archive.describe("Tick").watermark == micros("2026-05-01")
    log.append_watermark("Tick", clock[0] + MICROS["hour"], max_ahead(STRICT))
    assert log.archive.describe("Tick").watermark == clock[0] + MICROS["hour"]


@pytest.mark.parametrize("time", [micros("2026-04-30"), micros("2026-05-01"), MIN_TIME, -(2**70)])
def test_a_watermark_that_is_not_later_changes_nothing(log: Log, time: int) -> None:
    log.append(TICK, [row("2026-05-01")])
    before = log._committer.state.n
    log.append_watermark("Tick", time)
    assert log.archive.describe("Tick").watermark == micros("2026-05-01")
    assert log._committer.state.n == before


def test_a_watermark_before_all_time_is_the_beginning_of_time(log: Log) -> None:
    log.append_watermark("Tick", -(2**70))
    assert log.archive.describe("Tick").watermark == MIN_TIME


@pytest.mark.parametrize("jump", [-60 * YEAR, -56 * YEAR, -3 * YEAR, 5 * YEAR, 500 * YEAR, 7000 * YEAR, 9000 * YEAR])
def test_a_jump_of_the_wall_clock_breaks_nothing(tmp_path: Path, clock: list[int], jump: int) -> None:
    begin = clock[0]
    with Log.open(tmp_path / "home", durable=False) as log:
        log.create_stream(TICK)
        log.append(TICK, [row("2026-05-01", "a")], once="k")
        clock[0] = max(begin + jump, 0)
        assert log.append(TICK, [row("2026-05-01", "a")], once="k").duplicate
        report = log.append(TICK, [row("2026-05-02", "b"), row("not a time")])
        assert (report.accepted, report.rejected) == (1, 1)
    with Log.open(tmp_path / "home", durable=False) as log:
        clock[0] = begin
        assert log.append(TICK, [row("2026-05-01T12:00:00", "late"), row("2026-05-03", "c")], once="l").late == 1
        assert log.archive.read_arrow(log.archive.snapshot("Tick"), ["s"])["s"].to_pylist() == ["a", "b", "c"]
        assert log.archive.read_rejected("Tick").num_rows == 1
        assert log.archive.describe("Tick").watermark == micros("2026-05-03")
        assert log.append(TICK, [], once="k").duplicate


def test_a_clock_from_before_the_program_was_written_is_not_believed(log: Log, clock: list[int]) -> None:
    clock[0] = 0
    assert log.append(TICK, [row("2026-05-01")]).accepted == 1
    assert log.append(TICK, [row(format_timestamp(EARLIEST_CLOCK + 11 * YEAR))]).rejected == 1


def test_a_rejected_text_is_cut_with_a_note_of_its_length(log: Log) -> None:
    log.append(TICK, [{"s": "x" * 10_000_000, "at": "never"}])
    (rejected,) = log.archive.read_rejected("Tick").to_pylist()
    assert len(rejected["raw"]) < MAX_RAW + 100
    assert rejected["raw"].endswith("… (cut: 10,000,024 characters)")
    assert len(rejected["reason"]) < 200


def test_names_that_are_ignored_are_counted_up_to_a_limit(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_NAMES", 2)
    for start in (0, 10):
        log.append(TICK, [{**row("2026-01-01"), f"n{i}": 1} for i in range(start, start + 3)])
    assert log.archive.describe("Tick").ignored == {"n0": 1, "n1": 1, "other names": 4}
    assert limit_names({"x" * 1000: 1, "\ud800": 2}, {}) == {"x" * 79 + "…": 1, "?": 2}


def test_an_arrow_table_is_held_to_the_limit_too(log: Log) -> None:
    far = pa.table({"s": ["a", "b"], "at": pa.array([0, MAX_TIME], pa.timestamp("us"))})
    report = log.append(TICK, far)
    assert (report.accepted, report.rejected) == (1, 1)
