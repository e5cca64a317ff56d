"""The log of a home: rows, watermarks and declarations in, positions and reports out. What the engine talks to."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.errors import error
from presage.model.catalog import EventType
from presage.model.paths import home_path
from presage.storage.archive import Archive, state_of
from presage.storage.catalog_log import CatalogEntry
from presage.storage.columns import EVENTS, MIN_TIME, SEQ, TIME, table_schemas
from presage.storage.committer import Committer
from presage.storage.data_files import read_data
from presage.storage.delivery import Deliveries, Delivery, taken_table
from presage.storage.delta import DeltaTables, Tables, delta_schema
from presage.storage.disk import storage
from presage.storage.distributions import Distributions
from presage.storage.failpoints import CrashPoints
from presage.storage.home import DERIVED, Home
from presage.storage.home_state import LiveState, Point, StreamState
from presage.storage.ingest import Checked, check
from presage.storage.journal import Part, Record, Turn
from presage.storage.lateness import arrive
from presage.storage.leases import Pin
from presage.storage.limits import MAX_AHEAD, check_watermark, limit_names, refuse_ahead
from presage.storage.maintenance import GRACE, Maintenance, MaintenanceReport
from presage.storage.offset_dedup import (
    Sorted,
    held_schema,
    held_table,
    numbered_attributes,
    numbered_schemas,
    offsets_table,
    settle,
    skip,
    sort_out,
)
from presage.storage.offsets import Gap, SourceOffsets, gaps
from presage.storage.retention import InUse


@dataclass(frozen=True)
class LoadReport:
    """What became of the rows of one load. A duplicate brought nothing: its range is that of the first call.

    With source offsets: `duplicates` were in the log before, `held` wait for events that are still on their way, and
    `accepted` and `late` count those too that an earlier load had to hold back.
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
class Heard:
    """Rows that came to a stream, whatever became of them; its greatest event time; its watermark."""

    rows: int
    last_time: int | None
    watermark: int | None


