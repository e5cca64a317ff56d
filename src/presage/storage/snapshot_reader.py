"""Reader of a home's journal and tables without the lock and without any write.

Another process may write the home at the same time. Its files appear atomically, and their names are never used again.
A record is written, marked (its suffix changes), covered by a new head, and only then deleted. So a missing record has
been covered by a head in the meantime, and the reader retries.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from presage.errors import PresageError
from presage.model.paths import home_path
from presage.storage import journal
from presage.storage.columns import TABLES
from presage.storage.delta import Table, read_table
from presage.storage.disk import corrupt, storage
from presage.storage.home import HomeLayout, read_format
from presage.storage.home_state import HomeState, state_after
from presage.storage.journal import Record
from presage.storage.lock import owner_line

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
        pairs = [(stream, table) for stream in self.state.streams for table in TABLES]
        return [(stream, table) for stream, table in pairs if self.layout.table_folder(stream, table).is_dir()]

    def table(self, stream: str, table: str) -> Table:
        """The state of a table according to its own log, which may include later records."""
        folder = self.layout.table_folder(stream, table)
        for _ in range(TRIES - 1):
            try:
                return read_table(folder, self.id)
            except PresageError:
                time.sleep(PAUSE)  # entries were cleaned while they were listed
        return read_table(folder, self.id)

    def owner(self) -> str:
        """The last owner of the home, from the lock's file; it may have released the lock."""
        return owner_line(self.layout.path)


def read_snapshot(path: str | os.PathLike[str]) -> HomeSnapshot:
    """A snapshot of a home. Raises NOT_A_HOME, HOME_VERSION, HOME_CORRUPT or STORAGE_FAILED."""
    folder = home_path(path).resolve()
    with storage(folder, "and try again"):
        return _read_with_retries(folder)


def _read_with_retries(folder: Path) -> HomeSnapshot:
    identity, layout = read_format(folder), HomeLayout(folder)
    for tried in range(TRIES):
        try:
            return _read(layout, identity)
        except (FileNotFoundError, PresageError) as failure:
            # A new head may cover what is missing; damage persists.
            if tried == TRIES - 1:
                if isinstance(failure, PresageError):
                    raise
                why, fix = f"'{failure.filename}' is missing", "restore it from a copy of the home"
                raise corrupt("the journal", folder, why, fix) from failure
            time.sleep(PAUSE)
    raise AssertionError


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
