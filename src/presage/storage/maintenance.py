"""Maintenance of a home: compaction, retention, and the deletion of unused files.

One maintenance runs at a time, concurrently with appends, batches and queries. Long work is done outside the
committer's turn. Files are deleted only after their table has removed them and no query has a lease on them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

import pyarrow as pa

from presage.model.catalog import EventType
from presage.model.time import wall_clock
from presage.storage import failpoints
from presage.storage.chunks import Shape, arrivals, bucket_of, neighbours_to_merge, slices_to_compact
from presage.storage.columns import EVENTS, ORDER
from presage.storage.committer import Committer
from presage.storage.compaction import Compaction
from presage.storage.delta import LiveFile
from presage.storage.home import DERIVED, Home
from presage.storage.retention import InUse, Retention, retention_of
from presage.storage.staging import staged_by

# Other programs have no leases: they have this long to read the files that they have listed.
GRACE = 600.0  # seconds
# Merged files may be merged again; each round makes them larger by a factor of `Shape.fan`.
ROUNDS = 6


@dataclass(frozen=True)
class MaintenanceReport:
    """Counts of one maintenance."""

    compacted: int = 0  # files replaced by others
    given_up: int = 0  # groups of files that changed in the meantime
    removed: int = 0  # events removed by the retention of their streams
    rows_removed: int = 0  # rows removed by the retention of their statements
    deleted: int = 0  # data files
    cleaned: int = 0  # entries of Delta logs
    waiting: int = 0  # data files to be deleted once no reader needs them


class Maintenance:
    def __init__(self, home: Home, committer: Committer) -> None:
        self._home = home
        self._committer = committer
        self._lock = threading.Lock()
        self._gone: dict[PurePath, float] = {}  # when a file was first seen to be no longer live

    def run(
        self,
        types: Iterable[EventType],
        in_use: InUse | None = None,
        shape: Shape | None = None,
        grace: float = GRACE,
        now: int | None = None,
    ) -> MaintenanceReport:
        """Run all steps. Space is freed first: the disk may be full. `now`: microseconds, default the wall clock."""
        streams = [event_type for event_type in types if event_type.has_events]
        with self._lock:
            removed = sum(self._retain(each, in_use or InUse(), now) for each in streams)
            deleted, cleaned = self._vacuum(grace), self._clean(grace)
            by_table = {table_name(event_type): event_type for event_type in streams}
            compacted, given_up = 0, 0
            for stream, table in self._committer.tables():
                files, lost = self._compact(stream, table, by_table.get(stream), shape or Shape())
                compacted, given_up = compacted + files, given_up + lost
            return MaintenanceReport(
                compacted, given_up, removed, deleted=deleted, cleaned=cleaned, waiting=len(self._gone)
            )

    def compact(self, event_type: EventType, shape: Shape | None = None) -> int:
        """Compact a stream; the number of files that were replaced."""
        name = table_name(event_type)
        tables = [table for stream, table in self._committer.tables() if stream == name]
        with self._lock:
            return sum(self._compact(name, table, event_type, shape or Shape())[0] for table in tables)

    def thin(
        self, stream: str, whole: Collection[str], sparse: Collection[str], wanted: Callable[[pa.Table], pa.Table]
    ) -> None:
        """Drop the `whole` files of an internal table, and reduce the `sparse` ones to the wanted rows."""
        with self._lock:
            current = self._committer.files_and_schema(stream, EVENTS)
            if current is None:
                return
            compaction = Compaction(self._home, self._committer, stream, EVENTS, current[1], Shape())
            dropped = [file for file in current[0] if file.name in whole]
            if dropped:
                compaction.drop(dropped)
            for file in current[0]:
                if file.name in sparse:
                    compaction.thin(file, wanted)

    def retain(self, event_type: EventType, in_use: InUse | None = None, now: int | None = None) -> int:
        """Remove the events of a stream beyond its retention that no statement needs; their number."""
        with self._lock:
            return self._retain(event_type, in_use or InUse(), now)

    def vacuum(self, grace: float = 0.0) -> int:
        """Delete the data files that left their tables `grace` seconds ago and have no lease; their number."""
        with self._lock:
            return self._vacuum(grace)

    def clean(self, grace: float = 0.0) -> int:
        """Delete entries of the Delta logs before their last checkpoints; their number."""
        with self._lock:
            return self._clean(grace)

    def _compact(self, stream: str, table: str, event_type: EventType | None, shape: Shape) -> tuple[int, int]:
        """The numbers of replaced files and of abandoned groups. Without a type, files are only merged."""
        current = self._committer.files_and_schema(stream, table)
        if current is None:
            return 0, 0
        compaction = Compaction(self._home, self._committer, stream, table, current[1], shape)
        done: list[tuple[int, bool]] = []
        if event_type is not None and table == EVENTS:
            watermark = self._committer.point.watermarks.get(stream)
            for group in slices_to_compact(current[0], watermark, shape):
                done.append((len(group), compaction.compact(group, event_type.key)))
        for _ in range(ROUNDS):
            current = self._committer.files_and_schema(stream, table)
            groups = neighbours_to_merge(_by_arrival(current[0], table), shape) if current else []
            done += [(len(group), compaction.merge(group)) for group in groups]
            if not groups:
                break
        return sum(files for files, success in done if success), sum(not success for _, success in done)

    def _retain(self, event_type: EventType, in_use: InUse, now: int | None) -> int:
        keep = retention_of(event_type)
        if keep is None:
            return 0
        now = wall_clock() if now is None else now
        return Retention(self._committer).retain(table_name(event_type), keep, in_use, now)

    def _vacuum(self, grace: float) -> int:
        now = time.monotonic()
        # While we have the turn, nobody stages files, and all records are applied.
        with self._committer.turn():
            gone = [path for stream, table in self._committer.tables() for path in self._not_live(stream, table)]
        self._gone = {path: self._gone.get(path, now) for path in gone}
        # A file that has left its table never returns: no new lease on it can begin.
        address = self._home.store.address
        free = [
            p
            for p, since in self._gone.items()
            if now - since >= grace and not self._committer.leases.holds(address(p))
        ]
        self._delete(free, failpoints.VACUUMED_ONE)
        for path in free:
            del self._gone[path]
        return len(free)

    def _not_live(self, stream: str, table: str) -> list[PurePath]:
        live = {file.name for file in self._committer.files(stream, table)}
        folder, last = self._home.table_folder(stream, table), self._committer.state.n
        names = [name for name in self._home.store.names(folder) if name not in live]
        # Later ones may be those of a process that has taken over the home meanwhile.
        return [folder / name for name in names if (n := staged_by(name)) is not None and n <= last]

    def _clean(self, grace: float) -> int:
        cleaned = 0
        leased = self._committer.leases.since()
        before = min(time.monotonic() - grace, leased if leased is not None else float("inf"))
        for stream, table in self._committer.tables():
            with self._committer.turn():  # while we have the turn, no stream is dropped
                alive = stream in self._committer.state.streams
                entries = self._committer.obsolete(stream, table, before) if alive else []
            self._delete(entries, failpoints.CLEANED_ONE)
            cleaned += len(entries)
        return cleaned

    def _delete(self, paths: Iterable[PurePath], point: str) -> None:
        for path in paths:
            self._home.store.delete(path)  # its stream may have been dropped
            self._committer.points.reach(point)


def table_name(event_type: EventType) -> str:
    """The stream of the log that holds the events of a type."""
    return DERIVED + event_type.name if event_type.kind == "derived" else event_type.name


def _by_arrival(files: Sequence[LiveFile], table: str) -> list[LiveFile]:
    """Files that may be merged, by their least number. Old files are final; some tables have no order of arrival."""
    numbered = ((arrivals(file, ORDER[table]), file) for file in files if bucket_of(file.name) is None)
    ordered = sorted((numbers[0], file.name, file) for numbers, file in numbered if numbers is not None)
    return [file for _, _, file in ordered]
