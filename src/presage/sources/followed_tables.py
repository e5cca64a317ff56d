"""Delta tables that a files source follows: which of their files hold new events, version by version.

A table begins with the files of the version that is its newest then; of each later version those files are taken that
add rows. What is rewritten without a change of its data, by a compaction for example, is skipped. The position of a
table is a version, part of the source's cursor: `whole` says that all files of that version are taken.
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

Position = dict[str, Any]  # version, whole, table: what tells it from another
# Whether a file of that name was taken.
IsTaken = Callable[[str], bool]


@dataclass
class FollowedTable:
    """`name`: the table's folder below the one that is watched, empty for that itself."""

    name: str
    folder: Path
    roots: Roots
    pending: dict[str, DeltaFile] = field(default_factory=dict)  # by name, with the table's folder in front
    during: Position | None = None  # where the table is until all of them are taken
    target: Position | None = None  # and then
    # The files of the newest version when it was last asked for: to catch up costs one look at the log, not many.
    known: dict[str, DeltaFile] = field(default_factory=dict)
    known_at: int = -1
    identity: str = ""

    def look(self, position: Position | None, is_taken: IsTaken) -> None:
        """Find the files of the next version that has some, if all that were found before are taken."""
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
        """Its position when these files are taken, too."""
        if self.target is None:
            return position
        return self.during if self.pending.keys() - taken else self.target

    def settle(self, taken: Collection[str]) -> None:
        """These files are taken."""
        for name in [*self.pending.keys() & taken]:
            del self.pending[name]

    def place(self, name: str) -> FilePosition:
        """The beginning of a file."""
        try:
            found = os.stat(self.path(name))
        except FileNotFoundError:
            raise self.gap(name) from None
        return FilePosition(name, found.st_size, found.st_mtime_ns)

    def path(self, name: str) -> Path:
        return DeltaFolder(self.folder, self.roots).path(self.pending[name].name)

    def gap(self, name: str) -> PresageError:
        version = (self.target or {}).get("version")
        return error("TABLE_GAP", path=self.folder, what=f"the file '{name}' of version {version}")

    def _expect(self, files: list[DeltaFile], is_taken: IsTaken, during: Position, version: int) -> None:
        named = {f"{self.name}/{file.name}" if self.name else file.name: file for file in files}
        self.pending = {name: file for name, file in named.items() if not is_taken(name)}
        named_by = {"table": self.identity}
        self.during, self.target = {**during, **named_by}, {"version": version, "whole": True, **named_by}

    def _check_same(self, position: Position | None, found: Snapshot, newest: int) -> None:
        """A table that was made anew in the folder has versions of the same numbers, with other rows."""
        self.identity = found.table
        known = position or {}
        if known.get("table", self.identity) != self.identity or newest < known.get("version", -1):
            raise error("TABLE_GAP", path=self.folder, what=f"version {known['version']}: another table is there now")

    def _added(self, delta: DeltaFolder, version: int) -> list[DeltaFile]:
        commit = delta.commit(version)
        if commit is None:
            raise error("TABLE_GAP", path=self.folder, what=f"version {version}")
        if commit.changes:
            raise error("TABLE_CHANGED", path=self.folder, version=version, operation=commit.operation)
        known = self.known
        # What is compacted by now, or whose columns may have had other names then, only that version knows.
        if any(name not in known or known[name].columns is not None for name in commit.added):
            known = {file.name: file for file in delta.snapshot(version).files}
        return [known[name] for name in commit.added]

    def _was_read_as_files(self, delta: DeltaFolder, is_taken: IsTaken) -> bool:
        """Whether files of it were taken before tables were followed: then it goes on from them, by its versions."""
        first = delta.commit(0)
        return first is not None and any(is_taken(f"{self.name}/{n}" if self.name else n) for n in first.added)
