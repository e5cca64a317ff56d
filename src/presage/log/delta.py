"""Carries records out on Delta tables: creates, drops and file additions in, tables that any Delta reader reads out.

Everything here can be done twice: what is done already is left alone.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from deltalake import DeltaTable, Schema
from deltalake.transaction import AddAction, CommitProperties, PostCommitHookProperties, Transaction

from presage.log.columns import SEQ, TIME
from presage.log.home import Home
from presage.log.journal import FileAdd
from presage.model.time import parse_timestamp, to_micros

# A handle's commits get slower with every log entry since the checkpoint that it was opened at.
COMMITS_PER_CHECKPOINT = 10
_MARK = "stream.json"


@dataclass(frozen=True)
class LiveFile:
    """A data file of a table as its statistics tell it; bounds are None where they are unknown (or the column is)."""

    name: str
    size: int
    rows: int
    first_time: int | None
    last_time: int | None
    first_seq: int | None
    last_seq: int | None


class Tables(Protocol):
    """What the committer wants from a store of tables."""

    def create(self, stream: str, n: int, schemas: dict[str, str]) -> None: ...

    def drop(self, stream: str, n: int) -> None: ...

    def change(self, stream: str, table: str, adds: Sequence[FileAdd], removes: Sequence[str], n: int) -> None: ...

    def files(self, stream: str, table: str) -> tuple[LiveFile, ...]: ...

    def schema(self, stream: str, table: str) -> pa.Schema: ...


class DeltaTables:
    """The tables of one home. Not thread-safe: the committer's lock is held around every call."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._handles: dict[Path, DeltaTable] = {}
        self._files: dict[Path, tuple[LiveFile, ...]] = {}

    def create(self, stream: str, n: int, schemas: dict[str, str]) -> None:
        """Make a stream's folder with its tables, whole or not at all."""
        folder = self._home.stream_folder(stream)
        if self._generation(folder) >= n:
            return
        new = self._home.streams / f".new-{n}"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        folder.parent.mkdir(exist_ok=True)
        for table, schema in schemas.items():
            DeltaTable.create(str(new / table), schema=Schema.from_json(schema))
            self._sync_log(new / table, 0)
            self._home.disk.sync_folder(new / table)
        self._home.disk.write_atomically(new / _MARK, json.dumps({"stream": stream, "generation": n}).encode())
        os.rename(new, folder)
        self._home.disk.sync_folder(folder.parent)

    def drop(self, stream: str, n: int) -> None:
        """Remove a stream made before record n; one made by a later record stays."""
        folder = self._home.stream_folder(stream)
        for path in [path for path in self._handles if path.parent == folder]:
            self._forget(path)
        if 0 <= self._generation(folder) < n:
            away = self._home.streams / f".dropped-{n}"
            os.rename(folder, away)
            self._home.disk.sync_folder(folder.parent)
            shutil.rmtree(away)

    def change(self, stream: str, table: str, adds: Sequence[FileAdd], removes: Sequence[str], n: int) -> None:
        """Add and remove files of the table as transaction n of this home, unless that has been done."""
        folder = self._home.table_folder(stream, table)
        try:
            handle = self._handle(folder)
            # Delta refuses a transaction number twice only within one handle: the check is ours.
            if (handle.transaction_version(self._home.id) or 0) >= n:
                return
            now = time.time_ns() // 1_000_000
            handle.create_write_transaction(
                [AddAction(file.path, file.size, {}, now, True, file.stats) for file in adds],
                mode="append",
                schema=handle.schema(),
                commit_properties=CommitProperties(app_transactions=[Transaction(self._home.id, n)]),
                # Checkpoints are ours to time, and no commit may delete log files that a follower still needs.
                post_commithook_properties=PostCommitHookProperties(False, False),
            )
            handle.update_incremental()
            self._sync_log(folder, handle.version())
            if handle.version() % COMMITS_PER_CHECKPOINT == 0:
                self._checkpoint(folder, handle)
        except BaseException:
            self._forget(folder)  # what it knows may be half of the truth
            raise
        if folder in self._files:
            self._files[folder] += tuple(_from_stats(file) for file in adds)

    def files(self, stream: str, table: str) -> tuple[LiveFile, ...]:
        """The files of the table, in the order of their commits."""
        folder = self._home.table_folder(stream, table)
        if folder not in self._files:
            actions = pa.table(self._handle(folder).get_add_actions(flatten=True)).to_pylist()
            self._files[folder] = tuple(sorted(map(_from_action, actions), key=lambda file: file.name))
        return self._files[folder]

    def schema(self, stream: str, table: str) -> pa.Schema:
        return pa.schema(self._handle(self._home.table_folder(stream, table)).schema().to_arrow())

    def _handle(self, folder: Path) -> DeltaTable:
        if folder not in self._handles:
            self._handles[folder] = DeltaTable(str(folder))
        return self._handles[folder]

    def _forget(self, folder: Path) -> None:
        self._handles.pop(folder, None)
        self._files.pop(folder, None)

    def _checkpoint(self, folder: Path, handle: DeltaTable) -> None:
        handle.create_checkpoint()
        if self._home.disk.durable:
            log = folder / "_delta_log"
            self._home.disk.sync_file(log / f"{handle.version():020d}.checkpoint.parquet")
            self._home.disk.sync_file(log / "_last_checkpoint")
            self._home.disk.sync_folder(log)
        # A fresh handle starts from the checkpoint; the old one would drag all entries before it along.
        self._handles[folder] = DeltaTable(str(folder))

    def _sync_log(self, folder: Path, version: int) -> None:
        """delta-rs does not flush: before a record is marked as carried out, its log entries must be durable."""
        if self._home.disk.durable:
            log = folder / "_delta_log"
            self._home.disk.sync_file(log / f"{version:020d}.json")
            self._home.disk.sync_folder(log)

    def _generation(self, folder: Path) -> int:
        """The record that made the stream in this folder, -1 if there is none."""
        mark = folder / _MARK
        return int(json.loads(mark.read_bytes())["generation"]) if mark.exists() else -1


def delta_schema(schema: pa.Schema) -> str:
    """An Arrow schema in Delta's own spelling."""
    return str(Schema.from_arrow(schema).to_json())


def _from_stats(file: FileAdd) -> LiveFile:
    stats = json.loads(file.stats)
    low, high = stats["minValues"], stats["maxValues"]
    times = [parse_timestamp(bound[TIME]) if TIME in bound else None for bound in (low, high)]
    return LiveFile(file.path, file.size, file.rows, times[0], times[1], low.get(SEQ), high.get(SEQ))


def _from_action(action: dict[str, Any]) -> LiveFile:
    times = [action.get(f"{side}.{TIME}") for side in ("min", "max")]
    first, last = (None if when is None else to_micros(when) for when in times)
    return LiveFile(
        action["path"],
        action["size_bytes"],
        action["num_records"],
        first,
        last,
        action.get(f"min.{SEQ}"),
        action.get(f"max.{SEQ}"),
    )
