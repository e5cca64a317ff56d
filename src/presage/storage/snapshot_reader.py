"""Reader of a home's journal and tables without the lock and without any write.

Another process may write the home at the same time. Its files appear atomically, and their names are never used again.
A record is written, marked (its suffix changes), covered by a new head, and only then deleted. So a missing record has
been covered by a head in the meantime, and the reader retries.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass

from presage.errors import PresageError
from presage.model.paths import home_path
from presage.storage import journal
from presage.storage.delta import Table, read_table
from presage.storage.disk import corrupt, storage
from presage.storage.home import HomeLayout, read_format
from presage.storage.home_state import HomeState, state_after
from presage.storage.journal import Record

TRIES, PAUSE = 20, 0.05  # seconds between them


@dataclass(frozen=True)
class HomeSnapshot:
    """A home at one moment. `base`: the last record that the head covers; `pending`: records that are not marked as
    applied."""

    layout: HomeLayout
    id: str
    state: HomeState
    base: int
    records: list[Record]
    pending: frozenset[int]

    def tables(self) -> list[tuple[str, str]]:
        """(stream, table) of all existing tables."""
        return self.layout.tables(self.state.streams)

    def table(self, stream: str, table: str) -> Table:
        """The state of a table according to its own log, which may include later records."""
        folder = self.layout.table_folder(stream, table)
        for _ in range(TRIES - 1):
            with suppress(PresageError):  # entries may be cleaned while they are listed
                return read_table(folder, self.id)
            time.sleep(PAUSE)
        return read_table(folder, self.id)


def read_snapshot(path: str | os.PathLike[str]) -> HomeSnapshot:
    """A snapshot of a home. Raises NOT_A_HOME, HOME_VERSION, HOME_CORRUPT or STORAGE_FAILED."""
    folder = home_path(path).resolve()
    with storage(folder, "and try again"):
        identity, layout = read_format(folder), HomeLayout(folder)
        for _ in range(TRIES - 1):
            with suppress(FileNotFoundError, PresageError):  # a new head may cover what is missing
                return _read(layout, identity)
            time.sleep(PAUSE)
        try:
            return _read(layout, identity)
        except FileNotFoundError as failure:
            why, fix = f"'{failure.filename}' is missing", "restore it from a copy of the home"
            raise corrupt("the journal", folder, why, fix) from failure


def _read(layout: HomeLayout, identity: str) -> HomeSnapshot:
    head = journal.read_head(layout.journal)
    base = int(head["n"]) if head else 0
    names = [name for name in os.listdir(layout.journal) if name != journal.HEAD and name[0] != "."]
    numbers = sorted({journal.number_of(layout.journal / name) for name in names})
    records, pending = [], set()
    for n in (n for n in numbers if n > base):
        try:
            records.append(journal.read_record(journal.record_path(layout.journal, n, journal.PENDING)))
            pending.add(n)
        except FileNotFoundError:
            records.append(journal.read_record(journal.record_path(layout.journal, n, journal.DONE)))
    journal.check_unbroken(layout.journal, base, records)
    state = state_after(layout.journal, head, records)
    return HomeSnapshot(layout, identity, state, base, records, frozenset(pending))
