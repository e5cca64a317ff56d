"""The committer of a home: its only writer.

The protocol, with its crash points in `failpoints`: data files are staged; one journal record is written, which is the
commit; every table is updated; the record is marked as applied; from time to time a head replaces the records. Opening
a home applies records that are not marked and removes staged files that no record names.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePath

import pyarrow as pa

from presage.errors import PresageError, error
from presage.model.time import wall_clock
from presage.storage import failpoints
from presage.storage.catalog_log import CatalogLog
from presage.storage.consistency import Comparison, changes_of
from presage.storage.delta import LiveFile, Tables
from presage.storage.failpoints import Failpoints
from presage.storage.failures import KEPT, NOT_DONE, UNKNOWN, corrupt, is_full, is_of_storage, storage, storage_error
from presage.storage.home import Home, tables_of
from presage.storage.home_state import HomeState, Point, state_after
from presage.storage.journal import FileAdd, Journal, Part, Record, Turn, UnknownOutcomeError
from presage.storage.leases import FileLease, Lease, Leases
from presage.storage.staging import discard, stage, sweep

# A head contains all `once` keys: the more there are, the more rarely it is written.
RECORDS_PER_HEAD = 64
KEYS_PER_RECORD = 16
MOST_RECORDS_PER_HEAD = 4096
TRIMMED_PER_RECORD = 2
CLOSED = "; nothing is lost and the home is closed: the next opening finishes the rest"


class Committer:
    def __init__(self, home: Home, tables: Tables, points: Failpoints | None = None) -> None:
        self._home = home
        self._tables = tables
        self.points = points or Failpoints()
        self._journal = Journal(home.journal, home.store, self.points)
        self.leases = Leases()
        self.catalog = CatalogLog(home.catalog, home.store)
        self.state = HomeState()
        # `_order` serializes commits, also while they write files; `_tables_lock` is held only while tables change.
        self._order = threading.RLock()
        self._tables_lock = threading.RLock()
        self._records: list[Record] = []  # since the head
        self._pending: list[Record] = []  # written and not applied yet
        self._unsettled: Record | None = None  # its writing failed, and may still take effect
        self._broken: PresageError | None = None  # why nothing more can be published
        self._closed = False
        self.point = Point(0, 0, {})  # up to which readers may read
        self.followers: list[Callable[[], None]] = []  # called after each record by its thread: they must not block
        self._recover()

    def _recover(self) -> None:
        journal = self._journal.read()
        at_head = state_after(self._home.journal, journal.head, ())
        last_changes = changes_of(at_head)
        self.state = state_after(self._home.journal, journal.head, journal.records)
        self._records = [*journal.records]
        self._take_over()
        for record in journal.records:
            self._create_and_drop(record)
        comparison = Comparison(self._home, self._tables, self.catalog, self._records, last_changes)
        for record in comparison.lost(self.state):
            self._apply(record)
        self.point = self.state.point()
        self._remove_leftovers(at_head.n, journal.records)
        self._compact_if_due()

    def _take_over(self) -> None:
        """Publish the record that stops a process which has the home and may only be paused, before anything else.

        A folder that was released needs none: its lock admits one process. Until the record is there, files that no
        record names may belong to the next record of the other process.
        """
        self._home.await_free(self.state.holder)
        if self._home.was_abandoned:
            try:
                self._publish_takeover()
            except (PresageError, FileExistsError) as refused:  # another process was quicker
                raise self._home.in_use() from refused
        self._home.generation = self.state.n + 1
        self._home.begin()

    def _publish_takeover(self) -> None:
        holder = self._home.lease.state.holder
        record = Record(self.state.n + 1, "takeover", wall_clock(), nonce=uuid.uuid4().hex, takeover=holder)
        record = self._journal.take_over(record)
        self.state.advance(record)
        self._records.append(record)

    def _settle(self) -> None:
        """Make sure that a record whose writing failed is not written later: its request may be on its way still.

        A takeover of this process gets its number. Until then nothing else may be published, and the files of the
        record must stay.
        """
        record = self._unsettled
        if record is None:
            return
        if self._home.store.is_local:
            if self._journal.find(record.n):  # perhaps not durable
                raise self._break("a flush failed")
        else:
            try:
                self._publish_takeover()
            except (PresageError, FileExistsError) as refused:
                found = self._journal.find(record.n)
                # A takeover by another process refuses the record for good. Otherwise it may be committed.
                if isinstance(refused, PresageError) and found and found.takeover not in ("", self.state.holder):
                    self._broken = refused
                    raise
                raise self._break(f"the writing of record {record.n} failed, and it is there") from refused
        self._unsettled = None
        for stream, _ in _adds(record):
            self.discard(Turn(record.n, record.nonce, record.at), stream)

    def _break(self, why: str) -> PresageError:
        """Only reopening can tell what is committed."""
        self._broken = corrupt("the journal", self._home.address, why, "close the engine and open the home again")
        return self._broken

    def _remove_leftovers(self, base: int, records: list[Record]) -> None:
        """Remove the staged files of numbers after `base` that none of the records names."""
        changes = [change for record in records for change in record.changes()]
        named = {file.path for change in changes for files in change.adds.values() for file in files}
        for stream, table in self.tables():
            sweep(self._home.store, self._home.table_folder(stream, table), base, self.state.n + 1, named)

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """Wait for the right to publish. Applies pending records first."""
        self.check_open()  # before the lock, which nobody would release in a forked child
        with self._order:
            self.check_open()
            if self._home.lease.lost:
                raise self._overtaken()
            if self._broken is not None:
                raise self._broken
            before, unsettled = self.state.n, self._unsettled
            try:
                self._settle()
                self._apply_pending()
                before = self.state.n
                yield Turn(before + 1, uuid.uuid4().hex, wall_clock())
            except Exception as failure:
                if is_of_storage(failure) or is_full(failure):
                    # A written record is committed, even if it could not be applied yet.
                    then = KEPT if self.state.n > before and self._pending else NOT_DONE
                    then = then if self._unsettled is unsettled else UNKNOWN
                    raise storage_error(self._home.address, failure, then) from failure
                raise

    def stage(self, turn: Turn, stream: str, tables: dict[str, pa.Table]) -> dict[str, list[FileAdd]]:
        """Write rows as data files that no record names yet."""
        staged: dict[str, list[FileAdd]] = {}
        try:
            for table, rows in tables.items():
                folder = self._home.table_folder(stream, table)
                for file in stage(self._home.store, folder, turn.n, turn.token, rows):
                    staged.setdefault(table, []).append(file)
                    self.points.reach(failpoints.STAGED_ONE)
        except Exception:
            self.discard(turn, stream)
            raise
        return staged

    def discard(self, turn: Turn, stream: str, keep: frozenset[str] = frozenset()) -> None:
        for table in tables_of(stream):
            discard(self._home.store, self._home.table_folder(stream, table), turn.token, keep)

    def publish(self, turn: Turn, draft: Record) -> Record:
        """Commit the draft as the next record of the home, and apply it."""
        record = replace(draft, n=turn.n, at=turn.at, nonce=turn.token)
        next_seq = self.state.position + 1
        if record.seqs:
            record = replace(record, first_seq=next_seq)
            next_seq += record.seqs
        assert all(part.first_seq >= next_seq for part in record.parts if part.seqs)
        if record.catalog is not None:
            entry = {**record.catalog, "version": self.state.catalog_version + 1, "seq": self.state.position}
            record = replace(record, catalog=entry)
        for stream, adds in _adds(record):
            for table in adds:
                self._home.store.flush(self._home.table_folder(stream, table))
        self.points.reach(failpoints.STAGED)
        try:
            self._journal.write(record)
        except Exception as failure:
            if isinstance(failure, PresageError):
                self._broken = failure  # the home has another writer
            else:
                self._unsettled = record
                if not isinstance(failure, UnknownOutcomeError):  # the store answers
                    self._settle()
            raise
        self.state.advance(record)
        self._records.append(record)
        self._pending.append(record)
        self._apply_pending()
        self._compact_if_due()
        for follower in self.followers:
            follower()
        return record

    def ensure_tables(self, tables: Mapping[str, dict[str, str]]) -> None:
        """Create the internal tables that do not exist yet. `tables`: schemas by name and table."""
        with self.turn() as turn:
            missing = {name: tables[name] for name in tables if name not in self.state.streams}
            if missing:
                self.publish(turn, Record(turn.n, "catalog", turn.at, creates=missing))

    def _apply_pending(self) -> None:
        """Apply pending records in order. Idempotent."""
        with self._tables_lock:
            while self._pending:
                record = self._pending[0]
                self._apply(record)
                self.points.reach(failpoints.APPLIED)
                self._pending.pop(0)
            self.point = self.state.point()

    def _create_and_drop(self, record: Record) -> None:
        for stream in record.drops:
            self._tables.drop(stream, record.n)
            self.points.reach(failpoints.TABLE_COMMITTED)
        for stream, schemas in record.creates.items():
            # Applied again, at opening: a later record may have dropped it.
            if stream in self.state.streams and self.state.streams[stream].generation <= record.n:
                self._tables.create(stream, record.n, schemas, record.at)
                self.points.reach(failpoints.TABLE_COMMITTED)

    def _apply(self, record: Record) -> None:
        self._create_and_drop(record)
        for change in record.changes():
            # A record that is applied again may name a stream that a later record dropped.
            name = change.stream
            if name is None or name not in self.state.streams:
                continue
            if self.state.streams[name].generation <= record.n:
                removes = change.removes if isinstance(change, Part) else {}
                for table in {**change.adds, **removes}:
                    adds, rewrites = change.adds.get(table, []), isinstance(change, Part) and change.rewrites
                    self._tables.change(name, table, adds, removes.get(table, []), record.n, rewrites)
                    self.points.reach(failpoints.TABLE_COMMITTED)
        if record.catalog is not None:
            self.catalog.write(record.catalog)
            self.points.reach(failpoints.TABLE_COMMITTED)

    def _compact_if_due(self) -> None:
        due = min(max(RECORDS_PER_HEAD, self.state.keys() // KEYS_PER_RECORD), MOST_RECORDS_PER_HEAD)
        try:
            if len(self._records) >= due:
                self._compact()
            self._journal.trim(TRIMMED_PER_RECORD)
        except OSError:
            # The record is committed, and the records contain all that a head would: retry after the next one.
            return

    def _compact(self) -> None:
        self._journal.compact(self.state.n, self.state.to_json(), self._records)
        self._records = []

    @contextmanager
    def _reading(self) -> Iterator[None]:
        self.check_open()
        with self._tables_lock:
            self.check_open()
            yield

    def files(self, stream: str, table: str) -> tuple[LiveFile, ...]:
        with self._reading():
            return self._tables.files(stream, table)

    def files_and_schema(self, stream: str, table: str) -> tuple[tuple[LiveFile, ...], pa.Schema] | None:
        """The files and the schema of a table; None if its stream has been dropped."""
        with self._reading():
            if stream not in self.state.streams:
                return None
            return self.files(stream, table), self.schema(stream, table)

    def leased_files(
        self, stream: str, table: str, wanted: Callable[[LiveFile], bool] = lambda file: True
    ) -> tuple[list[LiveFile], FileLease]:
        """The wanted files of a table. They stay on disk as long as the lease is referenced."""
        with self._reading():
            files = [file for file in self.files(stream, table) if wanted(file)]
            return files, self.leases.hold(self.path_of(stream, table, file.name) for file in files)

    def lease(self, position: int) -> Lease:
        with self._reading():
            live = [(stream, table, file) for stream, table in self.tables() for file in self.files(stream, table)]
            return self.leases.lease(position, (self.path_of(stream, table, file.name) for stream, table, file in live))

    def tables(self) -> list[tuple[str, str]]:
        """All tables of all streams, internal ones too."""
        return self._home.tables(list(self.state.streams))

    def path_of(self, stream: str, table: str, name: str) -> str:
        return self._home.store.address(self._home.table_folder(stream, table) / name)

    def obsolete(self, stream: str, table: str, before: float) -> list[PurePath]:
        with self._reading():
            return self._tables.obsolete(stream, table, before)

    def schema(self, stream: str, table: str) -> pa.Schema:
        with self._reading():
            return self._tables.schema(stream, table)

    def _overtaken(self) -> PresageError:
        return error("HOME_OVERTAKEN", what="the lease", path=self._home.address)

    def check_open(self) -> None:
        """Raise an error if the home is closed, or in a fork of the process that opened it."""
        self._home.check_owner()
        if self._closed:
            raise error("ENGINE_CLOSED")

    def close(self) -> None:
        """Compact the journal, so that the next opening is quick. Idempotent."""
        if not self._home.is_own:
            return
        with self._order, self._tables_lock:
            if self._closed:
                return
            self._closed = True
            try:
                with storage(self._home.address, CLOSED):
                    self._home.lease.renew()
                    if self._home.lease.lost and self._broken is None:
                        raise self._overtaken()
                    if self._home.is_locked:
                        if self._records and not self._pending and self._broken is None:
                            self._compact()
                        self._journal.trim()
            finally:
                self._tables.close()


def _adds(record: Record) -> list[tuple[str, dict[str, list[FileAdd]]]]:
    """The files that the record adds, by stream."""
    own = [(record.stream, record.adds)] if record.stream is not None else []
    return [*own, *((part.stream, part.adds) for part in record.parts)]
