"""The thread in which the steps of a batch run, with a deadline for each step.

A step that takes too long is cancelled, and abandoned if it does not stop: its result is dropped, because only the
waiting thread publishes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from numba.core import event

from presage.arrays.cancel import CancelledError
from presage.columnar.cancellation import cancel_thread, leave_thread
from presage.errors import PresageError, error

T = TypeVar("T")

SECONDS_PER_BATCH = 60.0  # that one statement may take for one batch
LOOK_SECONDS = 0.5
# How long a cancelled step is waited for, before it is abandoned.
GRACE_SECONDS = 0.2


class StepOverdueError(Exception):
    """The step of a statement has taken too long; an empty number: a shared step."""

    def __init__(self, number: str) -> None:
        super().__init__(number)
        self.number = number


class BatchInterruptedError(Exception):
    """The batch was interrupted, and has had no effect."""


class StepDeadline:
    """The running step, its start, and the time that it may take."""

    def __init__(self, seconds: float = float("inf")) -> None:
        self.seconds = seconds
        self.number = ""
        self.since = time.monotonic()
        self._allowed = float("inf")
        self.abandoned = False
        self.interrupted = False

    def begin(self, number: str, times: int = 1) -> None:
        """Begin the step of a statement, or of several (an empty number); it may take so many times as long."""
        self.check()
        self.number, self.since, self._allowed = number, time.monotonic(), self.seconds * times

    def check(self) -> None:
        """Called by a step before it uses shared objects: an abandoned step stops here."""
        if self.abandoned:
            raise CancelledError

    def left(self) -> float:
        """Seconds left. Compiling kernels does not count."""
        if _COMPILING.running:
            self.since = time.monotonic()
        return self.since + self._allowed - time.monotonic()


class StepThread:
    """Runs one piece of work at a time."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self.deadline: StepDeadline | None = None  # of what runs now

    def interrupt(self) -> None:
        """End the running work, if there is any; the waiting thread raises a BatchInterruptedError."""
        with self._news:
            if self.deadline is not None:
                self.deadline.interrupted = True
                self._news.notify_all()

    def run(self, work: Callable[[], T], deadline: StepDeadline, until: float | None = None) -> T:
        """The result of `work`. Raises if it takes longer than its deadline allows, or than `until` (monotonic)."""
        results: list[Any] = []

        def body() -> None:
            try:
                outcome = (work(), None)
            except BaseException as failure:
                outcome = (None, failure)  # type: ignore[assignment]
            finally:
                leave_thread()
            with self._news:
                results.append(outcome)
                self._news.notify_all()

        thread = threading.Thread(target=body, name="presage-step", daemon=True)
        with self._news:
            self.deadline = deadline
            deadline.since = time.monotonic()
        thread.start()
        try:
            with self._news:
                while not results:
                    self._news.wait(_wait_for(deadline, until))
        except BaseException:
            _abandon(thread, deadline)
            raise
        finally:
            self.deadline = None
        value, failure = results[0]
        if failure is not None:
            raise failure
        return value  # type: ignore[no-any-return]


def _wait_for(deadline: StepDeadline, until: float | None) -> float:
    """Seconds until the next check; raises if the time is up."""
    if deadline.interrupted or (until is not None and time.monotonic() >= until):
        raise BatchInterruptedError
    left = deadline.left()
    if left <= 0:
        raise StepOverdueError(deadline.number)
    return min(left, LOOK_SECONDS, *([] if until is None else [max(until - time.monotonic(), 0.001)]))


def _abandon(thread: threading.Thread, deadline: StepDeadline) -> None:
    deadline.abandoned = True
    if thread.is_alive() and thread.ident is not None:
        cancel_thread(thread.ident)
        thread.join(GRACE_SECONDS)


def too_slow(statement: str, seconds: float) -> PresageError:
    what = f"the time that statement '{statement}' takes for one batch"
    fix = "make its conditions cheaper, or open the engine with a larger seconds_per_batch, and resume it"
    return error("LIMIT", what=what, limit_name="seconds per batch", limit=f"{seconds:g}", fix=fix)


class _Compiling(event.Listener):
    """How many compilations of Numba are running."""

    def __init__(self) -> None:
        self.running = 0

    def on_start(self, event: Any) -> None:
        self.running += 1

    def on_end(self, event: Any) -> None:
        self.running -= 1


_COMPILING = _Compiling()
event.register("numba:compile", _COMPILING)  # type: ignore[no-untyped-call]
