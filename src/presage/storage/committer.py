"""The committer of a home: its only writer.

The protocol, with its crash points in `failpoints`: records are drafted, one after another, with the rows of their data
files; the files of all drafts that have gathered are written; one file of the journal holds their records, which is the
commit; every table is updated, in a bucket by a thread behind; from time to time a head replaces the records. Opening
a home applies records that are missing in tables and removes data files that no record names.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from types import MappingProxyType
from typing import NoReturn

import pyarrow as pa

from presage.errors import PresageError, error
from presage.logging import WARNING, tell
from presage.model.time import wall_clock
from presage.storage import failpoints
from presage.storage.catalog_log import CatalogLog
from presage.storage.consistency import Comparison, changes_of
from presage.storage.delta import LiveFile, Tables
from presage.storage.failpoints import Failpoints
from presage.storage.failures import (
    KEPT,
    NOT_DONE,
    REPAIR,
    UNKNOWN,
    corrupt,
    is_full,
    is_of_storage,
    storage,
    storage_error,
)
from presage.storage.group_commit import (
    Draft,
    DraftQueue,
    NewFiles,
    added_files,
    delete_files,
    discard_files,
    only_adds,
    write_files,
)
from presage.storage.home import Home, tables_of
from presage.storage.home_state import HomeState, Point, state_after
from presage.storage.journal import FileAdd, Head, Journal, Part, Record, Turn, UnknownOutcomeError
from presage.storage.leases import FileLease, Lease, Leases
from presage.storage.staging import discard, stage, sweep
from presage.storage.table_writer import TableWriter

# A head contains all `once` keys: the more there are, the more rarely it is written.
RECORDS_PER_HEAD = 64
KEYS_PER_RECORD = 16
MOST_RECORDS_PER_HEAD = 4096
TRIMMED_PER_RECORD = 2
# Given the home, its state at the journal's head, its present state, and the records in between.
Mend = Callable[[Home, HomeState, HomeState, Sequence[Record]], None]
CLOSED = "; nothing is lost and the home is closed: the next opening finishes the rest"


class Committer:
    def __init__(
        self,
        home: Home,
        tables: Tables,
        points: Failpoints | None = None,
        known: Mapping[int, list[Record]] = MappingProxyType({}),
        mend: Mend | None = None,
    ) -> None:
        """`known`: see `read_journal`. `mend`: repairs tables and catalog before they are compared with the journal."""
        self._home = home
        self._mend = mend
        self._tables = tables
        self.points = points or Failpoints()
        self._journal = Journal(home.journal, home.store, self.points, known)
        self.leases = Leases()
        self.catalog = CatalogLog(home.catalog, home.store)
        self.state = HomeState()
        # `_order` serializes drafts; `_tables_lock` is held only while tables change.
        self._order = threading.RLock()
        self._tables_lock = threading.RLock()
        self._turns = 0  # nested ones of the thread that has `_order`
        self._is_alone = False  # in the outermost turn: whether nothing else is drafted, written or applied
        self._lost = 0  # `DraftQueue.lost` when the outermost turn began
        self._awaited: Draft | None = None  # which the outermost turn waits for
        self._files = NewFiles(home.store)  # staged in this turn
        self._since_head = 0  # records
        self._head_failed = False
        self._pending: list[Record] = []  # written and not applied yet
        self._unsettled: Sequence[Draft] = ()  # their writing failed, and may still take effect
        self._behind = TableWriter(self._apply_behind, lambda: home.is_locked)
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
        self._since_head = len(journal.records)
        self._take_over()
        if self._mend is not None:
            self._mend(self._home, at_head, self.state, journal.records)
        for record in journal.records:
            self._create_and_drop(record)
        comparison = Comparison(self._home, self._tables, self.catalog, journal.records, last_changes)
        for record in comparison.lost(self.state):
            self._apply(record)
        self.point = self.state.point()
        self._remove_leftovers(at_head.n, journal.records)
        self._queue = DraftQueue(self.state, self._write, partial(discard_files, self._home))
        self._finish(self._head_if_due(), 1)

    def _take_over(self) -> None:
        """Publish the record that stops a process which has the home and may only be paused, before anything else.

        A folder that was released needs none: its lock admits one process. Until the record is there, files that no
        record names may belong to the next record of the other process.
        """
        self._home.await_free(self.state.holder, max(self.state.takeovers, default=0))
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
        self.state.advance(self._journal.take_over(record))
        self._since_head += 1

    def _resolve(self) -> None:
        """Make sure that a group whose writing failed is not written later: its request may be on its way still.

        A takeover of this process gets its number. Until then nothing else may be published, and the files of the
        group must stay.
        """
        n = self._unsettled[0].record.n
        if self._home.store.is_local:
            if self._journal.find(n):  # perhaps not durable
                raise self._break("a flush failed")
        else:
            try:
                self._publish_takeover()
            except (PresageError, FileExistsError) as refused:
                found = self._journal.find(n)
                # A takeover by another process refuses the group for good. Otherwise it may be committed.
                if isinstance(refused, PresageError) and found and found.takeover not in ("", self.state.holder):
                    self._broken = refused
                    self._home.lease.lose()
                    raise
                raise self._break(f"the writing of record {n} failed, and it is there") from refused
        lost, self._unsettled = self._unsettled, ()
        discard_files(self._home, lost)

    def _break(self, why: str) -> PresageError:
        """Only reopening can tell what is committed."""
        self._broken = corrupt("the journal", self._home.address, why, "close the engine and open the home again")
        return self._broken

    def _remove_leftovers(self, base: int, records: list[Record]) -> None:
        """Remove the staged files of numbers after `base` that none of the records names. The listing that this needs
        also tells which files of tables are gone; the home opens without them, and reading them is an error."""
        changes = [change for record in records for change in record.changes()]
        named = {file.path for change in changes for files in change.adds.values() for file in files}
        for stream, table in self.tables():
            found = sweep(self._home.store, self._home.table_folder(stream, table), base, self.state.n + 1, named)
            lost = [file.name for file in self._tables.files(stream, table) if file.name not in found]
            if lost:
                text = "table '{table}' of '{stream}' has lost {count} data files, {first} is one: {fix}"
                which = {"table": table, "stream": stream, "count": str(len(lost)), "first": lost[0]}
                tell(WARNING, "FILES_MISSING", text, failure=None, **which, fix=REPAIR)

    @property
    def ahead(self) -> HomeState:
        """The state after all drafts, from which the next one is made. Only within a turn."""
        return self._queue.ahead

    @contextmanager
    def turn(self, grouped: bool = False) -> Iterator[Turn]:
        """Wait for the right to draft the next record.

        Without `grouped`, nothing else is drafted or written in this turn, all records are applied, and `publish`
        commits. A `grouped` turn may begin while other records are written; what it drafts may share a file of the
        journal with other drafts, and is committed when the turn has ended. It drafts from `ahead`, which is not
        committed yet: files that `ahead` counts may not be there.
        """
        self.check_open()  # before the lock, which nobody would release in a forked child
        awaited: Draft | None = None
        try:
            with self._order:
                self._check_writable()
                if not self._turns:
                    self._lost, self._awaited, self._is_alone = self._queue.lost, None, False
                self._turns += 1
                before = self._awaited
                try:
                    if not (grouped or self._is_alone) or self._pending or self._unsettled:
                        self._settle()
                    if self._behind.is_far_behind:
                        self._behind.wait()
                    yield Turn(self.ahead.n + 1, uuid.uuid4().hex, wall_clock())
                except Exception as failure:
                    delete_files(self._home, self._files.paths)
                    self._files = NewFiles(self._home.store)
                    self._raise(failure, None if self._awaited is before else self._awaited)
                finally:
                    self._turns -= 1
                    if not self._turns:
                        awaited = self._awaited
        finally:
            if awaited is not None and not awaited.done:
                try:
                    self._queue.settle(awaited)
                except Exception as failure:
                    self._raise(failure, awaited)

    def _check_writable(self) -> None:
        self.check_open()
        if self._broken is not None:
            raise self._broken

    def _raise(self, failure: Exception, draft: Draft | None) -> NoReturn:
        """Raise a failure of a turn as an error for its caller. `draft`: what the turn has drafted."""
        if not (is_of_storage(failure) or is_full(failure)):
            raise failure
        # A written record is committed, even if it could not be applied yet.
        then = NOT_DONE if draft is None else KEPT if draft.committed else UNKNOWN if draft.unknown else NOT_DONE
        raise storage_error(self._home.address, failure, then) from failure

    def _settle(self) -> None:
        """Let all drafts be written and all records be applied."""
        self._queue.settle()
        self._check_writable()
        if self._unsettled:
            self._resolve()
        if not self._behind.wait():
            raise self._overtaken()
        self._apply_pending()
        self._is_alone = True

    def stage(self, turn: Turn, stream: str, tables: dict[str, pa.Table]) -> dict[str, list[FileAdd]]:
        """Make data files of rows, which no record names yet. Small ones are written with the record."""
        staged: dict[str, list[FileAdd]] = {}
        for table, rows in tables.items():
            folder, place = self._home.table_folder(stream, table), self._files.place(rows.nbytes)
            for file in stage(place, folder, turn.n, turn.token, rows):
                staged.setdefault(table, []).append(file)
                if place is not self._files:
                    self.points.reach(failpoints.STAGED_ONE)
        return staged

    def discard(self, turn: Turn, stream: str, keep: frozenset[str] = frozenset()) -> None:
        """Remove the files that others wrote for a turn: executors of Spark."""
        for table in tables_of(stream):
            discard(self._home.store, self._home.table_folder(stream, table), turn.token, keep)

    def publish(self, turn: Turn, draft: Record, states: NewFiles | None = None) -> Record:
        """Draft the next record of the home, with what has been staged; `states`: files of states that it refers to.

        The record is committed when this returns, or when the turn ends if that is `grouped`.
        """
        if not (self._is_alone or only_adds(draft)):
            self._settle()
        record = replace(draft, n=turn.n, at=turn.at, nonce=turn.token)
        next_seq = self.ahead.position + 1
        if record.seqs:
            record = replace(record, first_seq=next_seq)
            next_seq += record.seqs
        assert all(part.first_seq >= next_seq for part in record.parts if part.seqs)
        if record.catalog is not None:
            entry = {**record.catalog, "version": self.ahead.catalog_version + 1, "seq": self.ahead.position}
            record = replace(record, catalog=entry)
        new = Draft(record, [self._files] if states is None else [states, self._files])
        self._files = NewFiles(self._home.store)
        self._queue.add(new, self._lost)
        self._awaited = new
        if self._is_alone:
            self._queue.settle(new)
        return record

    def await_earlier(self) -> None:
        """Let the turn wait for all earlier drafts, because what it tells its caller follows from them."""
        self._awaited = self._queue.last(self._lost) or self._awaited

    def _write(self, group: Sequence[Draft]) -> None:
        """Commit the records of drafts, and apply them. One thread at a time."""
        try:
            write_files(self._home, self.points, group)
        except Exception:
            discard_files(self._home, group)
            raise
        records = [draft.record for draft in group]
        try:
            self._journal.write(*records)
        except PresageError as failure:
            self._broken = failure  # the home has another writer
            self._home.lease.lose()
            discard_files(self._home, group)
            raise
        except BaseException as failure:
            self._unsettled = group
            for draft in group:
                draft.unknown = True
            # If nobody can tell, the store does not answer: the next turn tries.
            if isinstance(failure, Exception) and not isinstance(failure, UnknownOutcomeError):
                self._resolve()
                for draft in group:
                    draft.unknown = False
            raise
        for draft in group:
            self.state.advance(draft.record)
            draft.committed = True
        self._since_head += len(group)
        if self._is_alone or not self._home.store.is_distant:
            self._pending.extend(records)
            self._apply_pending()
            self._finish(self._head_if_due(), len(records))
        else:
            head = self._head_if_due()
            with self._tables_lock:
                self._behind.add(records, head)
                self.point = self.state.point()
        for follower in self.followers:
            follower()

    def ensure_tables(self, tables: Mapping[str, dict[str, str]]) -> None:
        """Create the internal tables that do not exist yet. `tables`: schemas by name and table."""
        with self.turn(grouped=True) as turn:
            missing = {name: tables[name] for name in tables if name not in self.ahead.streams}
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

    def _apply_behind(self, records: Sequence[Record], head: Head | None) -> None:
        """Apply records that only add files: one entry for each table, whose transaction is its last record."""
        adds: dict[tuple[str, str], list[FileAdd]] = {}
        last: dict[tuple[str, str], int] = {}
        for record in records:
            for stream, tables in added_files(record):
                for table, files in tables.items():
                    adds.setdefault((stream, table), []).extend(files)
                    last[stream, table] = record.n
        for (stream, table), files in adds.items():
            self._tables.change(stream, table, files, [], last[stream, table])
            self.points.reach(failpoints.TABLE_COMMITTED)
        self.points.reach(failpoints.APPLIED)
        self._finish(head, len(records))

    def _head_if_due(self) -> Head | None:
        due = min(max(RECORDS_PER_HEAD, self.state.keys() // KEYS_PER_RECORD), MOST_RECORDS_PER_HEAD)
        if self._since_head < due and not self._head_failed:
            return None
        self._since_head, self._head_failed = 0, False
        return Head.of(self.state.to_json())

    def _finish(self, head: Head | None, records: int) -> None:
        """Write a head, and delete files that are covered by one. All records must be applied."""
        try:
            if head is not None:
                self._journal.compact(head)
            self._journal.trim(TRIMMED_PER_RECORD * records)
        except OSError:
            # The records contain all that a head would: retry after the next one.
            self._head_failed = head is not None

    @contextmanager
    def _reading(self) -> Iterator[None]:
        self.check_open()
        with self._tables_lock:
            self.check_open()
            yield

    def files(self, stream: str, table: str) -> tuple[LiveFile, ...]:
        with self._reading():
            new = self._behind.files(stream, table)  # first: afterwards they may be in the table
            files = self._tables.files(stream, table)
            return tuple({file.name: file for file in (*files, *new)}.values()) if new else files

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
        """Raise an error if the home is closed, in a fork of the process that opened it, or if another process has
        taken over."""
        self._home.check_owner()
        if self._closed:
            raise error("ENGINE_CLOSED")
        if self._home.lease.lost:
            raise self._broken or self._overtaken()

    def close(self) -> None:
        """Compact the journal, so that the next opening is quick. Idempotent."""
        if not self._home.is_own:
            return
        with self._order:
            if self._closed:
                return
            self._queue.settle()
            with self._tables_lock:
                self._closed = True
            try:
                with storage(self._home.address, CLOSED):
                    self._home.lease.renew()
                    if self._home.lease.lost and self._broken is None:
                        raise self._overtaken()
                    if self._home.is_locked:
                        applied = self._behind.wait() and not self._pending
                        if (self._since_head or self._head_failed) and applied and self._broken is None:
                            self._journal.compact(Head.of(self.state.to_json()))
                        self._journal.trim()
            finally:
                self._behind.stop()
                self._tables.close()
