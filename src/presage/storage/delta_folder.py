"""A Delta table that other programs write, read by its `_delta_log`.

delta-rs reads the log. The data files are opened here, because its Arrow reader returns nulls under column mapping and
refuses deletion vectors, and because each file must lie in the roots.

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
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from presage.errors import PresageError, error
from presage.model.paths import Roots
from presage.storage.data_files import open_data
from presage.storage.failures import first_line

if TYPE_CHECKING:
    from deltalake import DeltaTable

LOG = "_delta_log"
# The reader features of the Delta protocol that are supported.
KNOWN = {
    *("deletionVectors", "columnMapping", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"),
    *("typeWidening", "typeWidening-preview"),
}
MODE = "delta.columnMapping.mode"
PHYSICAL = "delta.columnMapping.physicalName"
_COMMIT = re.compile(r"(\d{20})\.json")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True)
class DeltaFile:
    """A data file of a table. `partition`: an array of one value for each partition column; `kept`: mask of the rows
    that are not deleted, None if all are kept; `columns`: column names in the table by names in the file, None if
    they are equal."""

    name: str  # its path, absolute or relative to the table's folder
    partition: Mapping[str, pa.Array] = field(default_factory=dict)
    kept: npt.NDArray[np.bool_] | None = None
    columns: Mapping[str, str] | None = None

    def shaped(self, table: pa.Table, at: int = 0) -> tuple[pa.Table, npt.NDArray[np.int64]]:
        """Rows of the file, from row `at` on, as rows of the table; and their row numbers in the file."""
        rows = np.arange(at, at + table.num_rows)
        if self.columns is not None:
            names = [name for name in table.column_names if name in self.columns]
            table = table.select(names).rename_columns([self.columns[name] for name in names])
        for name, value in self.partition.items():
            table = table.append_column(name, pa.repeat(value[0], len(rows)))
        if self.kept is not None:
            kept = np.ones(len(rows), np.bool_)  # rows beyond the mask are kept
            mask = self.kept[at : at + len(rows)]
            kept[: len(mask)] = mask
            table, rows = table.filter(pa.array(kept)), rows[kept]
        return table, rows


@dataclass(frozen=True)
class Commit:
    """What a version changed. `added`: names of files with new rows; `changes`: it deleted or updated rows."""

    added: tuple[str, ...]
    changes: bool
    operation: str


@dataclass(frozen=True)
class Snapshot:
    """A version of a table. `table`: the table's id, another one if the folder is replaced; `files`: its data files, in
    the order of writing; `schema`: its columns, whether or not a file has them."""

    version: int
    table: str
    files: list[DeltaFile]
    schema: pa.Schema


class DeltaFolder:
    """A Delta table in a folder; every file of it must lie in the `roots`."""

    def __init__(self, folder: Path, roots: Roots) -> None:
        self.folder = folder
        self._roots = roots

    def snapshot(self, version: int | None = None) -> Snapshot:
        """A version, the newest by default."""
        # Only for tables of others: those of a home are known without it.
        from deltalake import DeltaTable

        self._check_log()
        with self._readable():
            table = DeltaTable(str(self.folder), version=version)
            self._check_features(table)
            columns = self._columns(table)
            actions = pa.table(table.get_add_actions()).sort_by(
                [("modification_time", "ascending"), ("path", "ascending")]
            )
            masks = self._masks(table)
            files = [
                DeltaFile(
                    name := unquote(path),
                    self._partition(actions, row, columns),
                    masks.get(os.path.realpath(self.path(name))),
                    columns,
                )
                for row, path in enumerate(actions["path"].to_pylist())
            ]
            return Snapshot(int(table.version()), str(table.metadata().id), files, pa.schema(table.schema().to_arrow()))

    def newest(self) -> int:
        """The newest version in the log; -1 if there is none."""
        with self._readable():
            names = map(_COMMIT.fullmatch, os.listdir(self.folder / LOG))
            return max((int(match[1]) for match in names if match), default=-1)

    def commit(self, version: int) -> Commit | None:
        """What a version changed; None if its log entry does not exist."""
        path = self.folder / LOG / f"{version:020d}.json"
        try:
            with self._readable(), self._roots.opened(path) as file:
                actions = [json.loads(line) for line in file if line.strip()]
                adds = [each["add"] for each in actions if each.get("add") and each["add"].get("dataChange", True)]
                gone = [each for each in actions if each.get("remove") and each["remove"].get("dataChange", True)]
                info: dict[str, Any] = next((each["commitInfo"] for each in actions if each.get("commitInfo")), {})
                # Deleting rows by a mask adds the file a second time.
                masked = any(add.get("deletionVector") for add in adds)
                names = tuple(unquote(add["path"]) for add in adds)
                return Commit(names, bool(gone) or masked, str(info.get("operation", "a change")))
        except FileNotFoundError:
            return None

    def rows_since(self) -> tuple[str, str]:
        """An identity of the table's rows: its id, and the last version that changed rows."""
        now = self.snapshot()
        version = now.version
        while (commit := self.commit(version)) is not None and not (commit.added or commit.changes) and version:
            version -= 1
        return now.table, str(version)

    def path(self, name: str) -> Path:
        """The path of a file that the log names."""
        if not _SCHEME.match(name):
            return self.folder / name
        parts = urlsplit(name)
        if parts.scheme != "file":
            raise self._unsupported(f"files at '{parts.scheme}:' addresses")
        return Path(parts.path)

    def read(self, file: DeltaFile) -> tuple[pa.Table, npt.NDArray[np.int64]]:
        """The rows of a file, and their row numbers in it."""
        path = self.path(file.name)
        with self._readable():
            try:
                with self._roots.opened(path) as opened:
                    return file.shaped(open_data(opened, coerce_int96_timestamp_unit="us").read())
            except FileNotFoundError as failure:
                why = f"its file '{file.name}' is gone"
                raise self._unreadable(why, "read it again: a vacuum may have been at work") from failure

    # -- the log -------------------------------------------------------------------------------------

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
        """delta-rs opens the log by itself: a link in it must not lead out of the roots."""
        if self._roots.bounded:
            log = self.folder / LOG
            inside = [entry.path for entry in _entries(log) if entry.is_symlink()]
            for path in [str(log), *inside]:
                self._roots.resolve(path, self.folder)

    # -- errors --------------------------------------------------------------------------------------

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Convert failures of delta-rs and damaged files to FILE_UNREADABLE; FileNotFoundError passes."""
        try:
            yield
        except (PresageError, FileNotFoundError, KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as failure:  # a panic of delta-rs is no Exception
            raise self._unreadable(first_line(failure), "check its log") from failure

    def _unreadable(self, why: str, fix: str) -> PresageError:
        return error("FILE_UNREADABLE", path=self.folder, why=f"as a Delta table: {why}", fix=fix)

    def _unsupported(self, feature: str) -> PresageError:
        return error("TABLE_FEATURE", path=self.folder, feature=feature)


def _entries(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    """All entries of a folder and below it, without following links."""
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(entry.path)


def is_delta(folder: Path) -> bool:
    return (folder / LOG).is_dir()


def not_a_part(folder: Path) -> None:
    """Refuse a folder inside a Delta table, such as a partition or the log: not all its files are live."""
    table = next((parent for parent in folder.resolve().parents if is_delta(parent)), None)
    if table is not None:
        why, fix = f"it is a part of the Delta table '{table}', whose log says what counts", f"name '{table}'"
        raise error("FILE_UNREADABLE", path=folder, why=why, fix=fix)
