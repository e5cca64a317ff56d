"""Input positions, and the range of the log between two of them with the files that hold its events.

A statement at (offset, watermark) has read every event that arrived up to the offset and whose time is at most the
watermark. Up to (offset', watermark') it reads the events that arrived since, up to the new watermark, and earlier
arrivals between the two watermarks. Nothing is buffered: events ahead of the watermark stay in the log, where a
statement that predicts reads them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.live.derived import derived_table
from presage.plan.nodes import Scan
from presage.storage import Archive, FileSet

END_OF_TIME = 2**62


@dataclass(frozen=True)
class InputPosition:
    """How far a statement has read."""

    offset: int = 0
    watermark: int = NOTHING_KNOWN

    def to_json(self) -> dict[str, int]:
        return {"position": self.offset, "clock": self.watermark}  # keys of the journal

    @classmethod
    def from_json(cls, content: Mapping[str, int]) -> InputPosition:
        return cls(content["position"], content["clock"])


@dataclass(frozen=True)
class InputRange:
    """From one position to a later one."""

    start: InputPosition
    end: InputPosition

    def files(self, scan: Scan, archive: Archive | Snapshots) -> list[FileSet]:
        """The files of a scan's events in the range; at most two sets, which share no event."""
        if self.end.watermark == NOTHING_KNOWN:
            return []
        if scan.made:
            return self._made_files(scan, archive)
        last = self.end.offset if scan.until is None else min(self.end.offset, scan.until)
        first = self.start.offset if scan.after is None else max(self.start.offset, scan.after)
        low, high = scan.time.low, self.end.watermark + 1
        if scan.time.high is not None:
            high = min(high, scan.time.high)
        sets = []
        if last > first:
            sets.append(archive.snapshot(scan.stream, last, low, high, first))
        waiting = min(self.start.offset, last)
        if waiting > (scan.after or 0) and self.end.watermark > self.start.watermark:
            low = self.start.watermark + 1 if low is None else max(low, self.start.watermark + 1)
            # Mostly nothing waits: one cached lookup without a start offset serves all statements.
            if archive.snapshot(scan.stream, waiting, low, high, None).paths:
                sets.append(archive.snapshot(scan.stream, waiting, low, high, scan.after))
        return [files for files in sets if files.paths]

    def ahead(self, scan: Scan, archive: Archive | Snapshots, since: int | None = None) -> list[FileSet]:
        """The files of a scan's events that have arrived ahead of the watermark; `since`: only those that arrived after
        that offset."""
        last = self.end.offset if scan.until is None else min(self.end.offset, scan.until)
        first = max((offset for offset in (scan.after, since) if offset is not None), default=None)
        low, high = self.end.watermark + 1, scan.time.high
        low = low if scan.time.low is None else max(low, scan.time.low)
        if last <= (first or 0) or (high is not None and low >= high):
            return []
        files = archive.snapshot(scan.stream, last, low, high, first)
        return [files] if files.paths else []

    def _made_files(self, scan: Scan, archive: Archive | Snapshots) -> list[FileSet]:
        """The files of rows of other statements, up to the previous batch; those of this batch are in memory."""
        table = derived_table(scan.stream)
        low, high = self.start.watermark + 1, self.end.watermark + 1
        if low >= high or not archive.holds(table):
            return []
        low = low if scan.time.low is None else max(low, scan.time.low)
        high = high if scan.time.high is None else min(high, scan.time.high)
        files = archive.snapshot(table, self.end.offset, low, high, None)
        return [files] if files.paths else []


class Snapshots:
    """An archive whose snapshots are cached for one batch."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._cache: dict[tuple[str, int, int | None, int | None, int | None], FileSet] = {}

    def holds(self, stream: str) -> bool:
        return self._archive.holds(stream)

    def snapshot(self, stream: str, last: int, low: int | None, high: int | None, first: int | None) -> FileSet:
        key = stream, last, low, high, first
        if key not in self._cache:
            self._cache[key] = self._archive.snapshot(*key)
        return self._cache[key]


def cut_within(sets: Sequence[tuple[FileSet, InputRange]], limit: int) -> int | None:
    """A time up to which the ranges hold about `limit` events, by the files' statistics; None if they hold no more.

    At least one range makes progress: each counts from its own start to its own end.
    """
    if sum(files.rows for files, _ in sets) <= limit:
        return None
    pieces = []
    for files, input_range in sets:
        for first, last, count in files.spans:
            begin, end = max(first, input_range.start.watermark + 1), min(last, input_range.end.watermark)
            if begin <= end:
                pieces.append((begin, end, count / (last - first + 1)))
    low, high = min((p[0] for p in pieces), default=0) - 1, max((p[1] for p in pieces), default=0)
    if _rows_up_to(pieces, high) <= limit:
        return None
    times = range(low + 1, high)
    return low + 1 + bisect_left(times, True, key=lambda time: _rows_up_to(pieces, time) > limit)


def _rows_up_to(pieces: Sequence[tuple[int, int, float]], time: int) -> float:
    """An estimate of the events up to a time: those of a file are evenly distributed over its time."""
    return sum(density * (min(end, time) - begin + 1) for begin, end, density in pieces if begin <= time)
