"""The log of a home: rows, watermarks and declarations in, positions and reports out. What the engine talks to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from presage.errors import error
from presage.log.archive import Archive, state_of
from presage.log.arrival import arrive
from presage.log.catalog_log import CatalogEntry
from presage.log.columns import EVENTS, SEQ, TIME, table_schemas
from presage.log.committer import Committer
from presage.log.crash import CrashPoints
from presage.log.delta import DeltaTables, Tables, delta_schema
from presage.log.home import DERIVED, Home
from presage.log.ingest import Checked, check
from presage.log.journal import Part, Record, Turn
from presage.log.state import LiveState, Point, StreamState
from presage.model.catalog import EventType


@dataclass(frozen=True)
class LoadReport:
    """What became of the rows of one load. A duplicate brought nothing: its range is that of the first call."""

    accepted: int = 0
    late: int = 0
    rejected: int = 0
    ignored: dict[str, int] = field(default_factory=dict)
    first_seq: int | None = None
    last_seq: int | None = None
    duplicate: bool = False


class Log:
    def __init__(self, home: Home, committer: Committer) -> None:
        self._home = home
        self._committer = committer
        self.archive = Archive(home, committer)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        durable: bool = True,
        points: CrashPoints | None = None,
        tables: Callable[[Home], Tables] = DeltaTables,
    ) -> Log:
        """Open the home at the path, alone; finish what a crash left unfinished. None: a temporary home."""
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

    def close(self) -> None:
        self._committer.close()
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
            for name in schemas:
                if name in self._committer.state.streams and name not in drops:
                    raise error("ALREADY_DECLARED", name=name, kind="stream", fix=f"DROP STREAM {name} first")
            draft = Record(turn.n, "catalog", turn.at, drops=list(drops), creates=schemas, catalog=entry)
            return self._committer.publish(turn, draft)

    # -- events ---------------------------------------------------------------------------------

    def append(self, event_type: EventType, data: object, once: str | None = None) -> LoadReport:
        """Append rows (see `ingest.check` for what they may be). They are durable when this returns."""
        if type(data).__module__.startswith("pyspark.sql"):
            return self.append_spark(event_type, data, once)
        with self._committer.turn():
            if once is not None and once in state_of(self._committer, event_type.name).once:
                return self._duplicate(event_type, once)  # known without looking at the rows
        checked = check(event_type.attributes, event_type.event_time, data, f"rows for stream '{event_type.name}'")
        with self._committer.turn() as turn:
            state = state_of(self._committer, event_type.name)
            if once is not None and once in state.once:
                return self._duplicate(event_type, once)
            if once is None and not checked.table.num_rows and not checked.rejected and not checked.ignored:
                return LoadReport()
            return self._append(turn, event_type, state, checked, once)

    def append_spark(self, event_type: EventType, frame: object, once: str | None = None) -> LoadReport:
        """Append the rows of a Spark DataFrame; its executors write the data files."""
        # The only road to PySpark: a log without Spark must not load it.
        from presage.log.spark_ingest import stage_frame

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

    def append_watermark(self, stream: str, time: int) -> None:
        """Declare that the stream has nothing more to tell from before `time`; what still comes is late."""
        with self._committer.turn() as turn:
            state = state_of(self._committer, stream)
            if state.watermark is None or time > state.watermark:
                self._committer.publish(turn, Record(turn.n, "watermark", turn.at, stream=stream, watermark=time))

    # -- standing statements --------------------------------------------------------------------

    @property
    def point(self) -> Point:
        """How far the home is: a consistent view for a batch to work up to."""
        return self._committer.point

    @property
    def live(self) -> LiveState:
        """What is known of the standing statements. Only `publish` changes it; a caller must not."""
        return self._committer.state.live

    def follow(self, follower: Callable[[], None]) -> None:
        """Have the follower called after each record; it must return at once."""
        self._committer.follow(follower)

    def unfollow(self, follower: Callable[[], None]) -> None:
        self._committer.unfollow(follower)

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
            draft = Record(turn.n, kind, turn.at, creates=fresh, catalog=catalog, parts=parts, live=live)
            return self._committer.publish(turn, draft)

    def _part(self, turn: Turn, name: str, rows: pa.Table, watermark: int | None) -> Part:
        staged = self._committer.stage(turn, name, {EVENTS: rows}) if rows.num_rows else {}
        times = pc.min_max(rows[TIME]) if rows.num_rows else None
        first, last = (times["min"].value, times["max"].value) if times is not None else (None, None)
        return Part(name, adds=staged, accepted=rows.num_rows, first_time=first, last_time=last, watermark=watermark)

    def _append(
        self, turn: Turn, event_type: EventType, state: StreamState, checked: Checked, once: str | None
    ) -> LoadReport:
        first = self._committer.state.position + 1
        tables = arrive(checked, event_type, state.watermark, first, turn)
        staged = self._committer.stage(turn, event_type.name, tables)
        events = tables[EVENTS]
        first_time, last_time = (int(events[TIME][i].value) if events.num_rows else None for i in (0, -1))
        draft = Record(
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
            ignored=dict(checked.ignored),
            first_time=first_time,
            last_time=last_time,
            watermark=None if last_time is None else last_time - event_type.max_delay,
        )
        return self._publish(turn, draft)

    def _publish(self, turn: Turn, draft: Record) -> LoadReport:
        record = self._committer.publish(turn, draft)
        first, last = (record.first_seq, record.first_seq + record.seqs - 1) if record.seqs else (None, None)
        return LoadReport(record.accepted, record.late, record.rejected, record.ignored, first, last)

    def _duplicate(self, event_type: EventType, once: str) -> LoadReport:
        first, seqs = state_of(self._committer, event_type.name).once[once]
        if not seqs:
            return LoadReport(duplicate=True)
        return LoadReport(first_seq=first, last_seq=first + seqs - 1, duplicate=True)
