"""The path of a home in, what its journal and its tables say now out: without the lock, and without leaving a trace.

Another process may have the home and go on writing. Its files appear whole, under names that are never used again, and
give way to others in an order that a reader can follow: a record is written, marked (its ending changes), taken into a
new head, and only then deleted. So a record that is missing has been taken into a head since, and one looks again.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from presage.errors import PresageError, error
from presage.model.paths import home_path
from presage.storage.columns import TABLES
from presage.storage.delta import Table, read_table
from presage.storage.disk import storage
from presage.storage.home import HomeLayout, read_format
from presage.storage.home_state import HomeState, state_after
from presage.storage.journal import (
    DONE,
    HEAD,
    PENDING,
    Record,
    check_unbroken,
    number_of,
    read_head,
    read_record,
    record_path,
)
from presage.storage.lock import owner_line

TRIES, PAUSE = 20, 0.05  # seconds between them


@dataclass(frozen=True)
class HomeSnapshot:
    """A home at one moment. `base`: the record up to which the head has taken them in; `pending`: those that are
    written and not yet marked as carried out."""

    layout: HomeLayout
    id: str
    state: HomeState
    base: int
    records: list[Record]
    pending: frozenset[int]

    def tables(self) -> list[tuple[str, str]]:
        """Stream and table, of all tables that are there."""
        found = [(stream, table) for stream in self.state.streams for table in TABLES]
        return [(stream, table) for stream, table in found if self.layout.table_folder(stream, table).is_dir()]

    def table(self, stream: str, table: str) -> Table:
        """What the table's own log says; it may know of records that came after this look."""
        folder = self.layout.table_folder(stream, table)
        for _ in range(TRIES - 1):
            try:
                return read_table(folder, self.id)
            except PresageError:
                time.sleep(PAUSE)  # entries that are cleaned while they are listed
        return read_table(folder, self.id)

    def owner(self) -> str:
        """Who had the home last, as the lock's file says; whether it still has is another question."""
        return owner_line(self.layout.path)


def read_snapshot(path: str | os.PathLike[str]) -> HomeSnapshot:
    """Look at a home. Raises NOT_A_HOME, HOME_VERSION, HOME_CORRUPT or STORAGE_FAILED."""
    folder = home_path(path).resolve()
    with storage(folder, "and look again"):
        return _read_with_retries(folder)


def _read_with_retries(folder: Path) -> HomeSnapshot:
    identity, layout = read_format(folder), HomeLayout(folder)
    for tried in range(TRIES):
        try:
            return _look(layout, identity)
        except (FileNotFoundError, PresageError) as failure:
            # A head that was written meanwhile has taken in what is missing; what is damaged stays so.
            if tried == TRIES - 1:
                if isinstance(failure, PresageError):
                    raise
                fix = "restore it from a copy of the home"
                what, why = "the journal", f"'{failure.filename}' is missing"
                raise error("HOME_CORRUPT", what=what, path=folder, why=why, fix=fix) from failure
            time.sleep(PAUSE)
    raise AssertionError


def _look(layout: HomeLayout, identity: str) -> HomeSnapshot:
    head = read_head(layout.journal)
    base = int(head["n"]) if head else 0
    numbers = sorted(
        {number_of(layout.journal / name) for name in os.listdir(layout.journal) if name != HEAD and name[0] != "."}
    )
    records, pending = [], set()
    for n in (n for n in numbers if n > base):
        try:
            records.append(read_record(record_path(layout.journal, n, PENDING)))
            pending.add(n)
        except FileNotFoundError:
            records.append(read_record(record_path(layout.journal, n, DONE)))
    check_unbroken(layout.journal, base, records)
    state = state_after(layout.journal, head, records)
    return HomeSnapshot(layout, identity, state, base, records, frozenset(pending))
