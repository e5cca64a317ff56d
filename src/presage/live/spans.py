"""Where a statement is and where it shall be in the log -> the files that hold the events it has to take in.

A statement stands at (position, clock): it has taken in every event that arrived up to the position and whose time is
at most the clock. Going on to (position', clock') it takes in those that arrived since, up to the new clock, and those
that were there before and were ahead of the old clock. Nothing is kept aside: the log itself is the buffer in which
events wait for their time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from presage.columnar.holding import NOTHING_KNOWN
from presage.log import Archive, FileSet
from presage.plan.nodes import Scan


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

    def files(self, scan: Scan, archive: Archive) -> list[FileSet]:
        """The files that hold what a scan has to take in; at most two sets, which share no event."""
        if self.end.clock == NOTHING_KNOWN:
            return []
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
            found.append(archive.snapshot(scan.stream, waiting, low, high, scan.after))
        return [files for files in found if files.paths]


def cut_within(found: Sequence[FileSet], low: int, high: int, limit: int) -> int:
    """`high`, or an earlier time up to which the files hold about `limit` events, as far as statistics can tell."""
    if sum(files.rows for files in found) <= limit:
        return high
    pieces = [piece for files in found for piece in files.spans]
    first = max(low, min(piece[0] for piece in pieces) - 1)
    last = min(high, max(piece[1] for piece in pieces))
    if first >= last or _rows_up_to(pieces, low, last) <= limit:
        return high
    while last - first > 1:
        middle = (first + last) // 2
        if _rows_up_to(pieces, low, middle) <= limit:
            first = middle
        else:
            last = middle
    return last


def _rows_up_to(pieces: Sequence[tuple[int, int, int]], low: int, time: int) -> float:
    """Events in (low, time], if those of a file are spread evenly over its time."""
    rows = 0.0
    for first, last, count in pieces:
        begin, end = max(first, low + 1), min(last, time)
        if end >= begin:
            rows += count * (end - begin + 1) / (last - first + 1)
    return rows
