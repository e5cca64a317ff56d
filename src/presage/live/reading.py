"""Work that takes long and changes nothing in, what it gives out: done by one thread beside the batches."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class Reader:
    """One thread for all statements: the bound on history queries at once. `wake` is called when something is there."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._pool = ThreadPoolExecutor(1, "presage-history")
        self._open: dict[str, Future[object]] = {}

    def read(self, number: str, work: Callable[[], T]) -> Future[T]:
        """For the statement of that number."""
        found = self._pool.submit(work)
        self._open[number] = found  # type: ignore[assignment]
        found.add_done_callback(lambda _: self._wake())
        return found

    def is_busy(self, number: str) -> bool:
        """Whether what a statement waits for is not there yet."""
        found = self._open.get(number)
        return found is not None and not found.done()

    def close(self) -> None:
        """Waits for what is being read; what nobody has begun is left."""
        self._pool.shutdown(wait=True, cancel_futures=True)
