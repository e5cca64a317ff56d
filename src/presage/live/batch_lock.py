"""The lock of the live job: held by a batch, and by changes of statements between two batches.

A change interrupts a batch that takes long. After each interruption the next wait is twice as long, so that batches
complete however often statements are deployed and stopped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Seconds that a change waits for the running batch before it interrupts it.
PATIENCE = 1.0
AGAIN_SECONDS = 0.1


class BatchLock:
    """Reentrant. `interrupt` ends the running step, if there is one; `most`: the longest wait before that."""

    def __init__(self, interrupt: Callable[[], None], most: float) -> None:
        self._interrupt = interrupt
        self._most = most
        self._lock = threading.RLock()
        self._gate = threading.Condition()
        self._waiting = 0
        self._patience = PATIENCE

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    @contextmanager
    def for_batch(self) -> Iterator[None]:
        """Waiting changes go first: consecutive batches would starve them."""
        if not self._lock._is_owned():  # type: ignore[attr-defined]
            with self._gate:
                while self._waiting:
                    self._gate.wait()
        with self._lock:
            yield

    @contextmanager
    def between_batches(self) -> Iterator[None]:
        with self._gate:
            self._waiting += 1
        try:
            patience = self._patience
            while not self._lock.acquire(timeout=patience):
                self._interrupt()
                patience = AGAIN_SECONDS
        finally:
            with self._gate:
                self._waiting -= 1
                self._gate.notify_all()
        try:
            yield
        finally:
            self._lock.release()

    def was_interrupted(self) -> None:
        self._patience = min(2 * self._patience, max(self._most, PATIENCE))

    def was_published(self) -> None:
        self._patience = PATIENCE
