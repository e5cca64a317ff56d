"""Delta tables that a files source follows, version by version.

The source begins with the files of the version that is the newest then; of each later version it reads the files that
add rows. Rewrites without a change of data, such as compactions, are skipped. The position of a table, in the source's
cursor, is a version; `whole` says that all files of that version are read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from presage.errors import PresageError, error
from presage.model.paths import Roots
from presage.sources.file_reader import FilePosition
from presage.storage.delta_folder import DeltaFile, DeltaFolder, Snapshot

Position = dict[str, Any]  # version, whole, table (its id)
# Whether a file of that name is finished.
IsTaken = Callable[[str], bool]


@dataclass
class FollowedTable:
    """`name`: the table's folder below the watched one; empty for the watched folder itself."""

    name: str
    folder: Path
    roots: Roots
    pending: dict[str, DeltaFile] = field(default_factory=dict)  # files to read, by path below the watched folder
    during: Position | None = None  # the position until all of them are read
    target: Position | None = None  # the position afterwards
    # The files of the newest version, cached: catching up reads the log once.
    known: dict[str, DeltaFile] = field(default_factory=dict)
    known_at: int = -1
    identity: str = ""

    def look(self, position: Position | None, is_taken: IsTaken) -> None:
        """Find the files of the next version that adds some, if no file is pending."""
        if self.pending:
            return
        delta = DeltaFolder(self.folder, self.roots)
        if position is None and self._was_read_as_files(delta, is_taken):
            position = {"version": -1, "whole": True}
        if position is None or not position["whole"]:
            first = delta.snapshot(None if position is None else position["version"])
            version = first.version
            self._check_same(position, first, version)
            self._expect(first.files, is_taken, {"version": version, "whole": False}, version)
        else:
            version = position["version"]
        newest = delta.newest()
        if newest > version and self.known_at < newest:
            now = delta.snapshot()
            self.known_at, self.known = now.version, {file.name: file for file in now.files}
            self._check_same(position, now, newest)
        elif newest < version:
            self._check_same(position, delta.snapshot(), newest)
        while not self.pending and version < newest:
            version += 1
            self._expect(self._added(delta, version), is_taken, {"version": version - 1, "whole": True}, version)

    def after(self, position: Position | None, taken: Collection[str]) -> Position | None:
        """The position when these files are read, too."""
        if self.target is None:
            return position
        return self.during if self.pending.keys() - taken else self.target

    def settle(self, taken: Collection[str]) -> None:
        """These files are finished."""
        for name in [*self.pending.keys() & taken]:
            del self.pending[name]

    def place(self, name: str) -> FilePosition:
        """The beginning of a file."""
        try:
            status = os.stat(self.path(name))
        except FileNotFoundError:
            raise self.gap(name) from None
        return FilePosition(name, status.st_size, status.st_mtime_ns)

    def path(self, name: str) -> Path:
        return DeltaFolder(self.folder, self.roots).path(self.pending[name].name)

    def gap(self, name: str) -> PresageError:
        version = (self.target or {}).get("version")
        return error("TABLE_GAP", path=self.folder, what=f"the file '{name}' of version {version}")

    def _expect(self, files: list[DeltaFile], is_taken: IsTaken, during: Position, version: int) -> None:
        named = {f"{self.name}/{file.name}" if self.name else file.name: file for file in files}
        self.pending = {name: file for name, file in named.items() if not is_taken(name)}
        identity = {"table": self.identity}
        self.during, self.target = {**during, **identity}, {"version": version, "whole": True, **identity}

    def _check_same(self, position: Position | None, snapshot: Snapshot, newest: int) -> None:
        """Raise an error if another table, with the same version numbers, has replaced this one in the folder."""
        self.identity = snapshot.table
        before = position or {}
        if before.get("table", self.identity) != self.identity or newest < before.get("version", -1):
            raise error("TABLE_GAP", path=self.folder, what=f"version {before['version']}: another table is there now")

    def _added(self, delta: DeltaFolder, version: int) -> list[DeltaFile]:
        commit = delta.commit(version)
        if commit is None:
            raise error("TABLE_GAP", path=self.folder, what=f"version {version}")
        if commit.changes:
            raise error("TABLE_CHANGED", path=self.folder, version=version, operation=commit.operation)
        files = self.known
        # Files that are compacted by now, or whose columns may have been renamed, must be looked up in that version.
        if any(name not in files or files[name].columns is not None for name in commit.added):
            files = {file.name: file for file in delta.snapshot(version).files}
        return [files[name] for name in commit.added]

    def _was_read_as_files(self, delta: DeltaFolder, is_taken: IsTaken) -> bool:
        """Whether an earlier version of Presage read its files as plain files: then it continues by versions."""
        first = delta.commit(0)
        return first is not None and any(is_taken(f"{self.name}/{n}" if self.name else n) for n in first.added)
