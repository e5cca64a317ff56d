"""The thread that calls the live job where no streaming query can: once for many ticks, again after a failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from presage.execution.spark import streaming
from presage.execution.spark.streaming import ThreadTicker


def eventually(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_ticks_during_a_call_make_one_more_call() -> None:
    calls, go = list[int](), threading.Event()

    def work() -> None:
        calls.append(1)
        go.wait(20)

    ticker = ThreadTicker(work)
    eventually(lambda: len(calls) == 1)
    for _ in range(5):
        ticker.tick()
    go.set()
    eventually(lambda: len(calls) == 2)
    ticker.stop()
    assert len(calls) == 2
    assert not ticker.running


def test_a_call_that_fails_is_told_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "RETRY_SECONDS", 0.05)
    calls, told = list[int](), list[str]()

    def work() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise OSError("the disk is full")
        told.append(str(ticker.failure))

    ticker = ThreadTicker(work)
    eventually(lambda: len(told) == 1 and ticker.failure is None)
    ticker.stop()
    assert told == ["the disk is full"]


def test_it_may_be_stopped_by_what_it_calls() -> None:
    stopped, ready = threading.Event(), threading.Event()

    def work() -> None:
        ready.wait(20)
        ticker.stop()
        stopped.set()

    ticker = ThreadTicker(work)
    ready.set()
    assert stopped.wait(20)
    eventually(lambda: not ticker.running)
