"""Bounds on position and event time in, the data files that hold those events out; and what is known of a stream."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from presage.errors import did_you_mean, error
from presage.storage.buckets import KeyFilter, keys_of
from presage.storage.chunks import AGES, age
from presage.storage.columns import EVENTS, LATE, ORDER, REJECTED, SEQ, TIME
from presage.storage.committer import Committer
from presage.storage.compaction import by_arrival
from presage.storage.data_files import read_data
from presage.storage.delta import LiveFile
from presage.storage.home import DERIVED, RESULTS
from presage.storage.home_state import StreamState
from presage.storage.leases import Held
from presage.storage.offsets import gaps


@dataclass(frozen=True)
class Bounds:
    """after < `_seq` <= up_to and low <= `_t` < high; None is unbounded. Times are microseconds."""

    after: int | None = None
    up_to: int | None = None
    low: int | None = None
    high: int | None = None

    def excludes(self, file: LiveFile) -> bool:
        """Whether the file's statistics say that none of its rows lies inside."""
        return (
            (self.after is not None and file.last_seq is not None and file.last_seq <= self.after)
            or (self.up_to is not None and file.first_seq is not None and file.first_seq > self.up_to)
            or (self.low is not None and file.last_time is not None and file.last_time < self.low)
            or (self.high is not None and file.first_time is not None and file.first_time >= self.high)
        )

    def still_needed(self, files: Sequence[LiveFile]) -> Bounds:
        """The bounds that some row of some file may break: the predicates left to apply to rows."""
        after, up_to, low, high = self.after, self.up_to, self.low, self.high
        # A file without a statistic may break any bound.
        if after is not None and all(f.first_seq is not None and f.first_seq > after for f in files):
            after = None
        if up_to is not None and all(f.last_seq is not None and f.last_seq <= up_to for f in files):
            up_to = None
        if low is not None and all(f.first_time is not None and f.first_time >= low for f in files):
            low = None
        if high is not None and all(f.last_time is not None and f.last_time < high for f in files):
            high = None
        return Bounds(after, up_to, low, high)


@dataclass(frozen=True)
class FileSet:
    """Files that hold all events within some bounds, and perhaps others, which `predicates` keep out.

    `exact`: no predicate is left, so rows and times are those of the events asked for, not merely bounds on them.
    """

    stream: str
    paths: tuple[str, ...]
    rows: int
    bytes: int
    min_time: int | None
    max_time: int | None
    predicates: Bounds
    schema: pa.Schema
    spans: tuple[tuple[int, int, int], ...] = ()  # of each file: first and last time, rows
    held: Held | None = field(default=None, compare=False, repr=False)  # keeps the files on disk
    key: tuple[str, ...] = ()  # the columns by whose values old files are bucketed
    arrivals: tuple[int, ...] = ()  # of each file: the last position that it holds; empty if one does not say

    @property
    def exact(self) -> bool:
        return self.predicates == Bounds()

    def between(self, low: int, high: int) -> FileSet:
        """Those of the files that may hold events with low <= time < high, and these bounds as predicates."""
        if len(self.spans) != len(self.paths):
            return self._bounded(low, high)
        kept = [i for i, (first, last, _) in enumerate(self.spans) if first < high and last >= low]
        spans = tuple(self.spans[i] for i in kept)
        part = replace(
            self,
            paths=tuple(self.paths[i] for i in kept),
            rows=sum(rows for _, _, rows in spans),
            min_time=min((first for first, _, _ in spans), default=None),
            max_time=max((last for _, last, _ in spans), default=None),
            spans=spans,
            arrivals=tuple(self.arrivals[i] for i in kept) if self.arrivals else (),
        )
        inside = all(low <= first and last < high for first, last, _ in spans)
        return part if inside else part._bounded(low, high)

    def _bounded(self, low: int, high: int) -> FileSet:
        known = self.predicates
        lows, highs = [low, *_some(known.low)], [high, *_some(known.high)]
        return replace(self, predicates=replace(known, low=max(lows), high=min(highs)))


@dataclass(frozen=True)
class StreamInfo:
    """A stream in figures, for DESCRIBE and SHOW."""

    name: str
    rows: int  # all that were accepted
    retained: int  # those of them that retention has left
    late: int
    rejected: int
    ignored: dict[str, int]
    files: int
    bytes: int
    first_time: int | None  # of the retained events
    last_time: int | None
    last_seq: int
    watermark: int | None
    chunks: dict[str, tuple[int, int]]  # files and rows, by age (`chunks.AGES`)


