"""A log that dies where it is told to, a store of tables in memory, and a stream to load."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, Schema
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from presage.model.catalog import Attribute, EventType
from presage.model.types import LONG, TIMESTAMP
from presage.storage import Log
from presage.storage.columns import SEQ, TIME
from presage.storage.delta import DeltaTables, LiveFile, live_file
from presage.storage.failpoints import Failpoints
from presage.storage.file_store import FileStore
from presage.storage.home import Home
from presage.storage.home_lease import FILE, read_lease
from presage.storage.journal import FileAdd
from presage.storage.sealed_json import seal
from recovery.faulty_store import Bucket, FaultyStore

SECOND = 1_000_000


def stream(name: str = "Tick", max_delay: int = 0) -> EventType:
    attributes = (Attribute("x", LONG), Attribute("at", TIMESTAMP))
    return EventType(name, "stream", attributes, event_time="at", max_delay=max_delay)


def row(x: int, second: int) -> dict[str, Any]:
    return {"x": x, "at": f"2024-01-01T00:{second // 60:02d}:{second % 60:02d}"}


class Crash(BaseException):
    """The process is gone. No handler of the program may run, so it is no Exception."""


class CrashAt(Failpoints):
    """Dies when a point is reached for the k-th time."""

    def __init__(self, point: str = "never", k: int = 1) -> None:
        self.arm(point, k)

    def arm(self, point: str = "never", k: int = 1) -> None:
        self.point = point
        self.left = k

    def reach(self, point: str) -> None:
        if point == self.point:
            self.left -= 1
            if self.left == 0:
                raise Crash(point)


def crash(log: Log) -> None:
    """What the system does with a dead process: its lock is free, nothing else happens."""
    log.home.unlock()


def copy_as_closed(home: Path, copied: Path) -> None:
    """A copy of an open home, as if its process had released it."""
    shutil.copytree(home, copied, ignore=shutil.ignore_patterns("*lease.json*"))
    store = FileStore(durable=False)
    lease = read_lease(store, home)
    assert lease is not None
    store.put(copied / FILE, seal(asdict(replace(lease, released=True))))


@dataclass
class MemoryDisk:
    """Tables that outlive the objects that wrote them, as files do."""

    made_by: dict[str, int] = field(default_factory=dict)
    schemas: dict[str, dict[str, str]] = field(default_factory=dict)
    files: dict[tuple[str, str], list[FileAdd]] = field(default_factory=dict)
    transactions: dict[tuple[str, str], int] = field(default_factory=dict)

    def tables(self) -> Callable[[Home], MemoryTables]:
        return lambda home: MemoryTables(home, self)


class MemoryTables:
    """The committer's store of tables without Delta: quick, and strict about what is done twice."""

    def __init__(self, home: Home, disk: MemoryDisk) -> None:
        self.home = home
        self.disk = disk

    def create(self, stream: str, n: int, schemas: dict[str, str], at: int) -> None:
        if self.disk.made_by.get(stream, -1) >= n:
            return
        self.disk.made_by[stream] = n
        self.disk.schemas[stream] = schemas
        for table in schemas:
            self.disk.files[stream, table] = []
            self.disk.transactions[stream, table] = 0

    def drop(self, stream: str, n: int) -> None:
        if 0 <= self.disk.made_by.get(stream, -1) < n:
            for table in self.disk.schemas.pop(stream):
                self.home.store.delete_folder(self.home.table_folder(stream, table))
            del self.disk.made_by[stream]

    def change(
        self, stream: str, table: str, adds: Sequence[FileAdd], removes: Sequence[str], n: int, rewrites: bool = False
    ) -> None:
        if self.disk.transactions[stream, table] < n:
            files = self.disk.files[stream, table]
            known = {file.path for file in files}
            assert not known & {file.path for file in adds}
            assert set(removes) <= known
            self.disk.files[stream, table] = [file for file in files if file.path not in removes] + list(adds)
            self.disk.transactions[stream, table] = n

    def prefetch(self, streams: Iterable[str]) -> None:
        """All is in memory."""

    def generation(self, stream: str) -> int:
        return self.disk.made_by.get(stream, -1)

    def last_change(self, stream: str, table: str) -> int:
        return self.disk.transactions[stream, table]

    def obsolete(self, stream: str, table: str, before: float) -> list[Path]:
        return []

    def close(self) -> None:
        """What is in memory needs no closing."""

    def files(self, stream: str, table: str) -> tuple[LiveFile, ...]:
        return tuple(map(live_file, self.disk.files[stream, table]))

    def schema(self, stream: str, table: str) -> pa.Schema:
        return pa.schema(Schema.from_json(self.disk.schemas[stream][table]).to_arrow())


def contents(log: Log) -> dict[str, Any]:
    """All that a log holds and counts, to be compared with another's; wall times are left out."""
    found: dict[str, Any] = {"position": log.position, "catalog": log.catalog_entries()}
    for name in log.archive.streams():
        info = log.archive.describe(name)
        found[name] = {
            "events": log.archive.read_arrow(log.archive.snapshot(name)).to_pylist(),
            "late": log.archive.read_late(name).to_pylist(),
            "rejected": log.archive.read_rejected(name).drop_columns(["at", "load"]).to_pylist(),
            "counts": (info.rows, info.late, info.rejected, info.ignored, info.first_time, info.last_time),
            "clock": (info.last_seq, info.watermark),
        }
    return found


def sequence_numbers(log: Log) -> list[int]:
    numbers = []
    for name in log.archive.streams():
        numbers += log.archive.read_arrow(log.archive.snapshot(name), [SEQ, TIME])[SEQ].to_pylist()
        numbers += log.archive.read_late(name)[SEQ].to_pylist()
    return sorted(numbers)


class Place:
    """Where a home lies, in a folder or in a bucket in memory, and its tables if they are not Delta's."""

    def __init__(self, home: Path | str, bucket: Bucket | None = None, disk: MemoryDisk | None = None) -> None:
        self.home = home
        self.disk = disk
        self._bucket = bucket
        self._kept: FaultyStore | None = None

    @property
    def is_local(self) -> bool:
        return self._bucket is None

    def open(self, points: Failpoints | None = None) -> Log:
        tables = self.disk.tables() if self.disk else DeltaTables
        return Log.open(self.home, durable=False, points=points, tables=tables)

    def copied(self, to: Path) -> Place:
        """A copy of the home as it is now; `to`: a new folder. As if it had been closed."""
        disk = copy.deepcopy(self.disk)
        if self._bucket is None:
            copy_as_closed(Path(self.home), to)
            return Place(to, None, disk)
        other = Place(self.home, self._bucket, disk)
        other._kept = (self._kept or self._bucket.store).copied()
        return other

    def enter(self) -> Place:
        """Let the bucket be the one that was copied."""
        if self._bucket is not None and self._kept is not None:
            self._bucket.store = self._kept
        return self

    def data_files(self) -> list[str]:
        if self._bucket is None:
            return data_files(Path(self.home))
        paths = self._bucket.store.files
        return sorted(path.name for path in paths if path.suffix == ".parquet" and path.parts[3] == "streams")


def data_files(home: Path) -> list[str]:
    return sorted(path.name for path in home.glob("streams/*/*/*.parquet"))


def read_by_others(folder: Path) -> pa.Table:
    """A table as a Delta reader that is not ours sees it. Without Arrow's own file system it may abort at exit."""
    return DeltaTable(str(folder)).to_pyarrow_table(filesystem=SubTreeFileSystem(str(folder), LocalFileSystem()))
