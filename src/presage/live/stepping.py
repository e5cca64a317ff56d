"""Steps of a batch, in a thread that can be left behind: who runs the batch waits no longer than statements may take.

A step that takes too long is told to stop, and left if it does not: what it would have given goes nowhere, because only
the thread that waits for it publishes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from numba.core import event

from presage.arrays.cancel import CancelledError
from presage.columnar.cancelling import cancel_thread, leave_thread
from presage.errors import PresageError, error

T = TypeVar("T")

SECONDS_PER_BATCH = 60.0  # that one statement may take for one batch
LOOK_SECONDS = 0.5
# How long a step that is told to stop is waited for, before it is left behind.
GRACE_SECONDS = 0.2


class StepOverdueError(Exception):
    """A statement has taken too long; no number: several of them together."""

    def __init__(self, number: str) -> None:
        super().__init__(number)
        self.number = number


class BatchInterruptedError(Exception):
    """Somebody does not want to wait for the batch: nothing of it has happened."""


class Watch:
    """What is being stepped now, since when, and for how long it may be."""

    def __init__(self, seconds: float = float("inf")) -> None:
        self.seconds = seconds
        self.number = ""
        self.since = time.monotonic()
        self._allowed = float("inf")
        self.abandoned = False
        self.interrupted = False

    def begin(self, number: str, times: int = 1) -> None:
        """A statement, or several (an empty number) that may take so many times as long."""
        self.check()
        self.number, self.since, self._allowed = number, time.monotonic(), self.seconds * times

    def check(self) -> None:
        """Before anything that others use, too, is touched."""
        if self.abandoned:
            raise CancelledError

    def left(self) -> float:
        """Seconds. Compiling kernels, once in the life of an installation, is not the statement's."""
        if _COMPILING.running:
            self.since = time.monotonic()
        return self.since + self._allowed - time.monotonic()


class Stepper:
    """Runs one piece of work at a time."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self.watch: Watch | None = None  # of what runs now

    def interrupt(self) -> None:
        """Let what runs now, if something does, end with a BatchInterruptedError for who waits."""
        with self._news:
            if self.watch is not None:
                self.watch.interrupted = True
                self._news.notify_all()

    def run(self, work: Callable[[], T], watch: Watch, until: float | None = None) -> T:
        """What `work` gives. Raises if it takes longer than its watch allows, or than `until` (monotonic)."""
        made: list[Any] = []

        def body() -> None:
            try:
                outcome = (work(), None)
            except BaseException as failure:
                outcome = (None, failure)  # type: ignore[assignment]
            finally:
                leave_thread()
            with self._news:
                made.append(outcome)
                self._news.notify_all()

        thread = threading.Thread(target=body, name="presage-step", daemon=True)
        with self._news:
            self.watch = watch
            watch.since = time.monotonic()
        thread.start()
        try:
            with self._news:
                while not made:
                    self._news.wait(_wait_for(watch, until))
        except BaseException:
            _abandon(thread, watch)
            raise
        finally:
            self.watch = None
        value, failure = made[0]
        if failure is not None:
            raise failure
        return value  # type: ignore[no-any-return]


def _wait_for(watch: Watch, until: float | None) -> float:
    """Until the next look, in seconds; raises if there is none."""
    if watch.interrupted or (until is not None and time.monotonic() >= until):
        raise BatchInterruptedError
    left = watch.left()
    if left <= 0:
        raise StepOverdueError(watch.number)
    return min(left, LOOK_SECONDS, *([] if until is None else [max(until - time.monotonic(), 0.001)]))


def _abandon(thread: threading.Thread, watch: Watch) -> None:
    watch.abandoned = True
    if thread.is_alive() and thread.ident is not None:
        cancel_thread(thread.ident)
        thread.join(GRACE_SECONDS)


def too_slow(statement: str, seconds: float) -> PresageError:
    return error(
        "LIMIT", what=f"the time that statement '{statement}' takes for one batch", limit_name="seconds per batch",
        limit=f"{seconds:g}",
        fix="make its conditions cheaper, or open the engine with a larger seconds_per_batch, and resume it",
    )  # fmt: skip


class _Compiling(event.Listener):
    """Whether Numba compiles something now."""

    def __init__(self) -> None:
        self.running = 0

    def on_start(self, event: Any) -> None:
        self.running += 1

    def on_end(self, event: Any) -> None:
        self.running -= 1


_COMPILING = _Compiling()
event.register("numba:compile", _COMPILING)  # type: ignore[no-untyped-call]
