"""The trigger: one thread runs batches, once for many arrivals, again after a failure, and none after the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import pytest

from presage.live import trigger
from presage.live.trigger import Trigger


def eventually(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Batches:
    """A job with so many batches to run."""

    def __init__(self, left: int) -> None:
        self.left, self.rounds = left, 0
        self.overdue = False
        self.running, self.may_end = threading.Event(), threading.Event()
        self.may_end.set()
        self.failures: list[Exception] = []
        self.work: Callable[[], None] = lambda: None

    def leave(self) -> None:
        """The running batch is not interrupted here."""

    def advance(self, history: object = None) -> bool:
        self.running.set()
        assert self.may_end.wait(20)
        self.work()
        if self.failures:
            raise self.failures.pop()
        if self.left == 0:
            self.rounds += 1
            return False
        self.left -= 1
        return True


class Arrivals:
    """A log that tells its followers of records."""

    def __init__(self) -> None:
        self.point = SimpleNamespace(arrivals=0)
        self.followers: list[Callable[[], None]] = []

    def follow(self, follower: Callable[[], None]) -> None:
        self.followers.append(follower)

    def unfollow(self, follower: Callable[[], None]) -> None:
        self.followers.remove(follower)

    def record(self, arrivals: int) -> None:
        self.point.arrivals += arrivals
        for follower in self.followers:
            follower()


@pytest.fixture
def job() -> Batches:
    return Batches(3)


@pytest.fixture
def log() -> Arrivals:
    return Arrivals()


@pytest.fixture
def running(job: Batches, log: Arrivals) -> Iterator[Trigger]:
    made = Trigger(cast(Any, log), cast(Any, job))
    yield made
    made.stop()


def test_batches_run_until_nothing_is_left(running: Trigger, job: Batches) -> None:
    running.ensure_running()
    eventually(lambda: job.rounds > 0)
    assert job.left == 0


def test_arrivals_during_a_round_cause_one_more_round(running: Trigger, job: Batches, log: Arrivals) -> None:
    job.left = 0
    job.may_end.clear()
    running.ensure_running()
    assert job.running.wait(20)
    for _ in range(5):
        log.record(arrivals=1)
    job.may_end.set()
    eventually(lambda: job.rounds == 2)


def test_a_record_without_arrivals_runs_no_batch(running: Trigger, job: Batches, log: Arrivals) -> None:
    log.record(arrivals=4)
    running.ensure_running()
    eventually(lambda: job.rounds == 1)
    log.record(arrivals=1)
    eventually(lambda: job.rounds == 2)
    log.record(arrivals=0)
    time.sleep(0.1)
    assert job.rounds == 2


def test_a_batch_that_fails_is_told_once_and_retried(
    running: Trigger, job: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trigger, "RETRY_SECONDS", 0.02)
    job.failures = [OSError("the disk is full"), OSError("the disk is full")]
    troubles = list[str | None]()
    job.work = lambda: troubles.append(running.trouble())
    # Not through the logger's own handlers: other tests configure logging.
    with patch.object(trigger, "tell") as told:
        running.ensure_running()
        eventually(lambda: job.rounds == 1 and running.trouble() is None)
    assert [call.args[1] for call in told.call_args_list] == ["BATCH_FAILED"]
    assert troubles[:3] == [None, "the disk is full", "the disk is full"]


def test_stopping_waits_for_the_running_batch_and_lets_none_follow(job: Batches, log: Arrivals) -> None:
    job.may_end.clear()
    running = Trigger(cast(Any, log), cast(Any, job))
    running.ensure_running()
    assert job.running.wait(20)
    stopping = threading.Thread(target=running.stop)
    stopping.start()
    stopping.join(0.1)
    assert stopping.is_alive()
    job.may_end.set()
    stopping.join(20)
    assert not stopping.is_alive()
    assert job.left == 2
    assert log.followers == []
    running.ensure_running()
    time.sleep(0.05)
    assert job.left == 2


def test_a_batch_may_stop_its_own_trigger(running: Trigger, job: Batches) -> None:
    job.work = running.stop
    running.ensure_running()
    eventually(lambda: job.left == 2)
    time.sleep(0.05)
    assert job.left == 2


def test_the_wall_clock_wakes_only_a_trigger_that_runs(running: Trigger, job: Batches) -> None:
    job.overdue = True
    running.wake()
    time.sleep(0.05)
    assert not job.running.is_set()
    running.ensure_running()
    eventually(lambda: job.rounds == 1)
    running.wake()
    eventually(lambda: job.rounds == 2)
    job.overdue = False
    running.wake()
    time.sleep(0.05)
    assert job.rounds == 2
