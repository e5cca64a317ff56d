"""The background thread that searches history for open events."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class HistoryReader:
    """One thread for all statements: it bounds the concurrent history queries. `wake` is called when one is done."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._pool = ThreadPoolExecutor(1, "presage-history")
        self._open: dict[str, Future[object]] = {}

    def read(self, number: str, work: Callable[[], T]) -> Future[T]:
        future = self._pool.submit(work)
        self._open[number] = future  # type: ignore[assignment]
        future.add_done_callback(lambda _: self._wake())
        return future

    def is_busy(self, number: str) -> bool:
        """Whether a search of that statement is running or queued."""
        future = self._open.get(number)
        return future is not None and not future.done()

    def close(self) -> None:
        """Wait for the running search; cancel those in the queue."""
        self._pool.shutdown(wait=True, cancel_futures=True)
