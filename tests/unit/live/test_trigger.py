"""Who calls the live job: before there is a streaming query, and while the engine goes away."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import pytest

from presage.errors import error
from presage.live import trigger
from presage.live.trigger import Trigger


class Batches:
    """A job with so many batches to do."""

    def __init__(self, left: int, native: bool = False) -> None:
        self.left = left
        self.programs = {"1": SimpleNamespace(native=native)}
        self.running, self.may_end = threading.Event(), threading.Event()
        self.may_end.set()
        self.failure: Exception | None = None

    def leave(self) -> None:
        """The batch that runs is not interrupted here."""

    def advance(self, history: object = None) -> bool:
        self.running.set()
        assert self.may_end.wait(10)
        if self.failure is not None:
            raise self.failure
        self.left -= 1
        return self.left >= 0


def driver_of(job: Batches) -> Trigger:
    def start(work: object) -> Any:
        raise AssertionError("no streaming query was asked for")

    return Trigger(start, cast(Any, None), cast(Any, job))


def test_what_has_piled_up_is_worked_off_without_a_streaming_query() -> None:
    job = Batches(3)
    driver_of(job).catch_up()
    assert job.left == -1


def test_a_statement_that_needs_the_session_waits_for_it() -> None:
    job = Batches(3, native=True)
    driver_of(job).catch_up()
    assert job.left == 3


def test_stopping_waits_for_a_batch_that_runs_early_and_lets_none_follow() -> None:
    job = Batches(3)
    job.may_end.clear()
    driver = driver_of(job)
    early, stopping = threading.Thread(target=driver.catch_up), threading.Thread(target=driver.stop)
    early.start()
    assert job.running.wait(10)
    stopping.start()
    stopping.join(0.1)
    assert stopping.is_alive()
    job.may_end.set()
    stopping.join(10)
    early.join(10)
    assert not stopping.is_alive()
    assert job.left == 2


def test_what_goes_wrong_early_is_left_to_the_streaming_query() -> None:
    job = Batches(3)
    job.failure = error("INTERNAL", what="a test")
    # Not through the logger's own handlers: other tests configure logging.
    with patch.object(trigger, "tell") as told:
        driver_of(job).catch_up()
    assert job.left == 3
    assert told.call_args.args[1] == "CATCH_UP_FAILED"


class Query:
    """A streaming query that Spark may end."""

    failure = None

    def __init__(self) -> None:
        self.active, self.stopped, self.ticks = True, False, 0

    @property
    def running(self) -> bool:
        if self.stopped:
            raise ConnectionError("the JVM is gone")
        return self.active

    def stop(self) -> None:
        self.stopped = True

    def tick(self) -> None:
        self.ticks += 1


def test_a_query_that_spark_has_ended_is_begun_again_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trigger, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(trigger, "TRY_AGAIN_SECONDS", 0.0)
    queries: list[Query] = []
    broken = False

    def start(work: object) -> Any:
        if broken:
            raise ConnectionError("the JVM is gone")
        queries.append(Query())
        return queries[-1]

    log = SimpleNamespace(follow=lambda follower: None, unfollow=lambda follower: None)
    driver = Trigger(start, cast(Any, log), cast(Any, SimpleNamespace(overdue=False, leave=lambda: None)))
    driver.wake()
    assert queries == []  # nobody has asked for batches
    driver.ensure_running()
    driver.wake()
    assert len(queries) == 1
    queries[0].active = False
    with patch.object(trigger, "tell") as told:
        driver.wake()
        assert (len(queries), queries[0].stopped, queries[1].ticks) == (2, True, 1)
        assert driver.trouble() is None
        queries[1].active, broken = False, True
        driver.wake()
        driver.wake()
        assert "the JVM is gone" in str(driver.trouble())
        broken = False
        driver.wake()
    assert (len(queries), driver.trouble()) == (3, None)
    assert [call.args[1] for call in told.call_args_list] == ["QUERY_ENDED", "QUERY_ENDED", "BATCH_FAILED"]
    driver.stop()
    driver.wake()
    assert len(queries) == 3
