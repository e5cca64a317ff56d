"""Where a statement is and where it shall be in the log -> the files that hold the events it has to take in.

A statement stands at (position, clock): it has taken in every event that arrived up to the position and whose time is
at most the clock. Going on to (position', clock') it takes in those that arrived since, up to the new clock, and those
that were there before and were ahead of the old clock. Nothing is kept aside: the log itself is the buffer in which
events wait for their time, and in which a statement that foretells finds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from presage.columnar.holding import NOTHING_KNOWN
from presage.live.derived import derived_table
from presage.log import Archive, FileSet
from presage.plan.nodes import Scan

END_OF_TIME = 2**62


@dataclass(frozen=True)
class Place:
    """How far a statement is."""

    position: int = 0
    clock: int = NOTHING_KNOWN


@dataclass(frozen=True)
class Span:
    """From one place to a later one."""

    start: Place
    end: Place

    def files(self, scan: Scan, archive: Archive | Snapshots) -> list[FileSet]:
        """The files that hold what a scan has to take in; at most two sets, which share no event."""
        if self.end.clock == NOTHING_KNOWN:
            return []
        if scan.made:
            return self._made_files(scan, archive)
        last = self.end.position if scan.until is None else min(self.end.position, scan.until)
        first = self.start.position if scan.after is None else max(self.start.position, scan.after)
        low, high = scan.time.low, self.end.clock + 1
        if scan.time.high is not None:
            high = min(high, scan.time.high)
        found = []
        if last > first:
            found.append(archive.snapshot(scan.stream, last, low, high, first))
        waiting = min(self.start.position, last)
        if waiting > (scan.after or 0) and self.end.clock > self.start.clock:
            low = self.start.clock + 1 if low is None else max(low, self.start.clock + 1)
            # Mostly nothing waits, for no statement: that is asked once, wherever they began.
            if archive.snapshot(scan.stream, waiting, low, high, None).paths:
                found.append(archive.snapshot(scan.stream, waiting, low, high, scan.after))
        return [files for files in found if files.paths]

    def ahead(self, scan: Scan, archive: Archive | Snapshots, since: int | None = None) -> list[FileSet]:
        """The files that hold what has arrived for a scan and lies beyond the clock; `since`: only what arrived after
        that position."""
        last = self.end.position if scan.until is None else min(self.end.position, scan.until)
        first = max((known for known in (scan.after, since) if known is not None), default=None)
        low, high = self.end.clock + 1, scan.time.high
        low = low if scan.time.low is None else max(low, scan.time.low)
        if last <= (first or 0) or (high is not None and low >= high):
            return []
        files = archive.snapshot(scan.stream, last, low, high, first)
        return [files] if files.paths else []

    def _made_files(self, scan: Scan, archive: Archive | Snapshots) -> list[FileSet]:
        """What statements have made before this batch, beyond the old clock. What they make in it comes from them."""
        table = derived_table(scan.stream)
        low, high = self.start.clock + 1, self.end.clock + 1
        if low >= high or not archive.holds(table):
            return []
        low = low if scan.time.low is None else max(low, scan.time.low)
        high = high if scan.time.high is None else min(high, scan.time.high)
        files = archive.snapshot(table, self.end.position, low, high, None)
        return [files] if files.paths else []


class Snapshots:
    """An archive that is asked the same many times in one batch, and looks once."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._found: dict[tuple[str, int, int | None, int | None, int | None], FileSet] = {}

    def holds(self, stream: str) -> bool:
        return self._archive.holds(stream)

    def snapshot(self, stream: str, last: int, low: int | None, high: int | None, first: int | None) -> FileSet:
        key = stream, last, low, high, first
        if key not in self._found:
            self._found[key] = self._archive.snapshot(*key)
        return self._found[key]


def cut_within(found: Sequence[tuple[FileSet, Span]], limit: int) -> int | None:
    """A time up to which the spans hold about `limit` events, as far as statistics can tell; None if they hold no more.

    Some span always goes on to a later time than it begins with: each counts from its own beginning to its own end.
    """
    if sum(files.rows for files, _ in found) <= limit:
        return None
    pieces = []
    for files, span in found:
        for first, last, count in files.spans:
            begin, end = max(first, span.start.clock + 1), min(last, span.end.clock)
            if begin <= end:
                pieces.append((begin, end, count / (last - first + 1)))
    low, high = min((p[0] for p in pieces), default=0) - 1, max((p[1] for p in pieces), default=0)
    if _rows_up_to(pieces, high) <= limit:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if _rows_up_to(pieces, middle) <= limit:
            low = middle
        else:
            high = middle
    return high


def _rows_up_to(pieces: Sequence[tuple[int, int, float]], time: int) -> float:
    """Events up to a time, if those of a file are spread evenly over its time."""
    return sum(density * (min(end, time) - begin + 1) for begin, end, density in pieces if begin <= time)
