"""Messages of a topic that were read before they are asked for: what a delivery left over, and what a thread reads on.

While a delivery is read and appended, Spark reads the messages behind it: that they will be asked for is likely, no
more. Where they do not go on from where the cursor is, they are dropped, and read again.
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
    """Messages of these ranges, by partition and offset."""

    ranges: Ranges
    messages: pa.Table

    def beyond(self, cuts: Offsets) -> Fetched | None:
        """Those from the cuts on, of the partitions that have one."""
        ranges = {p: (cut, self.ranges[p][1]) for p, cut in cuts.items() if cut < self.ranges[p][1]}
        parts = [self.messages.slice(0, 0)]
        for partition, (first, _) in sorted(ranges.items()):
            rows = _of(self.messages, partition)
            parts.append(rows.slice(int(np.searchsorted(rows[OFFSET].to_numpy(), first))))
        return Fetched(ranges, pa.concat_tables(parts)) if ranges else None


class PendingFetch:
    """Messages that are being read in a thread of their own."""

    def __init__(self, read: Read, ranges: Ranges) -> None:
        self.ranges = ranges
        self._messages: Future[pa.Table] = Future()

        def run() -> None:
            try:
                self._messages.set_result(read(ranges))
            except BaseException as failure:  # it meets whoever asks for the messages
                self._messages.set_exception(failure)

        threading.Thread(target=run, name="presage-kafka-ahead", daemon=True).start()

    def held(self) -> Fetched:
        return Fetched(self.ranges, in_order(self._messages.result()))


class Prefetch:
    """What has been read of one topic and was not delivered yet."""

    def __init__(self) -> None:
        self._topic: str | None = None  # one that was made again is another
        self._held: Fetched | None = None
        self._coming: PendingFetch | None = None

    def drop(self) -> None:
        self._held = self._coming = None

    def left_over(self, topic: str, start: Offsets) -> Fetched:
        """What the last delivery left of the messages from `start` on."""
        if topic != self._topic:
            self.drop()
        self._topic = topic
        held, self._held = self._held, None
        if held is None or any(start.get(p) != first for p, (first, _) in held.ranges.items()):
            return Fetched({}, pa.table({}))
        return held

    def come(self, start: Offsets) -> Fetched | None:
        """What was read meanwhile, if it goes on from there; whoever asks waits for it."""
        coming, self._coming = self._coming, None
        if coming is None or any(start.get(p) != first for p, (first, _) in coming.ranges.items()):
            return None
        return coming.held()

    def read_on(self, read: Read, ranges: Ranges) -> None:
        self._coming = PendingFetch(read, ranges)

    def keep(self, held: Fetched | None) -> None:
        self._held = held


def in_order(messages: pa.Table) -> pa.Table:
    """By partition and offset. Mostly they are: Spark has a task for each partition."""
    partitions, offsets = messages[PARTITION].to_numpy(), messages[OFFSET].to_numpy()
    if np.any(np.diff(partitions) < 0) or np.any((np.diff(offsets) < 0) & (np.diff(partitions) == 0)):
        return messages.sort_by([(PARTITION, "ascending"), (OFFSET, "ascending")])
    return messages


def together(several: Iterable[Fetched]) -> Fetched:
    """Ranges that go on from each other as one, without a copy of a message."""
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
