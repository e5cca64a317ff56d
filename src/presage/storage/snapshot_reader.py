"""Reader of a home's journal and tables without the lock and without any write.

Another process may write the home at the same time. Its files appear as a whole, and their names are never used again.
A record is written, covered by a new head, and only then deleted. So a missing record or head has been covered by a
newer head in the meantime, and the reader retries.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from presage.errors import PresageError
from presage.storage.delta import Table, generation_of, read_table
from presage.storage.failures import corrupt, storage
from presage.storage.home import HomeLayout, Identity, open_place, read_format
from presage.storage.home_state import HomeState, changed_tables, state_after
from presage.storage.journal import Record, read_journal

TRIES, PAUSE = 20, 0.05  # seconds between them


@dataclass(frozen=True)
class HomeSnapshot:
    """A home at one moment. `base`: the last record that the head covers."""

    layout: HomeLayout
    id: str
    application: str  # see `home.Identity`
    state: HomeState
    base: int
    records: list[Record]

    def tables(self) -> list[tuple[str, str]]:
        """(stream, table) of all tables."""
        return self.layout.tables(self.state.streams)

    def table(self, stream: str, table: str) -> Table:
        """The state of a table according to its own log, which may include later records."""
        folder = self.layout.table_folder(stream, table)
        for _ in range(TRIES - 1):
            with suppress(PresageError):  # entries may be cleaned while they are listed
                return read_table(self.layout.store, folder, self.application)
            time.sleep(PAUSE)
        return read_table(self.layout.store, folder, self.application)

    @cached_property
    def pending(self) -> frozenset[int]:
        """The records whose changes are not yet in all tables."""
        pending, last = set(), dict[tuple[str, str], int]()
        for record in self.records:
            changes = [(name, table) for name, table in changed_tables(record) if name in self.state.streams]
            last |= {key: self._transaction(*key) for key in changes if key not in last}
            created = [
                name for name in record.creates if self.generation(name) < record.n and name in self.state.streams
            ]
            if created or any(last[key] < record.n for key in changes):
                pending.add(record.n)
        return frozenset(pending)

    def generation(self, stream: str) -> int:
        return generation_of(self.layout.store, self.layout.stream_folder(stream))

    def _transaction(self, stream: str, table: str) -> int:
        try:
            return read_table(self.layout.store, self.layout.table_folder(stream, table), self.application).transaction
        except PresageError:
            return 0  # damaged, or not created yet


def read_snapshot(path: str | os.PathLike[str]) -> HomeSnapshot:
    """A snapshot of a home. Raises NOT_A_HOME, HOME_VERSION, HOME_CORRUPT or STORAGE_FAILED."""
    store, folder = open_place(path)
    with storage(store.address(folder), "and try again"):
        identity, layout = read_format(store, folder), HomeLayout(store, folder)
        for _ in range(TRIES - 1):
            with suppress(FileNotFoundError, PresageError):  # a new head may cover what is missing
                return _read(layout, identity)
            time.sleep(PAUSE)
        try:
            return _read(layout, identity)
        except FileNotFoundError as failure:
            why, fix = f"'{failure.filename}' is missing", "restore it from a copy of the home"
            raise corrupt("the journal", folder, why, fix) from failure


def _read(layout: HomeLayout, identity: Identity) -> HomeSnapshot:
    content = read_journal(layout.store, layout.journal)
    state = state_after(layout.journal, content.head, content.records)
    return HomeSnapshot(layout, *identity, state, content.base, content.records)