class Log:
    def __init__(self, home: Home, committer: Committer) -> None:
        self._home = home
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
        points: CrashPoints | None = None,
        tables: Callable[[Home], Tables] = DeltaTables,
    ) -> Log:
        """Open the home at the path, alone; finish what a crash left unfinished. None: a temporary home."""
        with storage(home_path(path or tempfile.gettempdir()), "and open the home again"):
            home = Home.open(path, durable)
            try:
                return cls(home, Committer(home, tables(home), points))
            except BaseException:
                home.unlock()
                raise

    @property
    def home(self) -> Home:
        return self._home

    @property
    def position(self) -> int:
        """The last sequence number that readers may see; 0 in an empty home."""
        return self._committer.position

    def check_open(self) -> None:
        """Refuse what is asked of a closed log, or by a fork of the process that opened it."""
        self._committer.check_open()

    def close(self) -> None:
        """Leave a short journal behind, and give the home up, whatever becomes of the journal."""
        try:
            self._committer.close()
        finally:
            self._home.close()

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
        """Log a declaration, together with the streams that it makes or drops: all of it happens, or nothing."""
        entry = {"action": action, "kind": kind, "name": name, "text": text, "extra": extra or {}}
        record = self._declare(entry, tuple(creates), tuple(drops))
        assert record.catalog is not None
        return CatalogEntry(**record.catalog)

    def catalog_entries(self) -> list[CatalogEntry]:
        self._committer.check_open()
        return self._committer.catalog.entries()

    def _declare(self, entry: dict[str, Any] | None, creates: tuple[EventType, ...], drops: tuple[str, ...]) -> Record:
        schemas = {
            event_type.name: {table: delta_schema(schema) for table, schema in table_schemas(event_type).items()}
            for event_type in creates
        }
        with self._committer.turn() as turn:
            for name in drops:
                state_of(self._committer, name)
            beside = [table for name in drops for table in (held_table(name), offsets_table(name), taken_table(name))]
            drops = (*drops, *(table for table in beside if table in self._committer.state.streams))
            for name in schemas:
                if name in self._committer.state.streams and name not in drops:
                    raise error("ALREADY_DECLARED", name=name, kind="stream", difference="", fix="choose another name")
            draft = Record(turn.n, "catalog", turn.at, drops=list(drops), creates=schemas, catalog=entry)
            return self._committer.publish(turn, draft)

    # -- events ---------------------------------------------------------------------------------

    def append(
        self, event_type: EventType, data: object, once: str | None = None, source: SourceOffsets | None = None
    ) -> LoadReport:
        """Append rows (see `ingest.check` for what they may be). They are durable when this returns.

        With a source's offsets each event is appended once, whatever path it comes on, and after those before it: see
        `offsets`. Rows that come too early are durable too, and held back.
        """
        is_frame = type(data).__module__.startswith("pyspark.sql")
        if is_frame and source is None and event_type.probabilistic is None:
            return self.append_spark(event_type, data, once)
        with self._committer.turn():
            if once is not None and once in state_of(self._committer, event_type.name).once:
                return self._duplicate(event_type, once)  # known without looking at the rows
        attributes = event_type.attributes
        if is_frame:
            from presage.storage.spark_ingest import collect_frame  # the only road to PySpark, as below

            data = collect_frame(event_type, data)
        if source is not None:
            data = settle(data)
            attributes = numbered_attributes(event_type, source, data)
        checked = check(attributes, event_type.event_time, data, f"rows for stream '{event_type.name}'")
        with self._committer.turn() as turn:
            state = state_of(self._committer, event_type.name)
            if once is not None and once in state.once:
                return self._duplicate(event_type, once)
            checked = refuse_ahead(checked, event_type, turn.at)
            if source is not None:
                numbered = sort_out(checked, event_type, source, state.sources, lambda: self._held(event_type))
                return self._append_numbered(event_type, state, numbered, once)
            checked = checked.refuse(self._distributions.judge(checked.table, event_type, state))
            if once is None and not checked.table.num_rows and not checked.rejected and not checked.ignored:
                return LoadReport()
            return self._append(turn, event_type, state, checked, once)

    def deliver(self, event_type: EventType, delivery: Delivery) -> LoadReport:
        """Append what a source brings, with how far it is then, in one record: see `delivery`.

        Nothing happens, and the report is that of a duplicate, unless the delivery goes on from where the source is.
        """
        record = self.deliveries.publish(event_type, delivery)
        return LoadReport(duplicate=True) if record is None else _report(record)

    def gaps(self, stream: str) -> list[Gap]:
        """The offsets that a stream's sources have not brought yet, though later ones have come."""
        return gaps(state_of(self._committer, stream).sources)

    def skip_gap(self, event_type: EventType, source: str, partition: str, up_to: int) -> LoadReport:
        """Wait no longer for what a source has lost: its offsets up to and with `up_to` that have not come.

        Held rows that waited for them only are appended. Should a lost event turn up after all, it is appended then.
        """
        with self._committer.turn():
            state = state_of(self._committer, event_type.name)
            held = lambda: self._held(event_type)  # noqa: E731
            numbered = skip(event_type, source, partition, up_to, state.sources, held)
            if numbered is None:
                return LoadReport()
            return self._append_numbered(event_type, state, numbered, None, "skip")

    def append_spark(self, event_type: EventType, frame: object, once: str | None = None) -> LoadReport:
        """Append the rows of a Spark DataFrame; its executors write the data files."""
        # The only road to PySpark: a log without Spark must not load it.
        from presage.storage.spark_ingest import stage_frame

        with self._committer.turn() as turn:
            state = state_of(self._committer, event_type.name)
            if once is not None and once in state.once:
                return self._duplicate(event_type, once)
            try:
                draft = stage_frame(self._home, turn, event_type, state, self._committer.state.position + 1, frame)
            except Exception:
                self._committer.discard(turn, event_type.name)
                raise
            # A task that ran twice left files that it did not report.
            reported = frozenset(file.path for files in draft.adds.values() for file in files)
            self._committer.discard(turn, event_type.name, keep=reported)
            if once is None and not draft.adds and not draft.ignored:
                return LoadReport()
            return self._publish(turn, replace(draft, once=once))

    def append_watermark(self, stream: str, time: int, max_ahead: int = MAX_AHEAD) -> None:
        """Declare that the stream has nothing more to tell from before `time`; what still comes is late.

        A time more than `max_ahead` after the wall clock is refused: no event could follow it.
        """
        with self._committer.turn() as turn:
            state = state_of(self._committer, stream)
            time = check_watermark(stream, time, max_ahead, turn.at)
            if state.watermark is None or time > state.watermark:
                self._committer.publish(turn, Record(turn.n, "watermark", turn.at, stream=stream, watermark=time))

    def heard(self, stream: str) -> Heard:
        """What a stream has told so far."""
        state = state_of(self._committer, stream)
        return Heard(state.accepted + state.late + state.rejected, state.last_time, state.watermark)

    @property
    def records(self) -> int:
        """How many records the home has had."""
        return self._committer.state.n

    # -- maintenance ----------------------------------------------------------------------------

    def pin(self, position: int | None = None) -> Pin:
        """Keep what is live now on disk, and events after the position in the archive, until the pin is released.

        Without a position all events that are there now stay.
        """
        return self._committer.pin(0 if position is None else position)

    def maintain(
        self, types: Iterable[EventType], in_use: InUse | None = None, grace: float | None = None
    ) -> MaintenanceReport:
        """Compact streams and results, apply retention, delete what nobody reads; see `maintenance`.

        May be called by any thread, beside all other calls. `in_use`: how far the standing statements are.
        """
        with storage(self._home.path):
            return self.maintenance.run(types, in_use, grace=GRACE if grace is None else grace)

    # -- standing statements --------------------------------------------------------------------

    @property
    def point(self) -> Point:
        """How far the home is: a consistent view for a batch to work up to."""
        return self._committer.point

    @property
    def live(self) -> LiveState:
        """What is known of the standing statements. Only `publish` changes it; a caller must not."""
        return self._committer.state.live

    def reach(self, point: str) -> None:
        """Say how far a batch is: see `failpoints`."""
        self._committer.reach(point)

    def follow(self, follower: Callable[[], None]) -> None:
        """Have the follower called after each record; it must return at once."""
        self._committer.follow(follower)

    def unfollow(self, follower: Callable[[], None]) -> None:
        self._committer.unfollow(follower)

    def settle(self) -> None:
        """Carry out what has happened and was not carried out, because something failed on the way."""
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
    ) -> Record:
        """One record that changes what is known of statements together with the rows that they made.

        `tables`: rows by table of our own (`home.RESULTS`, `home.DERIVED` and a name); rows of derived streams, which
        have an event time, get sequence numbers here. `creates`: such tables that are not there yet.
        """
        schemas = {name: {EVENTS: delta_schema(schema)} for name, schema in (creates or {}).items()}
        with self._committer.turn() as turn:
            fresh = {name: schema for name, schema in schemas.items() if name not in self._committer.state.streams}
            parts, next_seq = [], self._committer.state.position + 1
            try:
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
            except Exception:
                for name in tables or {}:
                    self._committer.discard(turn, name)
                raise
            draft = Record(turn.n, kind, turn.at, creates=fresh, catalog=catalog, parts=parts, live=live)
            return self._committer.publish(turn, draft)

    def _part(self, turn: Turn, name: str, rows: pa.Table, watermark: int | None) -> Part:
        staged = self._committer.stage(turn, name, {EVENTS: rows}) if rows.num_rows else {}
        times = pc.min_max(rows[TIME]) if rows.num_rows else None
        first, last = (times["min"].value, times["max"].value) if times is not None else (None, None)
        return Part(name, adds=staged, accepted=rows.num_rows, first_time=first, last_time=last, watermark=watermark)

    def _append_numbered(
        self, event_type: EventType, state: StreamState, numbered: Sorted, once: str | None, kind: str = "append"
    ) -> LoadReport:
        """Publish what the offsets of a load have decided, in one record with how far the source is now."""
        refused = self._distributions.judge(numbered.checked.table, event_type, state)
        if refused:
            kept = np.ones(numbered.checked.table.num_rows, np.bool_)
            kept[list(refused)] = False
            made = numbered.checked.refuse(refused)
            numbered = replace(numbered, checked=made, numbers=numbered.numbers.filter(pa.array(kept)))
        checked = numbered.checked
        if once is None and not numbered.sources and not checked.table.num_rows and not checked.rejected:
            return LoadReport(duplicates=numbered.duplicates)  # nothing is new
        tables = numbered_schemas(event_type)
        self._committer.have(tables)
        with self._committer.turn() as turn:
            first, count = self._committer.state.position + 1, checked.table.num_rows
            seqs = pa.array(np.arange(first, first + count))
            rows = {offsets_table: numbered.numbers.add_column(0, SEQ, seqs), held_table: numbered.held}
            parts = []
            try:
                for name_of, table in rows.items():
                    name = name_of(event_type.name)
                    removes = {EVENTS: numbered.spent} if name_of is held_table and numbered.spent else {}
                    if table.num_rows or removes:
                        adds = self._committer.stage(turn, name, {EVENTS: table})
                        parts.append(Part(name, adds=adds, removes=removes, accepted=table.num_rows))
                draft = self._draft(turn, event_type, state, checked, once)
            except Exception:
                for name in tables:
                    self._committer.discard(turn, name)
                raise
            report = self._publish(turn, replace(draft, kind=kind, parts=parts, sources=numbered.sources))
            return replace(report, duplicates=numbered.duplicates, held=numbered.held.num_rows)

    def _held(self, event_type: EventType) -> dict[str, pa.Table]:
        """The files of rows that are held back, or were."""
        name = held_table(event_type.name)
        if name not in self._committer.state.streams:
            return {}
        folder = self._home.table_folder(name, EVENTS)
        files = [file.name for file in self._committer.files(name, EVENTS)]
        return {file: read_data(folder / file, held_schema(event_type)) for file in files}

    def _from(self, event_type: EventType, low: int, columns: list[str]) -> pa.Table:
        """The events of a stream from a time on."""
        return self.archive.read_arrow(self.archive.snapshot(event_type.name, low=low), columns)

    def _append(
        self, turn: Turn, event_type: EventType, state: StreamState, checked: Checked, once: str | None
    ) -> LoadReport:
        return self._publish(turn, self._draft(turn, event_type, state, checked, once))

    def _draft(
        self, turn: Turn, event_type: EventType, state: StreamState, checked: Checked, once: str | None
    ) -> Record:
        first = self._committer.state.position + 1
        tables = arrive(checked, event_type, state.watermark, first, turn)
        staged = self._committer.stage(turn, event_type.name, tables)
        events = tables[EVENTS]
        self._distributions.propose(events, event_type, state, first + checked.table.num_rows - 1)
        first_time, last_time = (int(events[TIME][i].value) if events.num_rows else None for i in (0, -1))
        return Record(
            turn.n,
            "append",
            turn.at,
            stream=event_type.name,
            once=once,
            seqs=checked.table.num_rows,
            adds=staged,
            accepted=events.num_rows,
            late=checked.table.num_rows - events.num_rows,
            rejected=len(checked.rejected),
            ignored=limit_names(checked.ignored, {}),
            first_time=first_time,
            last_time=last_time,
            watermark=None if last_time is None else max(last_time - event_type.max_delay, MIN_TIME),
        )

    def _publish(self, turn: Turn, draft: Record) -> LoadReport:
        return _report(self._committer.publish(turn, draft))

    def _duplicate(self, event_type: EventType, once: str) -> LoadReport:
        first, seqs = state_of(self._committer, event_type.name).once[once]
        if not seqs:
            return LoadReport(duplicate=True)
        return LoadReport(first_seq=first, last_seq=first + seqs - 1, duplicate=True)


def _report(record: Record) -> LoadReport:
    first, last = (record.first_seq, record.first_seq + record.seqs - 1) if record.seqs else (None, None)
    return LoadReport(record.accepted, record.late, record.rejected, record.ignored, first, last)
