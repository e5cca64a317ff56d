"""The thread that searches history for recalls, beside the batches."""

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
        """For the statement of that number."""
        future = self._pool.submit(work)
        self._open[number] = future  # type: ignore[assignment]
        future.add_done_callback(lambda _: self._wake())
        return future

    def is_busy(self, number: str) -> bool:
        """Whether a search of that statement is not done yet."""
        future = self._open.get(number)
        return future is not None and not future.done()

    def close(self) -> None:
        """Waits for the search that runs; those in the queue are cancelled."""
        self._pool.shutdown(wait=True, cancel_futures=True)
