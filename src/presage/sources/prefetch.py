"""Prefetching of a topic's messages: the rest of the last delivery, and what a thread reads ahead.

While a delivery is processed, Spark reads the next messages. They are dropped if they do not start at the cursor.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

Offsets = dict[int, int]  # by partition
Ranges = dict[int, tuple[int, int]]  # first offset, and the one after the last, by partition
Read = Callable[[Ranges], pa.Table]
PARTITION, OFFSET = "partition", "offset"


@dataclass(frozen=True)
class Fetched:
    """The messages of ranges of offsets, sorted by partition and offset."""

    ranges: Ranges
    messages: pa.Table

    def beyond(self, cuts: Offsets) -> Fetched | None:
        """The messages from the cuts on, of the partitions with a cut."""
        ranges = {p: (cut, self.ranges[p][1]) for p, cut in cuts.items() if cut < self.ranges[p][1]}
        parts = [self.messages.slice(0, 0)]
        for partition, (first, _) in sorted(ranges.items()):
            rows = _of(self.messages, partition)
            parts.append(rows.slice(int(np.searchsorted(rows[OFFSET].to_numpy(), first))))
        return Fetched(ranges, pa.concat_tables(parts)) if ranges else None


class PendingFetch:
    """Messages that a thread is reading."""

    def __init__(self, read: Read, ranges: Ranges) -> None:
        self.ranges = ranges
        self._messages: Future[pa.Table] = Future()

        def run() -> None:
            try:
                self._messages.set_result(read(ranges))
            except BaseException as failure:  # raised when the messages are requested
                self._messages.set_exception(failure)

        threading.Thread(target=run, name="presage-kafka-ahead", daemon=True).start()

    def result(self) -> Fetched:
        return Fetched(self.ranges, in_order(self._messages.result()))


class Prefetch:
    """The messages of one topic that are read and not delivered yet."""

    def __init__(self) -> None:
        self._topic: str | None = None  # its id
        self._held: Fetched | None = None
        self._coming: PendingFetch | None = None

    def drop(self) -> None:
        self._held = self._coming = None

    def left_over(self, topic: str, start: Offsets) -> Fetched:
        """The rest of the last delivery, if it starts at `start`."""
        if topic != self._topic:
            self.drop()
        self._topic = topic
        held, self._held = self._held, None
        if held is None or any(start.get(p) != first for p, (first, _) in held.ranges.items()):
            return Fetched({}, pa.table({}))
        return held

    def come(self, start: Offsets) -> Fetched | None:
        """Wait for the messages that are being read, if they start at `start`; else None."""
        coming, self._coming = self._coming, None
        if coming is None or any(start.get(p) != first for p, (first, _) in coming.ranges.items()):
            return None
        return coming.result()

    def read_on(self, read: Read, ranges: Ranges) -> None:
        self._coming = PendingFetch(read, ranges)

    def keep(self, held: Fetched | None) -> None:
        self._held = held


def in_order(messages: pa.Table) -> pa.Table:
    """Messages sorted by partition and offset. Mostly they are: Spark has one task for each partition."""
    partitions, offsets = messages[PARTITION].to_numpy(), messages[OFFSET].to_numpy()
    if np.any(np.diff(partitions) < 0) or np.any((np.diff(offsets) < 0) & (np.diff(partitions) == 0)):
        return messages.sort_by([(PARTITION, "ascending"), (OFFSET, "ascending")])
    return messages


def together(several: Iterable[Fetched]) -> Fetched:
    """Consecutive ranges as one, without copying messages."""
    some = [held for held in several if held.ranges]
    ranges: Ranges = {}
    for held in some:
        for partition, (first, end) in held.ranges.items():
            ranges[partition] = (ranges.get(partition, (first, end))[0], end)
    parts = [_of(held.messages, p) for p in sorted(ranges) for held in some]
    return Fetched(ranges, pa.concat_tables([some[0].messages.slice(0, 0), *(part for part in parts if part.num_rows)]))


def _of(messages: pa.Table, partition: int) -> pa.Table:
    first, end = np.searchsorted(messages[PARTITION].to_numpy(), [partition, partition + 1])
    return messages.slice(int(first), int(end - first))