class Archive:
    """Reads what the committer has published."""

    def __init__(self, committer: Committer) -> None:
        self._committer = committer

    def snapshot(
        self,
        stream: str,
        up_to_seq: int | None = None,
        low: int | None = None,
        high: int | None = None,
        after_seq: int | None = None,
        key_values: Mapping[str, Collection[Any]] | None = None,
    ) -> FileSet:
        """The files of a stream's events with after_seq < `_seq` <= up_to_seq and low <= event time < high.

        `key_values`: files without any of these values in a column are left out; rows are not filtered by them. The
        files stay on disk as long as the set, or a copy of it, is referred to.
        """
        key = self._state(stream).key or ()
        bounds = Bounds(after_seq, up_to_seq, low, high)
        schema = self._committer.schema(stream, EVENTS)
        keys = KeyFilter(key_values or {}, key, schema)
        files, held = self._committer.held_files(
            stream, EVENTS, lambda file: not bounds.excludes(file) and not keys.excludes(file)
        )
        return FileSet(
            stream,
            tuple(self._committer.path_of(stream, EVENTS, file.name) for file in files),
            sum(file.rows for file in files),
            sum(file.size for file in files),
            min((file.first_time for file in files if file.first_time is not None), default=None),
            max((file.last_time for file in files if file.last_time is not None), default=None),
            bounds.still_needed(files),
            schema,
            tuple(
                (f.first_time, f.last_time, f.rows)
                for f in files
                if f.first_time is not None and f.last_time is not None
            ),
            held,
            keys_of(schema, key),
            () if any(file.last_seq is None for file in files) else tuple(file.last_seq or 0 for file in files),
        )

    def read_arrow(self, files: FileSet, columns: Sequence[str] | None = None) -> pa.Table:
        """The events of a file set in the order of their arrival, as one Arrow table. For small sets."""
        wanted = list(columns) if columns is not None else files.schema.names
        needed = [*wanted, *(name for name in (SEQ, TIME) if name not in wanted)]
        schema = pa.schema([files.schema.field(name) for name in needed])
        table = _read(files.paths, schema)
        return by_arrival(within(table, files.predicates), SEQ).select(wanted)

    def read_late(self, stream: str) -> pa.Table:
        """The late events of a stream, by arrival, with `_late_by` in microseconds."""
        return self._read_all(stream, LATE)

    def read_rejected(self, stream: str) -> pa.Table:
        """The rejected rows of a stream: reason, raw, at, origin, load."""
        return self._read_all(stream, REJECTED)

    def describe(self, stream: str) -> StreamInfo:
        return stream_info(stream, self._state(stream), self._committer.files(stream, EVENTS))

    def last_time(self, stream: str) -> int | None:
        """The greatest time of an event of that stream; None where it has none, or there is no such stream."""
        state = self._committer.state.streams.get(stream)
        return None if state is None else state.last_time

    def held(self, stream: str) -> int:
        """How many events of a stream wait for others of their source: they are durable, and in none of its tables."""
        return sum(gap.held for gap in gaps(self._state(stream).sources))

    def holds(self, stream: str) -> bool:
        """Whether there is a table of events of that name, a declared stream's or one of our own."""
        return stream in self._committer.state.streams

    def streams(self) -> list[str]:
        """The declared streams; tables of our own are left out."""
        return [name for name in list(self._committer.state.streams) if not name.startswith("#")]

    def made(self) -> list[str]:
        """The tables of our own that hold what statements made: results, and derived streams."""
        return [name for name in list(self._committer.state.streams) if name == RESULTS or name.startswith(DERIVED)]

    def _read_all(self, stream: str, table: str) -> pa.Table:
        self._state(stream)
        files, held = self._committer.held_files(stream, table)
        paths = [self._committer.path_of(stream, table, file.name) for file in files]
        rows = _read(paths, self._committer.schema(stream, table))
        held.release()
        return by_arrival(rows, ORDER[table])

    def _state(self, stream: str) -> StreamState:
        return state_of(self._committer, stream)


def stream_info(name: str, state: StreamState, files: Sequence[LiveFile]) -> StreamInfo:
    """A stream in figures, out of what the journal and the statistics of its files say."""
    ages = [(age(file, state.watermark), file) for file in files]
    chunks = {a: [file.rows for found, file in ages if found == a] for a in AGES}
    first_times = [file.first_time for file in files if file.first_time is not None]
    return StreamInfo(
        name,
        state.accepted,
        state.accepted - state.removed,
        state.late,
        state.rejected,
        dict(state.ignored),
        len(files),
        sum(file.size for file in files),
        min(first_times, default=None) if state.removed else state.first_time,
        state.last_time,
        state.last_seq,
        state.watermark,
        {a: (len(rows), sum(rows)) for a, rows in chunks.items()},
    )


def _some(bound: int | None) -> list[int]:
    return [] if bound is None else [bound]


def state_of(committer: Committer, stream: str) -> StreamState:
    state = committer.state.streams.get(stream)
    if state is None:
        raise error("UNKNOWN_STREAM", name=stream, fix=did_you_mean(stream, committer.state.streams))
    return state


def _read(paths: Sequence[str], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables([schema.empty_table(), *(read_data(path, schema) for path in paths)])


def within(table: pa.Table, bounds: Bounds) -> pa.Table:
    """The rows within the bounds; TIME is a timestamp, or microseconds."""
    times = table[TIME] if pa.types.is_integer(table[TIME].type) else table[TIME].cast(pa.int64())
    tests = []
    if bounds.after is not None:
        tests.append(pc.greater(table[SEQ], bounds.after))
    if bounds.up_to is not None:
        tests.append(pc.less_equal(table[SEQ], bounds.up_to))
    if bounds.low is not None:
        tests.append(pc.greater_equal(times, bounds.low))
    if bounds.high is not None:
        tests.append(pc.less(times, bounds.high))
    keep = None
    for test in tests:
        keep = test if keep is None else pc.and_(keep, test)
    return table if keep is None else table.filter(keep)
