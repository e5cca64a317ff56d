from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from presage.live import maintenance_thread
from presage.live.maintenance_thread import MaintenanceThread
from presage.model.catalog import EventType
from presage.storage import InUse, Log
from recovery.crashing import SECOND, row, stream

START = 1_704_067_200_000_000
IDLE = replace(stream(max_delay=2 * SECOND), options={"idle_after": "10 sec"})


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    # The thread only waits: rounds are called by the tests.
    monkeypatch.setattr(maintenance_thread, "LOOK_SECONDS", 3600.0)
    with Log.open(tmp_path / "home", durable=False) as made:
        yield made


def keep(log: Log, kind: EventType) -> MaintenanceThread:
    log.create_stream(kind)
    return MaintenanceThread(log, lambda: [kind], InUse)


def test_a_silent_stream_gets_a_watermark_that_goes_on_with_the_clock(log: Log) -> None:
    made = keep(log, IDLE)
    log.append(IDLE, [row(1, 5)])
    made.round(0)
    made.round(9 * SECOND)
    assert log.point.watermarks["Tick"] == START + 3 * SECOND
    made.round(10 * SECOND)
    assert log.point.watermarks["Tick"] == START + (5 + 10 - 2) * SECOND
    made.stop()


def test_a_watermark_is_told_once_in_a_while_not_in_every_round(log: Log) -> None:
    made = keep(log, IDLE)
    log.append(IDLE, [row(1, 5)])
    for second in range(100):
        made.round(second * SECOND)
    records = log.records
    assert records <= 2 + 100 // 10
    made.stop()


def test_an_event_ends_the_silence(log: Log) -> None:
    made = keep(log, IDLE)
    log.append(IDLE, [row(1, 5)])
    made.round(0)
    log.append(IDLE, [row(2, 6)])
    made.round(12 * SECOND)
    assert log.point.watermarks["Tick"] == START + 4 * SECOND
    made.stop()


def test_a_wall_clock_that_jumps_moves_no_watermark(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    made = keep(log, IDLE)
    log.append(IDLE, [row(1, 5)])
    made.round(0)
    monkeypatch.setattr(time, "time_ns", lambda: 4_000_000_000_000_000_000)
    made.round(1 * SECOND)
    assert log.point.watermarks["Tick"] == START + 3 * SECOND
    made.stop()


def test_a_stream_that_is_only_loaded_stays_where_it_is(log: Log) -> None:
    kind = stream()
    made = keep(log, kind)
    log.append(kind, [row(1, 5)])
    made.round(0)
    made.round(3600 * SECOND)
    assert log.point.watermarks["Tick"] == START + 5 * SECOND
    made.stop()


def test_a_stream_with_an_outside_source_is_live_without_saying_so(log: Log) -> None:
    kind = replace(stream(), options={"source": "rate"})
    made = keep(log, kind)
    log.append(kind, [row(1, 5)])
    made.round(0)
    made.round(11 * SECOND)
    assert log.point.watermarks["Tick"] == START + 16 * SECOND
    made.stop()


def test_maintenance_runs_by_itself_after_many_records(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance_thread, "RECORDS_PER_MAINTENANCE", 20)
    kind = stream()
    made = keep(log, kind)
    for second in range(30):
        log.append(kind, [row(second, second)])
    files = log.archive.describe("Tick").files
    made.round(0)
    assert log.archive.describe("Tick").files < files
    made.stop()
