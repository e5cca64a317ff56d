"""`source = 'spark'` and `Engine.follow`: the micro-batches of a streaming DataFrame, each once.

Spark reads with its own connector and notes its position in its checkpoint; executors write the rows into the archive.
The cursor names the last batch that the log has: the identity of the checkpoint, and the batch's number. A batch that
comes again after a crash is skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from presage.errors import error
from presage.sources.source import Source
from presage.storage import Cursor, Delivery

WAIT_SECONDS = 0.2  # for a batch, in one poll


class MicroBatch(Protocol):
    @property
    def frame(self) -> Any: ...
    @property
    def query(self) -> str: ...
    @property
    def number(self) -> int: ...


class Frame(Protocol):
    """See `presage.execution.spark.streamed_frame.StreamedFrame`."""

    def next_batch(self, seconds: float) -> MicroBatch | None: ...
    def settle(self) -> None: ...
    def stop(self) -> None: ...
    @property
    def has_more(self) -> bool: ...


class SparkSource(Source):
    name = "spark"

    def __init__(self, stream: str, open_frame: Callable[[], Frame]) -> None:
        super().__init__()
        self.pause = 0.0  # `read` waits by itself
        self._stream = stream
        self._frame = open_frame()

    def read(self, cursor: Cursor | None) -> Delivery | None:
        batch = self._frame.next_batch(WAIT_SECONDS)
        while batch is not None and _has(cursor, batch, self._stream):
            self._frame.settle()
            batch = self._frame.next_batch(0)
        if batch is None:
            return None
        return Delivery(self.name, cursor, {"query": batch.query, "batch": batch.number}, frame=batch.frame)

    def settle(self, delivery: Delivery) -> None:
        self._frame.settle()

    @property
    def left(self) -> int:
        return int(self._frame.has_more)

    def position(self, cursor: Cursor | None) -> str:
        return f"micro-batch {cursor['batch']}" if cursor is not None else "not begun"

    def close(self) -> None:
        self._frame.stop()


def _has(cursor: Cursor | None, batch: MicroBatch, stream: str) -> bool:
    """Whether the log has a batch. With another checkpoint its rows cannot be told from those that the log has."""
    if cursor is None:
        return False
    if cursor["query"] != batch.query:
        raise error("CHECKPOINT_CHANGED", stream=stream, batch=cursor["batch"])
    return int(cursor["batch"]) >= batch.number
