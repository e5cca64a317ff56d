"""The state of a home, replayed from its journal: positions, watermarks, counters and `once` keys."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, cast

from presage.storage.columns import EVENTS, LATE
from presage.storage.home import DERIVED, RESULTS
from presage.storage.journal import Part, Record, corrupt_journal
from presage.storage.limits import limit_names

# A process can be overtaken this many times while it is paused, and is still refused.
MOST_TAKEOVERS = 1_000


@dataclass
class StreamState:
    """State of a stream, known without opening its tables. Times are microseconds."""

    generation: int  # the number of the record that created it
    accepted: int = 0
    removed: int = 0  # accepted events that retention removed
    key: list[str] | None = None  # columns by which its old files are bucketed, once there are some
    late: int = 0
    rejected: int = 0
    ignored: dict[str, int] = field(default_factory=dict)
    first_time: int | None = None  # least and greatest time of its events, late ones left out
    last_time: int | None = None
    watermark: int | None = None  # an event before it is late
    last_seq: int = 0
    once: dict[str, list[int]] = field(default_factory=dict)  # key -> first and number of sequence numbers
    # Source -> partition -> the offsets that have arrived: see `offsets.PartitionOffsets`.
    sources: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    # Declared source -> its progress: see `delivery.SourceState`.
    cursors: dict[str, dict[str, Any]] = field(default_factory=dict)
    # Table -> the last record that changed it. Heads of earlier versions lack it.
    changes: dict[str, int] = field(default_factory=dict)

    def copy(self) -> StreamState:
        """A copy that changes on its own. There may be a million `once` keys: it holds only its own ones."""
        once = cast(dict[str, list[int]], ChainMap({}, self.once))
        return replace(self, once=once, sources=dict(self.sources), changes=dict(self.changes))

    def rows_of(self, stream: str, table: str) -> int | None:
        """How many rows a table must hold once all records are applied; None where that is not counted."""
        if table == EVENTS and (not stream.startswith("#") or stream == RESULTS or stream.startswith(DERIVED)):
            return self.accepted - self.removed
        # Retention removes late events, too, and does not count them.
        return self.late if table == LATE and not self.removed else None


@dataclass
class LiveState:
    """The deployed statements as plain values, which `presage.live` interprets.

    A record's `live` part holds `job` (values to replace), `statements` (values to replace, by statement number),
    `counts` (increments: `rows_in` as pairs of a count and statement numbers, `rows_out` by number) and `drops`
    (statement numbers).
    """

    job: dict[str, Any] = field(default_factory=dict)
    statements: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def shared_states(self) -> dict[str, Any]:
        """The states of shared execution, by name."""
        return self.job.get("families", {})  # type: ignore[no-any-return]

    def advance(self, change: dict[str, Any]) -> None:
        self.job = {**self.job, **change.get("job", {})}
        for number, values in change.get("statements", {}).items():
            self.statements.setdefault(number, {}).update(values)  # in place: a batch may change every statement
        counts = change.get("counts", {})
        for rows, numbers in counts.get("rows_in", ()):
            for number in numbers:
                self.statements[number]["rows_in"] += rows
        for number, rows in counts.get("rows_out", {}).items():
            self.statements[number]["rows_out"] += rows
        for number in change.get("drops", ()):
            del self.statements[number]


@dataclass(frozen=True)
class Point:
    """A consistent position of the home, up to which readers may read."""

    arrivals: int  # the last record with events or a watermark
    position: int
    watermarks: dict[str, int | None]  # by stream


@dataclass
class HomeState:
    n: int = 0  # the last record
    position: int = 0  # the last sequence number
    catalog_version: int = 0
    streams: dict[str, StreamState] = field(default_factory=dict)
    arrivals: int = 0
    live: LiveState = field(default_factory=LiveState)
    takeovers: list[int] = field(default_factory=list)  # records of takeovers, the last ones
    holder: str = ""  # the lease of the last one

    def advance(self, record: Record) -> None:
        """Apply the next record. Commits and the replay at opening both come here."""
        self.n = record.n
        if record.takeover:
            self.takeovers = [*self.takeovers, record.n][-MOST_TAKEOVERS:]
            self.holder = record.takeover
        for name in record.drops:
            del self.streams[name]
        for name, tables in record.creates.items():
            self.streams[name] = StreamState(record.n, changes=dict.fromkeys(tables, 0))
        if record.catalog is not None:
            self.catalog_version = record.catalog["version"]
        if record.stream is not None:
            stream = self.streams[record.stream]
            self._advance_stream(stream, record)
            stream.late += record.late
            stream.rejected += record.rejected
            stream.ignored = limit_names(record.ignored, stream.ignored)
            for source, partitions in record.sources.items():
                stream.sources[source] = {**stream.sources.get(source, {}), **partitions}
            stream.cursors = {**stream.cursors, **record.cursors}
            if record.once is not None:
                stream.once[record.once] = [record.first_seq, record.seqs]
            self.arrivals = record.n
        for part in record.parts:
            self._advance_stream(self.streams[part.stream], part)
            self.streams[part.stream].removed += part.removed
            if part.key is not None:
                self.streams[part.stream].key = part.key
        for name, table in changed_tables(record):
            changes = self.streams[name].changes
            if table in changes:
                changes[table] = record.n
        if record.live is not None:
            self._advance_live(record.live)

    def _advance_live(self, change: dict[str, Any]) -> None:
        self.live.advance(change)

    def _advance_stream(self, stream: StreamState, record: Record | Part) -> None:
        stream.accepted += record.accepted
        stream.first_time = least((stream.first_time, record.first_time))
        stream.last_time = greatest((stream.last_time, record.last_time))
        stream.watermark = greatest((stream.watermark, record.watermark))
        if record.seqs:
            self.position = stream.last_seq = record.first_seq + record.seqs - 1

    def point(self) -> Point:
        return Point(self.arrivals, self.position, {name: s.watermark for name, s in self.streams.items()})

    def keys(self) -> int:
        return sum(len(stream.once) for stream in self.streams.values())

    def to_json(self) -> dict[str, Any]:
        streams = {name: dict(vars(stream)) for name, stream in self.streams.items()}
        return {**vars(self), "streams": streams, "live": dict(vars(self.live))}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> HomeState:
        streams = {name: StreamState(**stream) for name, stream in content["streams"].items()}
        # Heads of early versions have no deployed statements.
        live = LiveState(**content.get("live", {}))
        arrivals = content.get("arrivals", content["n"])
        fields = {
            "streams": streams,
            "arrivals": arrivals,
            "live": live,
            "takeovers": content.get("takeovers", []),
            "holder": content.get("holder", ""),
        }
        return cls(content["n"], content["position"], content["catalog_version"], **fields)


class StateAhead(HomeState):
    """A home's state with records that are not written yet, for the drafts of the next ones. It copies the streams that
    they change, and has no deployed statements: only their job, one record at a time, changes these."""

    def __init__(self, state: HomeState, records: Iterable[Record] = ()) -> None:
        super().__init__(**{**vars(state), "streams": dict(state.streams), "live": LiveState()})
        self._own: set[str] = set()  # streams that are copied
        for record in records:
            self.advance(record)

    def advance(self, record: Record) -> None:
        for change in record.changes():
            name = change.stream
            if name is not None and name not in self._own:
                self._own.add(name)
                self.streams[name] = self.streams[name].copy()
        super().advance(record)

    def _advance_live(self, change: dict[str, Any]) -> None:
        """Nothing is drafted from it."""


def changed_tables(record: Record) -> set[tuple[str, str]]:
    """The (stream, table) pairs whose files a record changes."""
    return {
        (change.stream, table)
        for change in record.changes()
        if change.stream is not None
        for table in (*change.adds, *(change.removes if isinstance(change, Part) else ()))
    }


def state_after(folder: PurePath, head: dict[str, Any] | None, records: Iterable[Record]) -> HomeState:
    """The state of a home after the head and the records of the journal in a folder."""
    try:
        state = HomeState.from_json(head["state"]) if head else HomeState()
        for record in records:
            state.advance(record)
    except (ValueError, KeyError, TypeError, AttributeError) as broken:
        # Journals of earlier versions have no checksums: their content may be anything.
        why = f"it contradicts itself ({type(broken).__name__}: {broken})"
        raise corrupt_journal(folder, "the journal", why) from broken
    return state


def least(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)


def greatest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)
