"""A home in, the same home with fewer files out: compaction, retention, and the deletion of what nobody reads.

One maintenance runs at a time. It may run beside appends, batches and queries: long work is done outside the
committer's turn, and files leave the disk only after they have left their table, when no query holds them.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from presage.model.catalog import EventType
from presage.storage import failpoints
from presage.storage.chunks import Shape, arrivals, bucket_of, neighbours_to_merge, slices_to_compact
from presage.storage.columns import EVENTS, ORDER
from presage.storage.committer import Committer
from presage.storage.compaction import Compaction
from presage.storage.delta import LiveFile
from presage.storage.home import DERIVED, Home
from presage.storage.retention import InUse, Retention, retention_of
from presage.storage.staging import staged_by

# Readers that are not ours hold no leases: they have this long to read what they have listed.
GRACE = 600.0  # seconds
# A merge makes files that may be merged again; each round makes them larger by `Shape.fan`.
ROUNDS = 6


@dataclass(frozen=True)
class MaintenanceReport:
    """What one call did."""

    compacted: int = 0  # files that gave way to others
    given_up: int = 0  # groups of files that had changed meanwhile
    removed: int = 0  # events beyond the retention of their streams
    rows_removed: int = 0  # rows beyond the retention of their statements
    deleted: int = 0  # data files
    cleaned: int = 0  # entries of Delta logs
    waiting: int = 0  # data files that have left their tables and stay for a while, for those who read them


class Maintenance:
    def __init__(self, home: Home, committer: Committer) -> None:
        self._home = home
        self._committer = committer
        self._lock = threading.Lock()
        self._gone: dict[str, float] = {}  # when a file was first seen to be out of its table

    def run(
        self,
        types: Iterable[EventType],
        in_use: InUse | None = None,
        shape: Shape | None = None,
        grace: float = GRACE,
        now: int | None = None,
    ) -> MaintenanceReport:
        """All of it. Space is freed first: the disk may be full. `now`: microseconds, the wall clock if None."""
        streams = [event_type for event_type in types if event_type.has_events]
        with self._lock:
            removed = sum(self._retain(each, in_use or InUse(), now) for each in streams)
            deleted, cleaned = self._vacuum(grace), self._clean(grace)
            known = {table_name(event_type): event_type for event_type in streams}
            compacted, given_up = 0, 0
            for stream, table in self._committer.tables():
                files, lost = self._compact(stream, table, known.get(stream), shape or Shape())
                compacted, given_up = compacted + files, given_up + lost
            return MaintenanceReport(
                compacted, given_up, removed, deleted=deleted, cleaned=cleaned, waiting=len(self._gone)
            )

    def compact(self, event_type: EventType, shape: Shape | None = None) -> int:
        """Compact a stream; how many files gave way to others."""
        name = table_name(event_type)
        tables = [table for stream, table in self._committer.tables() if stream == name]
        with self._lock:
            return sum(self._compact(name, table, event_type, shape or Shape())[0] for table in tables)

    def thin(
        self, stream: str, whole: Collection[str], sparse: Collection[str], wanted: Callable[[pa.Table], pa.Table]
    ) -> None:
        """Drop whole files of a table of our own, and let sparse ones hold their wanted rows only."""
        with self._lock:
            found = self._committer.files_and_schema(stream, EVENTS)
            if found is None:
                return
            compaction = Compaction(self._home, self._committer, stream, EVENTS, found[1], Shape())
            dropped = [file for file in found[0] if file.name in whole]
            if dropped:
                compaction.drop(dropped)
            for file in found[0]:
                if file.name in sparse:
                    compaction.thin(file, wanted)

    def retain(self, event_type: EventType, in_use: InUse | None = None, now: int | None = None) -> int:
        """Remove the events of a stream beyond its retention that nobody needs; how many."""
        with self._lock:
            return self._retain(event_type, in_use or InUse(), now)

    def vacuum(self, grace: float = 0.0) -> int:
        """Delete the data files that have left their tables `grace` seconds ago and that nobody holds; how many."""
        with self._lock:
            return self._vacuum(grace)

    def clean(self, grace: float = 0.0) -> int:
        """Delete entries of the Delta logs before their last checkpoints; how many."""
        with self._lock:
            return self._clean(grace)

    def _compact(self, stream: str, table: str, event_type: EventType | None, shape: Shape) -> tuple[int, int]:
        """Files that gave way to others, and groups that were given up. Without a type files are only merged."""
        found = self._committer.files_and_schema(stream, table)
        if found is None:
            return 0, 0
        compaction = Compaction(self._home, self._committer, stream, table, found[1], shape)
        done: list[tuple[int, bool]] = []
        if event_type is not None and table == EVENTS:
            watermark = self._committer.point.watermarks.get(stream)
            for group in slices_to_compact(found[0], watermark, shape):
                done.append((len(group), compaction.compact(group, event_type.key)))
        for _ in range(ROUNDS):
            found = self._committer.files_and_schema(stream, table)
            groups = neighbours_to_merge(_by_arrival(found[0], table), shape) if found else []
            done += [(len(group), compaction.merge(group)) for group in groups]
            if not groups:
                break
        return sum(files for files, well in done if well), sum(not well for _, well in done)

    def _retain(self, event_type: EventType, in_use: InUse, now: int | None) -> int:
        keep = retention_of(event_type)
        if keep is None:
            return 0
        now = time.time_ns() // 1_000 if now is None else now
        return Retention(self._committer).retain(table_name(event_type), keep, in_use, now)

    def _vacuum(self, grace: float) -> int:
        now = time.monotonic()
        # Nobody stages files while we have the turn, and all that records say has been carried out.
        with self._committer.turn():
            gone = [path for stream, table in self._committer.tables() for path in self._not_live(stream, table)]
        self._gone = {path: self._gone.get(path, now) for path in gone}
        # A file that has left its table never comes back, so that nobody can begin to hold it.
        free = [p for p, since in self._gone.items() if now - since >= grace and not self._committer.leases.holds(p)]
        self._delete(map(Path, free), failpoints.VACUUMED_ONE)
        for path in free:
            del self._gone[path]
        return len(free)

    def _not_live(self, stream: str, table: str) -> list[str]:
        live = {file.name for file in self._committer.files(stream, table)}
        names = sorted(os.listdir(self._home.table_folder(stream, table)))
        gone = [name for name in names if name not in live and staged_by(name) is not None]
        return [self._committer.path_of(stream, table, name) for name in gone]

    def _clean(self, grace: float) -> int:
        cleaned = 0
        pinned = self._committer.leases.since()
        before = min(time.time() - grace, pinned if pinned is not None else float("inf"))
        for stream, table in self._committer.tables():
            with self._committer.turn():  # a stream that is there stays for as long
                alive = stream in self._committer.state.streams
                entries = self._committer.obsolete(stream, table, before) if alive else []
            self._delete(entries, failpoints.CLEANED_ONE)
            cleaned += len(entries)
        return cleaned

    def _delete(self, paths: Iterable[Path], point: str) -> None:
        for path in paths:
            path.unlink(missing_ok=True)  # its stream may have been dropped, or a crash came between
            self._committer.points.reach(point)


def table_name(event_type: EventType) -> str:
    """The stream of the log that holds the events of a type."""
    return DERIVED + event_type.name if event_type.kind == "derived" else event_type.name


def _by_arrival(files: Sequence[LiveFile], table: str) -> list[LiveFile]:
    """Files that may be merged, by the least number in them. Old ones are done with; some tables have no order."""
    numbered = ((arrivals(file, ORDER[table]), file) for file in files if bucket_of(file.name) is None)
    ordered = sorted((numbers[0], file.name, file) for numbers, file in numbered if numbers is not None)
    return [file for _, _, file in ordered]
