"""The catalog as a versioned log of declarations: created, changed and dropped objects.

One small file per version. An entry's `seq` is the log's position when it was written: it applies to later events.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from presage.errors import PresageError
from presage.storage.failures import REPAIR, corrupt
from presage.storage.sealed_json import seal, unseal
from presage.storage.store import Store


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
    def __init__(self, folder: PurePath, store: Store) -> None:
        self._folder = folder
        self._store = store

    def write(self, entry: dict[str, Any]) -> None:
        """Apply the catalog entry of a record. Idempotent."""
        self._store.put(self._folder / _name(entry["version"]), seal(entry))

    def entries(self) -> list[CatalogEntry]:
        return self._store.each(self.read, self._names())

    def read_version(self, version: int) -> CatalogEntry:
        return self.read(_name(version))

    def read(self, name: str) -> CatalogEntry:
        try:
            entry = CatalogEntry(**unseal(self._store.read(self._folder / name)))
        except (OSError, ValueError, TypeError) as broken:
            raise self._corrupt(name, broken) from broken
        if name != _name(entry.version):
            raise self._corrupt(name, f"it holds version {entry.version}")
        return entry

    def missing(self, version: int) -> list[int]:
        """The versions up to `version` that are missing; a later one is an error."""
        names = set(self._names())
        expected = {_name(number): number for number in range(1, version + 1)}
        for name in sorted(names - expected.keys()):
            raise self._corrupt(name, f"the journal ends with version {version}")
        return [number for name, number in expected.items() if name not in names]

    def _names(self) -> list[str]:
        return self._store.names(self._folder)

    def _corrupt(self, name: str, why: object) -> PresageError:
        return corrupt(f"catalog entry {name}", self._folder.parent, why, REPAIR)


def _name(version: int) -> str:
    return f"{version:014d}.json"
