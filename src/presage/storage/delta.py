"""The Delta tables of a home: created, dropped and changed by records of the journal. Every operation is idempotent."""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Protocol

import pyarrow as pa

from presage.errors import PresageError
from presage.model.time import parse_timestamp
from presage.storage.columns import SEQ, TIME
from presage.storage.delta_log import (
    Seal,
    check_log,
    checkpoint_of,
    checkpoint_path,
    creation,
    entry,
    entry_path,
    obsolete,
    seal_checkpoint,
)
from presage.storage.delta_schema import from_delta
from presage.storage.failures import REPAIR, corrupt
from presage.storage.home import Home
from presage.storage.journal import FileAdd
from presage.storage.sealed_json import seal, unseal
from presage.storage.staging import spelled
from presage.storage.store import Store

# A reader reads all entries since the last checkpoint; the cost of a checkpoint grows with the number of files.
COMMITS_PER_CHECKPOINT = 200
# `maintenance` deletes removed files itself: checkpoints need not list them for a week.
CONFIGURATION = {"delta.deletedFileRetentionDuration": "interval 0 seconds"}
MARK = "stream.json"


@dataclass(frozen=True)
class LiveFile:
    """A data file of a table with its statistics; None where a bound or the column is unknown.

    `low` and `high`: least and greatest values of the other columns, as in Delta's JSON.
    """

    name: str
    size: int
    rows: int
    first_time: int | None
    last_time: int | None
    first_seq: int | None
    last_seq: int | None
    low: Mapping[str, Any] = field(default_factory=dict, hash=False)
    high: Mapping[str, Any] = field(default_factory=dict, hash=False)


class Tables(Protocol):
    """The store of tables that a committer needs."""

    def create(self, stream: str, n: int, schemas: dict[str, str], at: int) -> None: ...
    def drop(self, stream: str, n: int) -> None: ...
    def change(
        self, stream: str, table: str, adds: Sequence[FileAdd], removes: Sequence[str], n: int, rewrites: bool = False
    ) -> None: ...
    def obsolete(self, stream: str, table: str, before: float) -> list[PurePath]: ...
    def prefetch(self, streams: Iterable[str]) -> None: ...
    def generation(self, stream: str) -> int: ...
    def last_change(self, stream: str, table: str) -> int: ...
    def files(self, stream: str, table: str) -> tuple[LiveFile, ...]: ...
    def schema(self, stream: str, table: str) -> pa.Schema: ...
    def close(self) -> None: ...


@dataclass
class Table:
    """State of a table, cached as long as only this home writes it."""

    version: int
    transaction: int  # the last record that changed it
    schema: pa.Schema
    files: dict[str, LiveFile]
    checkpoint: int  # the version of the last checkpoint that was started


