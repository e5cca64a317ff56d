"""Entries in, the same entries in order out: what was declared, changed and dropped, as a versioned log.

One small file per version. An entry's `seq` is the log's position when it was written: it holds for events after it.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from presage.errors import error
from presage.log.disk import Disk


@dataclass(frozen=True)
class CatalogEntry:
    version: int  # 1, 2, 3, …
    seq: int
    action: str  # create, drop, refresh, …
    kind: str  # stream, schema, relation, statement, …
    name: str
    text: str  # the statement as it was written
    extra: dict[str, Any] = field(default_factory=dict)


class CatalogLog:
    def __init__(self, folder: Path, disk: Disk) -> None:
        self._folder = folder
        self._disk = disk

    def write(self, entry: dict[str, Any]) -> None:
        """Carry out the catalog's part of a record; doing it again writes the same file."""
        self._disk.write_atomically(self._folder / f"{entry['version']:014d}.json", json.dumps(entry).encode())

    def entries(self) -> list[CatalogEntry]:
        found = []
        for name in sorted(os.listdir(self._folder)):
            if name.startswith("."):
                continue  # a file that never got its name
            try:
                found.append(CatalogEntry(**json.loads((self._folder / name).read_bytes())))
            except (ValueError, TypeError) as broken:
                fix = "restore the catalog folder from a copy of the home"
                what = f"catalog entry {name}"
                raise error("HOME_CORRUPT", what=what, path=self._folder.parent, why=str(broken), fix=fix) from broken
        return found
