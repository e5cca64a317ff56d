"""The log of a home: the interface of the storage layer to the engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from presage.errors import PresageError, error
from presage.logging import INFO, tell
from presage.model.catalog import EventType
from presage.model.paths import home_place
from presage.storage.archive import Archive, state_of
from presage.storage.catalog_log import CatalogEntry
from presage.storage.columns import EVENTS, MIN_TIME, SEQ, table_schemas
from presage.storage.committer import Committer, Mend
from presage.storage.data_files import read_data
from presage.storage.delivery import Deliveries, Delivery, taken_table
from presage.storage.delta import DeltaTables, LiveFile, Tables
from presage.storage.delta_schema import to_delta
from presage.storage.distributions import Distributions
from presage.storage.failpoints import Failpoints
from presage.storage.failures import storage
from presage.storage.group_commit import NewFiles
from presage.storage.home import DERIVED, Home, temporary_folder
from presage.storage.home_state import LiveState, Point, StreamState
from presage.storage.ingest import Checked, check
from presage.storage.journal import Part, Record, Turn
from presage.storage.lateness import arrival_record, arrive, event_times
from presage.storage.leases import Lease
from presage.storage.limits import MAX_AHEAD, check_watermark, refuse_ahead
from presage.storage.maintenance import GRACE, Maintenance, MaintenanceReport
from presage.storage.offset_dedup import (
    ResolvedLoad,
    attributes_with_offsets,
    held_schema,
    held_table,
    offset_table_schemas,
    offsets_table,
    resolve_offsets,
    rows_as_list,
    skip,
)
from presage.storage.offsets import Gap, SourceOffsets, gaps
from presage.storage.retention import InUse
from presage.storage.standby import Standby


@dataclass(frozen=True)
class LoadReport:
    """The outcome of one load. A `duplicate` load has no effect; its range is that of the first one.

    With source offsets: `duplicates` were in the log before, `held` rows wait for missing offsets, and `accepted` and
    `late` include rows that an earlier load held back.
    """

    accepted: int = 0
    late: int = 0
    rejected: int = 0
    ignored: dict[str, int] = field(default_factory=dict)
    first_seq: int | None = None
    last_seq: int | None = None
    duplicate: bool = False
    duplicates: int = 0
    held: int = 0


@dataclass(frozen=True)
class StreamProgress:
    """All rows that arrived at a stream (late and rejected ones too), its greatest event time, its watermark."""

    rows: int
    last_time: int | None
    watermark: int | None


class Log:
    def __init__(self, home: Home, committer: Committer) -> None:
        self.home = home
        self._committer = committer
        self.archive = Archive(committer)
        self.maintenance = Maintenance(home, committer)
        self._distributions = Distributions(self._from)
        self.deliveries = Deliveries(home, committer, self._distributions)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        durable: bool = True,
        points: Failpoints | None = None,
        tables: Callable[[Home], Tables] = DeltaTables,
        options: Mapping[str, str] | None = None,
        standby: Standby | None = None,
        mend: Mend | None = None,
    ) -> Log:
        """Open the home at a path or address, and recover it after a crash. None: a temporary home. `standby`: wait
        until no other process has it. `mend`: see `Committer`."""
        without_lock, watch = False, None
        while True:
            try:
                with storage(home_place(path) if path else temporary_folder(), "and open the home again"):
                    home = Home.open(path, durable, options, without_lock, watch)
                    try:
                        known = standby.records if standby is not None else {}
                        return cls(home, Committer(home, tables(home), points, known, mend))
                    except BaseException:
                        home.unlock()
                        raise
            except PresageError as refused:
                if standby is None or refused.code != "HOME_LOCKED" or path is None:
                    raise
                if watch is None:
                    tell(INFO, "STANDBY", "{why}: this engine waits for it", why=refused.message)
            without_lock = standby.wait(path, options)
            watch = standby.watch

    @property
    def position(self) -> int:
        """The last sequence number that readers may see; 0 in an empty home."""
        return self._committer.point.position

    def check_open(self) -> None:
        """Raise an error if the log is closed, or in a fork of the process that opened it."""
        self._committer.check_open()

    def close(self) -> None:
        """Compact the journal, and release the home even if that fails."""
        try:
            self._committer.close()
        finally:
            self.home.close()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, kind: type[BaseException] | None, what: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # -- declarations ---------------------------------------------------------------------------

    def create_stream(self, event_type: EventType) -> None:
        self._declare(None, (event_type,), ())

    def drop_stream(self, name: str) -> None:
        self._declare(None, (), (name,))

    def append_catalog(
        self,
        action: str,
        kind: str,
        name: str,
        text: str,
        extra: dict[str, Any] | None = None,
        creates: Iterable[EventType] = (),
        drops: Iterable[str] = (),
    ) -> CatalogEntry:
        """Commit a declaration together with the streams that it creates or drops, atomically."""
        entry = {"action": action, "kind": kind, "name": name, "text": text, "extra": extra or {}}
        record = self._declare(entry, tuple(creates), tuple(drops))
        assert record.catalog is not None
        return CatalogEntry(**record.catalog)

    def catalog_entries(self) -> list[CatalogEntry]:
        self._committer.check_open()
        return self._committer.catalog.entries()

    def _declare(self, entry: dict[str, Any] | None, creates: tuple[EventType, ...], drops: tuple[str, ...]) -> Record:
        schemas = {
            event_type.name: {table: to_delta(schema) for table, schema in table_schemas(event_type).items()}
            for event_type in creates
        }
        with self._committer.turn() as turn:
            for name in drops:
                state_of(self._committer.state, name)
            internal = [table for name in drops for table in (held_table(name), offsets_table(name), taken_table(name))]
            drops = (*drops, *(table for table in internal if table in self._committer.state.streams))
            for name in schemas:
                if name in self._committer.state.streams and name not in drops:
                    raise error("ALREADY_DECLARED", name=name, kind="stream", difference="", fix="choose another name")
            draft = Record(turn.n, "catalog", turn.at, drops=list(drops), creates=schemas, catalog=entry)
            return self._committer.publish(turn, draft)

    # -- events ---------------------------------------------------------------------------------

    def append(
        self, event_type: EventType, data: object, once: str | None = None, source: SourceOffsets | None = None
    ) -> LoadReport:
        """Append rows, of the kinds that `ingest.check` accepts. They are durable when this returns.

        With a source's offsets each event is appended once, in the order of the offsets: see `offsets`. Rows ahead of
        missing offsets are durable too, and held back.
        """
        is_frame = type(data).__module__.startswith("pyspark.sql")
        if is_frame and source is None and event_type.probabilistic is None:
            return self.append_spark(event_type, data, once)
        with self._committer.turn(grouped=True):
            if once is not None and once in state_of(self._committer.ahead, event_type.name).once:
                return self._duplicate(event_type, once)  # before checking any row
        attributes = event_type.attributes
        if is_frame:
            from presage.storage.spark_ingest import collect_frame  # loads PySpark

            data = collect_frame(event_type, data)
        if source is not None:
            data = rows_as_list(data)
            attributes = attributes_with_offsets(event_type, source, data)
        checked = check(attributes, event_type.event_time, data, f"rows for stream '{event_type.name}'")
        # These read files of earlier rows, which must be there.
        grouped = source is None and event_type.probabilistic is None
        with self._committer.turn(grouped) as turn:
            state = state_of(self._committer.ahead, event_type.name)
            if once is not None and once in state.once:
                return self._duplicate(event_type, once)
            checked = refuse_ahead(checked, event_type, turn.at)
            if source is not None:
                resolved = resolve_offsets(checked, event_type, source, state.sources, lambda: self._held(event_type))
                return self._append_resolved(event_type, state, resolved, once)
            checked = checked.refuse(self._distributions.judge(checked.table, event_type, state))
            if once is None and not checked.table.num_rows and not checked.rejected and not checked.ignored:
                return LoadReport()
            return _report(self._committer.publish(turn, self._draft(turn, event_type, state, checked, once)))

    def deliver(self, event_type: EventType, delivery: Delivery) -> LoadReport:
        """Commit the rows of a source together with its new cursor: see `delivery`.

        A delivery that does not start at the source's current cursor is a duplicate, without effect.
        """
        record = self.deliveries.publish(event_type, delivery)
        return LoadReport(duplicate=True) if record is None else _report(record)

    def gaps(self, stream: str) -> list[Gap]:
        """The offsets that are missing though later ones of their source have arrived."""
        return gaps(state_of(self._committer.state, stream).sources)

    def skip_gap(self, event_type: EventType, source: str, partition: str, up_to: int) -> LoadReport:
        """Stop waiting for the missing offsets of a source up to and including `up_to`.

        Held rows that waited only for them are appended. A missing event that arrives later is still appended.
        """
        with self._committer.turn():
            state = state_of(self._committer.state, event_type.name)
            held = lambda: self._held(event_type)  # noqa: E731
            resolved = skip(event_type, source, partition, up_to, state.sources, held)
            if resolved is None:
                return LoadReport()
            return self._append_resolved(event_type, state, resolved, None, "skip")

    def append_spark(self, event_type: EventType, frame: object, once: str | None = None) -> LoadReport:
        """Append the rows of a Spark DataFrame; its executors write the data files."""
        # Imported here: a log without Spark must not load PySpark.
        from presage.storage.spark_ingest import stage_load

        with self._committer.turn() as turn:
            state = state_of(self._committer.state, event_type.name)
            if once is not None and once in state.once:
                return self._duplicate(event_type, once)
            draft = stage_load(self.home, self._committer, turn, event_type, frame)
            if once is None and not draft.adds and not draft.ignored:
                return LoadReport()
            return _report(self._committer.publish(turn, replace(draft, once=once)))

    def append_watermark(self, stream: str, time: int, max_ahead: int = MAX_AHEAD) -> None:
        """Set the watermark of a stream: events before `time` are late from now on.

        A time more than `max_ahead` after the wall clock is refused: no event could follow it.
        """
        with self._committer.turn(grouped=True) as turn:
            state = state_of(self._committer.ahead, stream)
            time = check_watermark(stream, time, max_ahead, turn.at)
            if state.watermark is None or time > state.watermark:
                self._committer.publish(turn, Record(turn.n, "watermark", turn.at, stream=stream, watermark=time))
            else:
                self._committer.await_earlier()

    def progress(self, stream: str) -> StreamProgress:
        state = state_of(self._committer.state, stream)
        return StreamProgress(state.accepted + state.late + state.rejected, state.last_time, state.watermark)

    @property
    def catalog_version(self) -> int:
        """The version of the last declaration."""
        return self._committer.state.catalog_version

    @property
    def holder(self) -> str:
        """The lease of the process that took over the home last; empty if none did."""
        return self._committer.state.holder

    def tables(self) -> list[tuple[str, str]]:
        """(stream, table) of all tables, internal ones too."""
        return self._committer.tables()

    @property
    def records(self) -> int:
        """The number of records committed so far."""
        return self._committer.state.n

    # -- maintenance ----------------------------------------------------------------------------

    def lease(self, position: int | None = None) -> Lease:
        """Keep the live files on disk, and events after the position in the archive, until the lease is released.

        Without a position all current events stay.
        """
        return self._committer.lease(0 if position is None else position)

    def maintain(
        self, types: Iterable[EventType], in_use: InUse | None = None, grace: float | None = None
    ) -> MaintenanceReport:
        """Compact streams and results, apply retention, delete unused files; see `maintenance`.

        Any thread may call this at any time. `in_use`: the positions of the deployed statements.
        """
        with storage(self.home.path):
            return self.maintenance.run(types, in_use, grace=GRACE if grace is None else grace)

    # -- deployed statements --------------------------------------------------------------------

    @property
    def point(self) -> Point:
        """The consistent position up to which a batch may read."""
        return self._committer.point

    @property
    def live(self) -> LiveState:
        """The state of the deployed statements. Only `publish` may change it."""
        return self._committer.state.live

    def reach(self, point: str) -> None:
        """Pass a crash point outside of a commit: see `failpoints`."""
        self._committer.points.reach(point)

    def follow(self, follower: Callable[[], None]) -> None:
        """Call the follower after each record; it must not block."""
        self._committer.followers.append(follower)

    def unfollow(self, follower: Callable[[], None]) -> None:
        self._committer.followers.remove(follower)

    def settle(self) -> None:
        """Apply records that are committed but could not be applied, because of a failure."""
        with self._committer.turn():
            return

    def publish(
        self,
        kind: str,
        live: dict[str, Any],
        *,
        tables: Mapping[str, pa.Table] | None = None,
        watermarks: Mapping[str, int] | None = None,
        creates: Mapping[str, pa.Schema] | None = None,
        catalog: dict[str, Any] | None = None,
        states: NewFiles | None = None,
    ) -> Record:
        """Commit the state of statements together with their rows, in one record. One thread at a time.

        `tables`: rows by internal table (`home.RESULTS`, or `home.DERIVED` and a name); rows of derived streams, which
        have an event time, get sequence numbers here. `creates`: schemas of such tables, created if missing.
        """
        schemas = {name: {EVENTS: to_delta(schema)} for name, schema in (creates or {}).items()}
        with self._committer.turn(grouped=True) as turn:
            new = {name: schema for name, schema in schemas.items() if name not in self._committer.ahead.streams}
            parts, next_seq = [], self._committer.ahead.position + 1
            for name, rows in (tables or {}).items():
                numbered = name.startswith(DERIVED)
                if numbered:
                    numbers = pa.array(range(next_seq, next_seq + rows.num_rows), pa.int64())
                else:
                    numbers = pa.array([turn.n] * rows.num_rows, pa.int64())
                part = self._part(turn, name, rows.add_column(0, SEQ, numbers), (watermarks or {}).get(name))
                if numbered and rows.num_rows:
                    part = replace(part, first_seq=next_seq, seqs=rows.num_rows)
                    next_seq += rows.num_rows
                parts.append(part)
            draft = Record(turn.n, kind, turn.at, creates=new, catalog=catalog, parts=parts, live=live)
            return self._committer.publish(turn, draft, states)

    def files(self, stream: str, table: str) -> tuple[LiveFile, ...]:
        return self._committer.files(stream, table) if (stream, table) in self.tables() else ()

    def schema(self, stream: str, table: str) -> pa.Schema:
        return self._committer.schema(stream, table)

    def replace_files(self, stream: str, names: Iterable[str], rows: pa.Table) -> None:
        """Replace data files of an internal table that cannot be read by one with their rows."""
        with self._committer.turn() as turn:
            gone = [file for file in self.files(stream, EVENTS) if file.name in names]
            adds = self._committer.stage(turn, stream, {EVENTS: rows}) if rows.num_rows else {}
            more = rows.num_rows - sum(file.rows for file in gone)
            removes = {EVENTS: [file.name for file in gone]}
            part = Part(stream, adds=adds, removes=removes, rewrites=True, accepted=more)
            self._committer.publish(turn, Record(turn.n, "repair", turn.at, parts=[part]))

    def _part(self, turn: Turn, name: str, rows: pa.Table, watermark: int | None) -> Part:
        staged = self._committer.stage(turn, name, {EVENTS: rows}) if rows.num_rows else {}
        first, last = event_times(rows)
        return Part(name, adds=staged, accepted=rows.num_rows, first_time=first, last_time=last, watermark=watermark)

    def _append_resolved(
        self, event_type: EventType, state: StreamState, load: ResolvedLoad, once: str | None, kind: str = "append"
    ) -> LoadReport:
        """Commit a load whose offsets are resolved, together with the new offsets of its source."""
        refused = self._distributions.judge(load.checked.table, event_type, state)
        if refused:
            keep = np.ones(load.checked.table.num_rows, np.bool_)
            keep[list(refused)] = False
            load = replace(load, checked=load.checked.refuse(refused), numbers=load.numbers.filter(pa.array(keep)))
        checked = load.checked
        if once is None and not load.sources and not checked.table.num_rows and not checked.rejected:
            return LoadReport(duplicates=load.duplicates)  # nothing is new
        self._committer.ensure_tables(offset_table_schemas(event_type))
        with self._committer.turn() as turn:
            first, count = self._committer.state.position + 1, checked.table.num_rows
            seqs = pa.array(np.arange(first, first + count))
            rows = {offsets_table: load.numbers.add_column(0, SEQ, seqs), held_table: load.held}
            parts = []
            for name_of, table in rows.items():
                name = name_of(event_type.name)
                removes = {EVENTS: load.spent} if name_of is held_table and load.spent else {}
                if table.num_rows or removes:
                    adds = self._committer.stage(turn, name, {EVENTS: table})
                    parts.append(Part(name, adds=adds, removes=removes, accepted=table.num_rows))
            draft = self._draft(turn, event_type, state, checked, once)
            draft = replace(draft, kind=kind, parts=parts, sources=load.sources)
            report = _report(self._committer.publish(turn, draft))
            return replace(report, duplicates=load.duplicates, held=load.held.num_rows)

    def _held(self, event_type: EventType) -> dict[str, pa.Table]:
        """The files of rows that are or were held back, by name."""
        name = held_table(event_type.name)
        if name not in self._committer.state.streams:
            return {}
        folder = self.home.table_folder(name, EVENTS)
        files = [file.name for file in self._committer.files(name, EVENTS)]
        return {file: read_data(self.home.store.address(folder / file), held_schema(event_type)) for file in files}

    def _from(self, event_type: EventType, low: int, columns: list[str]) -> pa.Table:
        return self.archive.read_arrow(self.archive.snapshot(event_type.name, low=low), columns)

    def _draft(
        self, turn: Turn, event_type: EventType, state: StreamState, checked: Checked, once: str | None
    ) -> Record:
        first = self._committer.ahead.position + 1
        tables = arrive(checked, event_type, state.watermark, first, turn)
        staged = self._committer.stage(turn, event_type.name, tables)
        events = tables[EVENTS]
        self._distributions.propose(events, event_type, state, first + checked.table.num_rows - 1)
        _, last = event_times(events)
        watermark = None if last is None else max(last - event_type.max_delay, MIN_TIME)
        ignored, name = checked.ignored, event_type.name
        return arrival_record(turn, "append", name, tables, staged, ignored, watermark=watermark, once=once)

    def _duplicate(self, event_type: EventType, once: str) -> LoadReport:
        self._committer.await_earlier()
        first, seqs = state_of(self._committer.ahead, event_type.name).once[once]
        if not seqs:
            return LoadReport(duplicate=True)
        return LoadReport(first_seq=first, last_seq=first + seqs - 1, duplicate=True)


def _report(record: Record) -> LoadReport:
    first, last = (record.first_seq, record.first_seq + record.seqs - 1) if record.seqs else (None, None)
    return LoadReport(record.accepted, record.late, record.rejected, record.ignored, first, last)