class DeltaTables:
    """The tables of one home. One thread at a time may change them, while others read them.

    Log entries are written here and not by delta-rs, whose commits slow down with the number of files. delta-rs reads
    tables and writes checkpoints. It is imported for these two: a small query on a new home needs neither, and would
    start its threads.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._store = home.store
        self._tables: dict[PurePath, Table] = {}
        self._lock = threading.RLock()  # of the cache; not held while an entry is written
        self._checkpoints = Checkpoints(home.store)

    def create(self, stream: str, n: int, schemas: dict[str, str], at: int) -> None:
        """Create a stream's tables as record n, of a time, says. They exist once the mark in their folder does."""
        folder = self._home.stream_folder(stream)
        if generation_of(self._store, folder) >= n:
            return
        checksums = {}
        for table, schema in schemas.items():
            data = creation(schema, CONFIGURATION, f"{self._home.id}/{n}/{stream}/{table}", at)
            self._ensure(entry_path(folder / table, 0), data)
            checksums[table] = zlib.crc32(data)
        self._ensure(folder / MARK, seal({"stream": stream, "generation": n, "tables": checksums}))
        self._home.forget_folder(stream)
        for table, schema in schemas.items():
            self._tables[folder / table] = Table(0, 0, from_delta(schema), {}, 0)

    def drop(self, stream: str, n: int) -> None:
        """Remove a stream that was created before record n; a later one stays."""
        folder = self._home.stream_folder(stream)
        for path in [path for path in self._tables if path.parent == folder]:
            del self._tables[path]
        self._checkpoints.wait(folder)
        if generation_of(self._store, folder) < n:
            self._store.delete(folder / MARK)
            self._store.delete_folder(folder)
        self._home.forget_folder(stream)

    def change(
        self, stream: str, table: str, adds: Sequence[FileAdd], removes: Sequence[str], n: int, rewrites: bool = False
    ) -> None:
        """Add and remove files of the table as transaction n of this home, unless that is done.

        `rewrites`: the same rows in other files; a Delta reader that follows changes skips the entry.
        """
        folder = self._home.table_folder(stream, table)
        state = self._table(folder)
        # Delta would accept a transaction twice, and the removal of a missing file.
        if state.transaction >= n:
            return
        gone = [state.files[name] for name in removes if name in state.files]
        if rewrites and len(gone) < len(removes):
            adds, gone = [], []  # another program has rewritten these rows: adding our files would duplicate them
        # After a failure it may be tried again together with later records: a part of them may be there.
        adds = [file for file in adds if file.path not in state.files]
        version = state.version + 1
        try:
            removed = [(f.name, f.size) for f in gone]
            data = entry(Seal(version, n, state.transaction), self._home.application, adds, removed, not rewrites)
            self._store.create(entry_path(folder, version), data)
        except FileExistsError:
            self._forget(folder)  # another program has written to the table: keep its change
            if self._table(folder).version < version:
                raise
            self.change(stream, table, adds, removes, n, rewrites)
            return
        with self._lock:
            state.version, state.transaction = version, n
            for file in gone:
                del state.files[file.name]
            state.files.update((file.path, live_file(file)) for file in adds)
            self._checkpoint_if_due(folder, COMMITS_PER_CHECKPOINT)

    def _ensure(self, path: PurePath, data: bytes) -> None:
        """Like a put, whose request may arrive late: then it does not replace what a later stream has there."""
        try:
            self._store.create(path, data)
        except FileExistsError:
            if self._store.read(path) != data:
                self._store.put(path, data)

    def generation(self, stream: str) -> int:
        """The record that created the stream, according to its folder; -1 if there is none."""
        return generation_of(self._store, self._home.stream_folder(stream))

    def prefetch(self, streams: Iterable[str]) -> None:
        """Read the logs of all tables at once, where each request takes its time. One that is damaged is read again by
        who needs it."""
        if not self._store.is_local:
            folders = [self._home.table_folder(stream, table) for stream, table in self._home.tables(streams)]
            found = zip(folders, self._store.each(self._readable, folders), strict=True)
            self._tables |= {folder: table for folder, table in found if table is not None}

    def _readable(self, folder: PurePath) -> Table | None:
        try:
            return read_table(self._store, folder, self._home.application)
        except PresageError:
            return None

    def last_change(self, stream: str, table: str) -> int:
        """The last record that changed the table, according to its Delta log."""
        return self._table(self._home.table_folder(stream, table)).transaction

    def files(self, stream: str, table: str) -> tuple[LiveFile, ...]:
        """The files of the table, in the order of their commits."""
        with self._lock:
            return tuple(self._table(self._home.table_folder(stream, table)).files.values())

    def schema(self, stream: str, table: str) -> pa.Schema:
        return self._table(self._home.table_folder(stream, table)).schema

    def obsolete(self, stream: str, table: str, before: float) -> list[PurePath]:
        """Log files that no reader needs that started after a monotonic time, the oldest first. Starts a checkpoint if
        due."""
        folder = self._home.table_folder(stream, table)
        with self._lock:
            self._checkpoint_if_due(folder, COMMITS_PER_CHECKPOINT // 8)
        return obsolete(self._store, folder, self._checkpoints.seen, before)

    def close(self) -> None:
        self._checkpoints.wait(self._home.path)

    def _table(self, folder: PurePath) -> Table:
        with self._lock:
            if folder not in self._tables:
                self._tables[folder] = read_table(self._store, folder, self._home.application)
            return self._tables[folder]

    def _forget(self, folder: PurePath) -> None:
        with self._lock:
            self._tables.pop(folder, None)

    def _checkpoint_if_due(self, folder: PurePath, commits: int) -> None:
        state = self._table(folder)
        if state.version >= state.checkpoint + commits:
            state.checkpoint = state.version
            self._checkpoints.start(folder)


def generation_of(store: Store, folder: PurePath) -> int:
    """The record that created the stream in a folder; -1 if there is none."""
    mark = _mark(store, folder)
    return int(mark["generation"]) if mark else -1


def _mark(store: Store, folder: PurePath) -> dict[str, Any]:
    """The content of stream.json in the folder of a stream; empty if there is none."""
    try:
        mark = unseal(store.read(folder / MARK))
        return {"tables": {}, **mark, "generation": int(mark["generation"])}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as broken:
        raise _corrupt(folder, f"'{MARK}'", broken) from broken


def created(store: Store, folder: PurePath) -> int | None:
    """The checksum of a table's creation; None if it is not known."""
    made: int | None = _mark(store, folder.parent).get("tables", {}).get(folder.name)
    return made


def read_table(store: Store, folder: PurePath, application: str) -> Table:
    """The state of a table according to its log. `application`: the id of the home, whose transactions count."""
    from deltalake.exceptions import DeltaError

    try:
        check_log(store, folder, created(store, folder))
        handle = store.delta_table(folder)
        actions = pa.table(handle.get_add_actions(flatten=True)).to_pylist()
        files = sorted(map(_from_action, actions), key=lambda file: file.name)
        return Table(
            handle.version(),
            handle.transaction_version(application) or 0,
            pa.schema(handle.schema().to_arrow()),
            {file.name: file for file in files},
            checkpoint_of(store, folder),
        )
    except (OSError, DeltaError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as broken:
        raise _corrupt(folder, "the Delta log", broken) from broken


def _corrupt(folder: PurePath, what: str, broken: Exception) -> PresageError:
    return corrupt(what, folder, broken, REPAIR)


def live_file(file: FileAdd) -> LiveFile:
    stats = json.loads(file.stats)
    return _file(file.path, file.size, file.rows, stats["minValues"], stats["maxValues"])


def _from_action(action: dict[str, Any]) -> LiveFile:
    low, high = (
        {name.removeprefix(side): spelled(value) for name, value in action.items() if name.startswith(side)}
        for side in ("min.", "max.")
    )
    return _file(action["path"], action["size_bytes"], action["num_records"], low, high)


def _file(name: str, size: int, rows: int, low: dict[str, Any], high: dict[str, Any]) -> LiveFile:
    times = [bound.pop(TIME, None) for bound in (low, high)]
    first, last = (None if text is None else parse_timestamp(text) for text in times)
    low, high = ({column: value for column, value in bound.items() if value is not None} for bound in (low, high))
    return LiveFile(name, size, rows, first, last, low.pop(SEQ, None), high.pop(SEQ, None), low, high)


class Checkpoints:
    """Writes checkpoints of Delta logs, each in a thread of its own.

    A checkpoint takes as long as tens of commits. It reads immutable entries and appears atomically, so that commits
    need not wait for it; only the removal of the folder must. Not thread-safe: callers hold the committer's lock.
    """

    def __init__(self, store: Store) -> None:
        self.seen: dict[PurePath, float] = {}  # when each was written or first seen, by the monotonic clock
        self._store = store
        self._running: dict[PurePath, threading.Thread] = {}

    def start(self, folder: PurePath) -> None:
        """Write a checkpoint of the newest version, unless one is being written."""
        if folder not in self._running or not self._running[folder].is_alive():
            self._running[folder] = threading.Thread(target=self._write, args=(folder,), name="presage-checkpoint")
            self._running[folder].start()

    def wait(self, under: PurePath) -> None:
        """Wait for the checkpoints in a folder and below it."""
        for folder in [folder for folder in self._running if folder.is_relative_to(under)]:
            self._running.pop(folder).join()

    def _write(self, folder: PurePath) -> None:
        from deltalake.exceptions import DeltaError

        try:
            handle = self._store.delta_table(folder)
            handle.create_checkpoint()
            log, version = folder / "_delta_log", handle.version()
            seal_checkpoint(self._store, folder, version)
            self.seen[checkpoint_path(folder, version)] = time.monotonic()
            for name in (f"{version:020d}.checkpoint.parquet", "_last_checkpoint", ""):
                self._store.flush(log / name)
        except (OSError, DeltaError):
            return  # a checkpoint only speeds up readers, and the disk may be full
