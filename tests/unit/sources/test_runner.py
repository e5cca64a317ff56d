"""Sources that run in their threads: states, back-pressure, ends."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from presage.errors import error
from presage.model.catalog import EventType
from presage.sources import Sources
from presage.sources import runner as module
from presage.sources.runner import SourceRunner
from presage.storage import ROW, Arrival, Checked, Cursor, Delivery, Log
from presage.storage.columns import attributes_schema
from unit.sources.folders import ATTRIBUTES, event, lines, put, stream


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TRY_AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(module, "PAUSE", 0.01)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with Log.open(tmp_path / "home", durable=False) as made:
        yield made


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def sources_of(log: Log, *types: EventType, **given: object) -> Sources:
    return Sources(log, lambda: types, Path, **given)  # type: ignore[arg-type]


class Counting:
    """Ten rows at a time, for ever."""

    name, why, pause, finished, left = "rate", "", 0.01, False, 0

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.failures: list[Exception] = []

    def read(self, cursor: Cursor | None) -> Delivery | None:
        if self.failures:
            raise self.failures.pop()
        first = cursor["next"] if cursor else 0
        rows = [{"x": x, "s": None, "at": 1_704_067_200_000_000 + x} for x in range(first, first + 10)]
        table = pa.Table.from_pylist(rows, schema=attributes_schema(ATTRIBUTES))
        table = table.append_column(ROW, pa.array(range(first, first + 10), pa.int64()))
        return Delivery("rate", cursor, {"next": first + 10}, [Arrival("", Checked(table))])

    def settle(self, delivery: Delivery) -> None:
        """Nothing to remember."""

    def position(self, cursor: Cursor | None) -> str:
        return str(cursor)


RATE = replace(stream(Path("nowhere")), options={"source": "rate"})


def counted(log: Log, **given: object) -> tuple[SourceRunner, Counting]:
    log.create_stream(RATE)
    source = Counting()
    arguments = {"reached": lambda: None, "rows_ahead": 100, **given}
    return SourceRunner(RATE, lambda: source, log, **arguments), source  # type: ignore[arg-type]


def test_files_are_taken_while_it_runs_and_the_status_says_how_far_it_is(log: Log, tmp_path: Path) -> None:
    folder = tmp_path / "incoming"
    log.create_stream(stream(folder))
    sources = sources_of(log, stream(folder))
    assert dict(sources) == {}
    sources.start()
    until(lambda: sources["Tick"].state == "waiting" and "does not exist" in sources["Tick"].why)
    assert not sources.is_quiet("Tick")
    put(folder, "a.json", lines(event(1), event(2)) + "bad\n")
    until(lambda: sources["Tick"].rows == 2)
    until(lambda: sources.is_quiet("Tick"))
    status = sources["Tick"]
    assert (status.source, status.state, status.rejected) == ("files", "running", 1)
    assert status.position == "1 files"
    assert dict(status.described())["source state"] == "running"
    sources.close()
    put(folder, "b.json", lines(event(3)))
    time.sleep(0.1)
    assert log.archive.describe("Tick").rows == 2


@pytest.mark.parametrize("kind", ["kafka"])  # an engine gives the topics of Kafka
def test_a_source_that_is_not_built_says_so_by_name_and_what_to_do(kind: str, log: Log) -> None:
    event_type = replace(RATE, options={"source": kind, "topic": "faults", "servers": "broker:9092"})
    log.create_stream(event_type)
    sources = sources_of(log, event_type)
    sources.start()
    until(lambda: sources["Tick"].state == "failed")
    assert f"the source '{kind}' of stream 'Tick' is not supported" in sources["Tick"].why
    assert "Engine.load" in sources["Tick"].why
    sources.close()


def test_a_stream_whose_source_has_not_been_started_is_not_silent(log: Log, tmp_path: Path) -> None:
    log.create_stream(stream(tmp_path / "incoming"))
    sources = sources_of(log, stream(tmp_path / "incoming"))
    assert not sources.is_quiet("Tick")
    assert sources.is_quiet("another, filled by load")


def test_the_source_of_a_dropped_stream_is_stopped(log: Log, tmp_path: Path) -> None:
    event_type = stream(tmp_path / "incoming")
    log.create_stream(event_type)
    declared = [event_type]
    sources = Sources(log, lambda: declared, Path)
    sources.start()
    assert [t.name for t in threading.enumerate() if t.name.startswith("presage-source")] == ["presage-source-Tick"]
    declared.clear()
    log.drop_stream("Tick")
    sources.follow()
    assert [t for t in threading.enumerate() if t.name.startswith("presage-source")] == []
    assert dict(sources) == {}


def test_a_stream_that_is_made_again_is_read_from_the_beginning(log: Log, tmp_path: Path) -> None:
    event_type = stream(tmp_path / "incoming")
    put(tmp_path / "incoming", "a.json", lines(event(1)))
    sources = sources_of(log, event_type)
    for _ in range(2):
        log.create_stream(event_type)
        sources.start()
        until(lambda: sources["Tick"].rows == 1)
        sources.close()
        log.drop_stream("Tick")


def test_it_does_not_run_further_ahead_of_the_statements_than_it_may(log: Log) -> None:
    reached = [0]
    running, _ = counted(log, reached=lambda: reached[0])
    while running.round() == 0.0:
        pass
    assert log.archive.describe("Tick").rows == 100
    assert running.status().state == "waiting"
    assert running.status().why == "the deployed statements have 100 rows of it to process first"
    assert running.round() != 0.0
    reached[0] = log.point.arrivals
    assert running.round() == 0.0
    assert log.archive.describe("Tick").rows == 110
    assert running.status().state == "running"


def test_without_statements_nothing_holds_it_back(log: Log) -> None:
    running, _ = counted(log)
    for _ in range(20):
        assert running.round() == 0.0
    assert log.archive.describe("Tick").rows == 200


def test_what_may_pass_is_waited_out_and_nothing_is_lost(log: Log) -> None:
    running, source = counted(log)
    running.round()
    source.failures = [OSError("the line is cut"), error("DISK_FULL", path="/home", fix="free some space")]
    assert running.round() is not None
    assert "no space left; free some space" in running.status().why
    assert running.round() is not None
    assert (running.status().state, running.status().why) == ("waiting", "the line is cut")
    assert running.round() == 0.0
    assert log.archive.describe("Tick").rows == 20


def test_our_own_mistake_ends_the_source_and_is_told(log: Log, caplog: pytest.LogCaptureFixture) -> None:
    running, source = counted(log)
    source.failures = [ZeroDivisionError("oh")]
    assert running.round() is None
    assert str(running.status()) == "failed: ZeroDivisionError: oh"
    assert "the source 'rate' of stream 'Tick' has failed" in caplog.text


def test_where_somebody_else_has_gone_on_it_goes_on_from_there(log: Log) -> None:
    running, source = counted(log)
    running.round()
    read = source.read

    def slow(cursor: Cursor | None) -> Delivery | None:
        delivery, other = read(cursor), read(cursor)
        assert delivery is not None
        assert other is not None
        source.read = read  # type: ignore[method-assign]
        log.deliver(RATE, other)
        return delivery

    source.read = slow  # type: ignore[method-assign]
    running.round()
    running.round()
    archive = log.archive
    assert archive.read_arrow(archive.snapshot("Tick"))["x"].to_pylist() == list(range(30))


def test_sources_that_nobody_holds_end_by_themselves(log: Log, tmp_path: Path) -> None:
    event_type = stream(tmp_path / "incoming")
    log.create_stream(event_type)
    sources = sources_of(log, event_type)
    sources.start()
    thread = next(t for t in threading.enumerate() if t.name == "presage-source-Tick")
    del sources
    until(lambda: gc.collect() >= 0 and not thread.is_alive())


def test_a_source_that_does_not_run_yet_is_not_taken_for_a_silent_one(log: Log, tmp_path: Path) -> None:
    # Else time would be told to have passed, and all that it brings would be late.
    slow, loaded = stream(tmp_path), replace(stream(tmp_path), name="Loaded", options={})
    sources = sources_of(log, slow, loaded)
    assert not sources.is_quiet(slow.name)
    assert sources.is_quiet("Loaded")
