"""Sinks that run by themselves: they wake, they are hurried, they stop, and nobody waits for one that is stuck."""

from __future__ import annotations

import gc
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from presage.errors import PresageError
from presage.logging import JsonLines
from presage.operations.figures import sink_figures
from presage.operations.metrics import Metrics
from presage.sinks import runner
from unit.sinks.delivering import Delivering, Server, in_files


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Delivering]:
    made = Delivering(tmp_path)
    made.sinks.start()
    yield made
    made.close()


def until(true: Any) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_rows_are_delivered_as_they_are_made(world: Delivering, tmp_path: Path) -> None:
    world.create(f"CREATE SINK out FROM odd WITH (sink = 'parquet', path = '{tmp_path / 'out'}', every = '0 sec')")
    for first in (0, 10, 20):
        world.load(first, 10)
        until(lambda: world.sinks["out"].left == 0)
    assert in_files(tmp_path / "out") == world.expected()


def test_flush_delivers_at_once_what_would_wait(world: Delivering, tmp_path: Path) -> None:
    world.create(f"CREATE SINK out FROM odd WITH (sink = 'parquet', path = '{tmp_path / 'out'}', every = '1 hour')")
    world.load(0, 10)
    world.sinks.flush("out", timeout=30)
    assert in_files(tmp_path / "out") == world.expected()
    world.load(10, 2)
    time.sleep(0.1)
    assert world.sinks["out"].left == 1


def test_flush_of_a_sink_that_is_stuck_ends_in_time_and_says_why(world: Delivering) -> None:
    server = Server()
    server.close()
    world.create(f"CREATE SINK hook FROM odd WITH (sink = 'webhook', url = '{server.url}')")
    world.load(0, 10)
    until(lambda: world.sinks["hook"].state == "waiting")
    with pytest.raises(PresageError, match="no answer from") as late:
        world.sinks.flush(timeout=0.3)
    assert late.value.code == "TIMEOUT"


def test_what_a_sink_waits_for_is_logged_with_its_code(world: Delivering, caplog: pytest.LogCaptureFixture) -> None:
    server = Server()
    server.close()
    world.create(f"CREATE SINK hook FROM odd WITH (sink = 'webhook', url = '{server.url}')")
    world.load(0, 10)
    until(lambda: world.sinks["hook"].state == "waiting")
    (line,) = [json.loads(JsonLines().format(r)) for r in caplog.records if "'hook'" in r.getMessage()]
    assert (line["code"], line["sink"], line["state"]) == ("SINK_STATE", "hook", "waiting")
    assert "no answer from" in line["why"]


def test_a_sink_that_is_stuck_holds_up_neither_statements_nor_other_sinks(world: Delivering, tmp_path: Path) -> None:
    held = threading.Event()
    world.home.deployments["odd"].subscribe(lambda row: held.wait(30), name="stuck")
    world.create(f"CREATE SINK out FROM odd WITH (sink = 'parquet', path = '{tmp_path / 'out'}', every = '0 sec')")
    world.load(0, 10)
    world.sinks.flush("out", timeout=30)
    assert len(world.home.rows("odd")) == 5
    held.set()


def test_a_failure_is_tried_again_with_pauses_and_a_flush_tries_now(
    world: Delivering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "FIRST_PAUSE", 600.0)
    monkeypatch.setattr(runner, "LONGEST_PAUSE", 600.0)
    server = Server()
    server.answers = [(500, {})]
    world.create(f"CREATE SINK hook FROM odd WITH (sink = 'webhook', url = '{server.url}')")
    world.load(0, 10)
    until(lambda: world.sinks["hook"].state == "waiting")
    world.load(10, 10)
    time.sleep(0.1)
    assert len(server.requests) == 1
    world.sinks.flush("hook", timeout=30)
    assert server.taken() == world.expected()
    world.sinks.close()
    server.close()


def test_drain_of_a_statement_waits_for_a_named_function(world: Delivering) -> None:
    seen: list[int] = []
    live = world.home.deployments["odd"]
    live.subscribe(lambda row: (time.sleep(0.02), seen.append(row["x"])), name="mail")
    world.load(0, 10)
    live.drain(timeout=30)
    assert seen == [1, 3, 5, 7, 9]


def test_a_function_may_drop_its_own_sink(world: Delivering) -> None:
    done = threading.Event()

    def take(row: Any) -> None:
        world.home.workspace.catalog = world.home.catalog.without("mail")
        world.sinks.follow()
        done.set()

    world.home.deployments["odd"].subscribe(take, name="mail")
    world.load(0, 2)
    assert done.wait(30)
    until(lambda: "mail" not in world.sinks)


def test_our_own_mistake_is_shown_and_the_rows_stay(
    world: Delivering, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("presage.sinks.parquet.ParquetTarget.prepare", lambda *_: 1 / 0)
    world.create(f"CREATE SINK out FROM odd WITH (sink = 'parquet', path = '{tmp_path / 'out'}', every = '0 sec')")
    world.load(0, 10)
    until(lambda: world.sinks["out"].state == "failed")
    assert "ZeroDivisionError" in world.sinks["out"].why
    with pytest.raises(PresageError, match="SINK_FAILED"):
        world.sinks.flush("out")
    assert world.sinks["out"].left == 5


def test_a_place_that_is_damaged_is_an_error_and_not_a_beginning(tmp_path: Path) -> None:
    world = Delivering(tmp_path)
    world.create(f"CREATE SINK out FROM odd WITH (sink = 'parquet', path = '{tmp_path / 'out'}')")
    world.load(0, 10)
    world.drain("out")
    world.die()
    place = max((tmp_path / "home" / "sinks").glob("*.json"))
    place.write_text("{")
    world = Delivering(tmp_path)
    assert world.step("out") is None
    assert world.sinks["out"].state == "failed"
    assert "damaged" in world.sinks["out"].why
    world.close()


def test_a_sink_of_a_statement_that_is_not_there_is_refused(world: Delivering, tmp_path: Path) -> None:
    with pytest.raises(PresageError, match="there is no statement named 'even'"):
        world.create("CREATE SINK out FROM even WITH (sink = 'callback')")
    assert "out" not in world.sinks


def test_sinks_that_nobody_holds_take_their_threads_along(tmp_path: Path) -> None:
    world = Delivering(tmp_path)
    world.create("CREATE SINK out FROM odd WITH (sink = 'callback')")
    world.sinks.start()
    thread = world.running("out")._thread
    world.home.close()
    del world
    until(lambda: gc.collect() >= 0 and not thread.is_alive())


def test_a_closed_engine_delivers_nothing_and_says_so(tmp_path: Path) -> None:
    world = Delivering(tmp_path)
    world.sinks.start()
    world.close()
    with pytest.raises(PresageError, match="ENGINE_CLOSED"):
        world.sinks.flush()


def test_metrics_tell_how_a_sink_is(world: Delivering, tmp_path: Path) -> None:
    world.create(f"CREATE SINK out FROM odd WITH (sink = 'parquet', path = '{tmp_path / 'out'}', every = '0 sec')")
    world.load(0, 10)
    world.sinks.flush("out", timeout=30)
    told = {**sink_figures(world.sinks["out"])}
    assert (told["kind"], told["statement"], told["rows"], told["left"]) == ("parquet", "odd", len(world.expected()), 0)
    text = Metrics({"sinks": {"out": told}}).prometheus()
    assert f'presage_sink_rows_total{{sink="out",kind="parquet"}} {told["rows"]}\n' in text
    assert f'presage_sink_state{{sink="out",kind="parquet",state="{told["state"]}"}} 1\n' in text
