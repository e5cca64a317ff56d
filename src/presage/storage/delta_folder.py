"""A folder with a `_delta_log`: a Delta table that other programs write, read by its log.

Read as bare Parquet, rows of files that were compacted or deleted would count again. The library reads the log; data
files are opened here, because its Arrow reader gives nulls under column mapping and refuses deletion vectors, and
because each file that is opened must lie in the roots.

The format: https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from deltalake import DeltaTable

from presage.errors import PresageError, error
from presage.model.paths import Roots
from presage.storage.data_files import open_data

LOG = "_delta_log"
# What a reader must know to read a table right, as protocols name it. Widened types are those of the attributes.
KNOWN = {
    "deletionVectors",
    "columnMapping",
    "timestampNtz",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "typeWidening",
    "typeWidening-preview",
}
MODE = "delta.columnMapping.mode"
PHYSICAL = "delta.columnMapping.physicalName"
_COMMIT = re.compile(r"(\d{20})\.json")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True)
class DeltaFile:
    """A data file of a table. `partition`: a column of one value for each partition column; `kept`: which of its rows
    are not deleted, None if all are; `columns`: names in the table by names in the file, None if they are the same."""

    name: str  # its path from the table's folder, or a whole one
    partition: Mapping[str, pa.Array] = field(default_factory=dict)
    kept: npt.NDArray[np.bool_] | None = None
    columns: Mapping[str, str] | None = None

    def shaped(self, table: pa.Table, at: int = 0) -> tuple[pa.Table, npt.NDArray[np.int64]]:
        """Rows of the file, from row `at` on, as rows of the table; and which rows of the file they are."""
        rows = np.arange(at, at + table.num_rows)
        if self.columns is not None:
            known = [name for name in table.column_names if name in self.columns]
            table = table.select(known).rename_columns([self.columns[name] for name in known])
        for name, value in self.partition.items():
            table = table.append_column(name, pa.repeat(value[0], len(rows)))
        if self.kept is not None:
            kept = np.ones(len(rows), np.bool_)
            known_rows = self.kept[at : at + len(rows)]  # rows after the last that it speaks of are kept
            kept[: len(known_rows)] = known_rows
            table, rows = table.filter(pa.array(kept)), rows[kept]
        return table, rows


@dataclass(frozen=True)
class Commit:
    """What a version changed. `added`: files with new rows, by name; `changes`: whether rows went or became others."""

    added: tuple[str, ...]
    changes: bool
    operation: str


@dataclass(frozen=True)
class Snapshot:
    """A version of a table. `table`: what tells it from another that was in its folder before; `files`: those that hold
    its rows, in the order of their writing; `schema`: its columns, whether or not a file has them."""

    version: int
    table: str
    files: list[DeltaFile]
    schema: pa.Schema


class DeltaFolder:
    """A Delta table by its folder; `roots` hold for every file of it."""

    def __init__(self, folder: Path, roots: Roots) -> None:
        self.folder = folder
        self._roots = roots

    def snapshot(self, version: int | None = None) -> Snapshot:
        """A version, the newest by default."""
        self._check_log()
        with self._told():
            table = DeltaTable(str(self.folder), version=version)
            self._check_features(table)
            columns = self._columns(table)
            actions = pa.table(table.get_add_actions()).sort_by(
                [("modification_time", "ascending"), ("path", "ascending")]
            )
            masks = self._masks(table)
            found = [
                DeltaFile(
                    name := unquote(path),
                    self._partition(actions, row, columns),
                    masks.get(os.path.realpath(self.path(name))),
                    columns,
                )
                for row, path in enumerate(actions["path"].to_pylist())
            ]
            return Snapshot(int(table.version()), str(table.metadata().id), found, pa.schema(table.schema().to_arrow()))

    def newest(self) -> int:
        """The newest version that its log has an entry of; -1 if it has none."""
        with self._told():
            names = map(_COMMIT.fullmatch, os.listdir(self.folder / LOG))
            return max((int(match[1]) for match in names if match), default=-1)

    def commit(self, version: int) -> Commit | None:
        """What a version changed; None if its entry is not there (any more)."""
        path = self.folder / LOG / f"{version:020d}.json"
        try:
            with self._told(), self._roots.opened(path) as file:
                actions = [json.loads(line) for line in file if line.strip()]
                adds = [each["add"] for each in actions if each.get("add") and each["add"].get("dataChange", True)]
                gone = [each for each in actions if each.get("remove") and each["remove"].get("dataChange", True)]
                said: dict[str, Any] = next((each["commitInfo"] for each in actions if each.get("commitInfo")), {})
                # A file that is there already, with rows masked, is added once more.
                masked = any(add.get("deletionVector") for add in adds)
                names = tuple(unquote(add["path"]) for add in adds)
                return Commit(names, bool(gone) or masked, str(said.get("operation", "a change")))
        except FileNotFoundError:
            return None

    def rows_since(self) -> tuple[str, str]:
        """What tells its rows from those of another table or time: the table, and the version that made them so."""
        now = self.snapshot()
        version = now.version
        while (commit := self.commit(version)) is not None and not (commit.added or commit.changes) and version:
            version -= 1
        return now.table, str(version)

    def path(self, name: str) -> Path:
        """Where a file lies that the log names."""
        if not _SCHEME.match(name):
            return self.folder / name
        parts = urlsplit(name)
        if parts.scheme != "file":
            raise self._unsupported(f"files at '{parts.scheme}:' addresses")
        return Path(parts.path)

    def read(self, file: DeltaFile) -> tuple[pa.Table, npt.NDArray[np.int64]]:
        """The rows of a file, and which rows of it they are."""
        path = self.path(file.name)
        with self._told():
            try:
                with self._roots.opened(path) as opened:
                    return file.shaped(open_data(opened, coerce_int96_timestamp_unit="us").read())
            except FileNotFoundError as failure:
                why = f"its file '{file.name}' is gone"
                raise self._unreadable(why, "read it again: a vacuum may have been at work") from failure

    # -- what the log says ---------------------------------------------------------------------------

    def _check_features(self, table: DeltaTable) -> None:
        protocol, configuration = table.protocol(), table.metadata().configuration
        unknown = sorted(set(protocol.reader_features or ()) - KNOWN)
        if unknown or protocol.min_reader_version > 3:
            raise self._unsupported(", ".join(unknown) or f"reader version {protocol.min_reader_version}")
        if configuration.get(MODE, "none") not in ("none", "name"):
            raise self._unsupported(f"column mapping by {configuration[MODE]}")

    def _columns(self, table: DeltaTable) -> Mapping[str, str] | None:
        if table.metadata().configuration.get(MODE, "none") == "none":
            return None
        fields = json.loads(table.schema().to_json())["fields"]
        for each in fields:
            if PHYSICAL in json.dumps(each["type"]):
                raise self._unsupported(f"column mapping inside of '{each['name']}'")
        return {each["metadata"].get(PHYSICAL, each["name"]): each["name"] for each in fields}

    @staticmethod
    def _partition(actions: pa.Table, row: int, columns: Mapping[str, str] | None) -> dict[str, pa.Array]:
        if "partition" not in actions.column_names:
            return {}
        values = actions["partition"].slice(row, 1).combine_chunks()
        names = [values.type.field(i).name for i in range(values.type.num_fields)]
        return {(columns or {}).get(name, name): values.field(name) for name in names}

    @staticmethod
    def _masks(table: DeltaTable) -> dict[str, npt.NDArray[np.bool_]]:
        if "deletionVectors" not in (table.protocol().reader_features or ()):
            return {}
        masks = pa.RecordBatchReader.from_stream(table.deletion_vectors()).read_all()
        paths = [os.path.realpath(unquote(urlsplit(uri).path)) for uri in masks["filepath"].to_pylist()]
        return {
            path: np.array(kept, np.bool_)
            for path, kept in zip(paths, masks["selection_vector"].to_pylist(), strict=True)
        }

    def _check_log(self) -> None:
        """The library opens the log by itself: a link in it must not lead out of the roots."""
        if self._roots.bounded:
            log = self.folder / LOG
            inside = [entry.path for entry in _entries(log) if entry.is_symlink()]
            for path in [str(log), *inside]:
                self._roots.resolve(path, self.folder)

    # -- errors --------------------------------------------------------------------------------------

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Whatever the library, or a damaged file, raises is the user's to read. A missing file is the caller's."""
        try:
            yield
        except (PresageError, FileNotFoundError, KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as failure:  # a panic of the library is no Exception
            said = str(failure).strip().splitlines()
            raise self._unreadable(said[0] if said else type(failure).__name__, "check its log") from failure

    def _unreadable(self, why: str, fix: str) -> PresageError:
        return error("FILE_UNREADABLE", path=self.folder, why=f"as a Delta table: {why}", fix=fix)

    def _unsupported(self, feature: str) -> PresageError:
        return error("TABLE_FEATURE", path=self.folder, feature=feature)


def _entries(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    """All that is in a folder and, but for links, below it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(entry.path)


def is_delta(folder: Path) -> bool:
    return (folder / LOG).is_dir()


def not_a_part(folder: Path) -> None:
    """Refuse a folder that is a part of a Delta table, a partition or the log itself: not all its files count."""
    table = next((parent for parent in folder.resolve().parents if is_delta(parent)), None)
    if table is not None:
        why, fix = f"it is a part of the Delta table '{table}', whose log says what counts", f"name '{table}'"
        raise error("FILE_UNREADABLE", path=folder, why=why, fix=fix)
