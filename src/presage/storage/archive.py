"""Readers of the archive: the data files that hold the events within some bounds, and the statistics of a stream."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
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
from presage.storage.home_state import HomeState, StreamState, greatest, least
from presage.storage.leases import FileLease
from presage.storage.offsets import gaps

Range = tuple[int | None, int | None]  # least and greatest; None: unknown


@dataclass(frozen=True)
class Bounds:
    """after < `_seq` <= up_to and low <= `_t` < high; None is unbounded. Times are microseconds."""

    after: int | None = None
    up_to: int | None = None
    low: int | None = None
    high: int | None = None

    def excludes(self, file: LiveFile) -> bool:
        """Whether the file's statistics rule out every one of its rows."""
        return self.exclude_all((file.first_seq, file.last_seq), (file.first_time, file.last_time))

    def exclude_all(self, seqs: Range, times: Range) -> bool:
        """Whether no row with least and greatest `_seq` and `_t` like these can lie inside. None: unknown."""
        return (
            (self.after is not None and seqs[1] is not None and seqs[1] <= self.after)
            or (self.up_to is not None and seqs[0] is not None and seqs[0] > self.up_to)
            or (self.low is not None and times[1] is not None and times[1] < self.low)
            or (self.high is not None and times[0] is not None and times[0] >= self.high)
        )

    def still_needed(self, files: Sequence[LiveFile]) -> Bounds:
        """The bounds that a row of these files may violate, which must be applied to the rows. A file without
        statistics may violate any."""

        def holds(bound: int | None, values: Iterable[int | None], test: Callable[[int, int], bool]) -> bool:
            return bound is not None and all(value is not None and test(value, bound) for value in values)

        return Bounds(
            None if holds(self.after, (f.first_seq for f in files), operator.gt) else self.after,
            None if holds(self.up_to, (f.last_seq for f in files), operator.le) else self.up_to,
            None if holds(self.low, (f.first_time for f in files), operator.ge) else self.low,
            None if holds(self.high, (f.last_time for f in files), operator.lt) else self.high,
        )


@dataclass(frozen=True)
class FileSet:
    """Files that hold all events within some bounds, and possibly others, which `predicates` filter out.

    `exact`: no predicate is left, so `rows` and times are exact and not only upper bounds.
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
    lease: FileLease | None = field(default=None, compare=False, repr=False)  # keeps the files on disk
    key: tuple[str, ...] = ()  # the columns by which old files are bucketed
    arrivals: tuple[int, ...] = ()  # of each file: its last position; empty if one is unknown

    @classmethod
    def of(cls, stream: str, files: Sequence[LiveFile], paths: Iterable[str], bounds: Bounds, **more: Any) -> FileSet:
        """The set of these files, with sizes and times from their statistics. `more`: the other fields."""
        known = [(f.first_time, f.last_time, f.rows) for f in files]
        return cls(
            stream,
            tuple(paths),
            sum(file.rows for file in files),
            sum(file.size for file in files),
            least(first for first, _, _ in known),
            greatest(last for _, last, _ in known),
            bounds,
            spans=tuple((a, b, rows) for a, b, rows in known if a is not None and b is not None),
            **more,
        )

    @property
    def exact(self) -> bool:
        return self.predicates == Bounds()

    def between(self, low: int, high: int) -> FileSet:
        """The files that may hold events with low <= time < high, and these bounds as predicates."""
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
        now = self.predicates
        bounds = replace(now, low=greatest((low, now.low)), high=least((high, now.high)))
        return replace(self, predicates=bounds)


@dataclass(frozen=True)
class StreamInfo:
    """Statistics of a stream, for DESCRIBE and SHOW."""

    name: str
    rows: int  # accepted events
    retained: int  # accepted events that retention has not removed
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

        `key_values`: skips files that hold none of these values in a column; does not filter rows. The files stay on
        disk as long as the set, or a copy of it, is referenced.
        """
        key = state_of(self._committer.state, stream).key or ()
        bounds = Bounds(after_seq, up_to_seq, low, high)
        schema = self._committer.schema(stream, EVENTS)
        keys = KeyFilter(key_values or {}, key, schema)
        files, lease = self._committer.leased_files(
            stream, EVENTS, lambda file: not bounds.excludes(file) and not keys.excludes(file)
        )
        last = [file.last_seq for file in files if file.last_seq is not None]
        return FileSet.of(
            stream,
            files,
            [self._committer.path_of(stream, EVENTS, file.name) for file in files],
            bounds.still_needed(files),
            schema=schema,
            lease=lease,
            key=keys_of(schema, key),
            arrivals=tuple(last) if len(last) == len(files) else (),
        )

    def read_arrow(self, files: FileSet, columns: Sequence[str] | None = None) -> pa.Table:
        """The events of a file set, in the order of their arrival. For small sets."""
        wanted = list(columns) if columns is not None else files.schema.names
        needed = [*wanted, *(name for name in (SEQ, TIME) if name not in wanted)]
        schema = pa.schema([files.schema.field(name) for name in needed])
        table = _read(files.paths, schema)
        return by_arrival(within(table, files.predicates), SEQ).select(wanted)

    def read_late(self, stream: str) -> pa.Table:
        """The late events of a stream in the order of their arrival, with `_late_by` in microseconds."""
        return self._read_all(stream, LATE)

    def read_rejected(self, stream: str) -> pa.Table:
        """The rejected rows of a stream: reason, raw, at, origin, load."""
        return self._read_all(stream, REJECTED)

    def describe(self, stream: str) -> StreamInfo:
        return stream_info(stream, state_of(self._committer.state, stream), self._committer.files(stream, EVENTS))

    def last_time(self, stream: str) -> int | None:
        """The greatest event time of a stream; None if it is empty or does not exist."""
        state = self._committer.state.streams.get(stream)
        return None if state is None else state.last_time

    def held(self, stream: str) -> int:
        """How many events are held back until their source delivers missing offsets: durable, but not yet visible."""
        return sum(gap.held for gap in gaps(state_of(self._committer.state, stream).sources))

    def holds(self, stream: str) -> bool:
        """Whether a table of events of that name exists: of a declared stream, or an internal one."""
        return stream in self._committer.state.streams

    def streams(self) -> list[str]:
        """The declared streams, without internal tables."""
        return [name for name in list(self._committer.state.streams) if not name.startswith("#")]

    def made(self) -> list[str]:
        """The internal tables with rows of statements: results and derived streams."""
        return [name for name in list(self._committer.state.streams) if name == RESULTS or name.startswith(DERIVED)]

    def _read_all(self, stream: str, table: str) -> pa.Table:
        state_of(self._committer.state, stream)
        files, lease = self._committer.leased_files(stream, table)
        paths = [self._committer.path_of(stream, table, file.name) for file in files]
        rows = _read(paths, self._committer.schema(stream, table))
        lease.release()
        return by_arrival(rows, ORDER[table])


def stream_info(name: str, state: StreamState, files: Sequence[LiveFile]) -> StreamInfo:
    """Statistics of a stream, from the journal and the statistics of its files."""
    ages = [(age(file, state.watermark), file) for file in files]
    chunks = {a: [file.rows for its_age, file in ages if its_age == a] for a in AGES}
    return StreamInfo(
        name,
        state.accepted,
        state.accepted - state.removed,
        state.late,
        state.rejected,
        dict(state.ignored),
        len(files),
        sum(file.size for file in files),
        least(file.first_time for file in files) if state.removed else state.first_time,
        state.last_time,
        state.last_seq,
        state.watermark,
        {a: (len(rows), sum(rows)) for a, rows in chunks.items()},
    )


def state_of(home: HomeState, name: str) -> StreamState:
    """The state of a stream in that of its home; UNKNOWN_STREAM if there is none."""
    state = home.streams.get(name)
    if state is None:
        raise error("UNKNOWN_STREAM", name=name, fix=did_you_mean(name, home.streams))
    return state


def _read(paths: Sequence[str], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables([schema.empty_table(), *(read_data(path, schema) for path in paths)])


def within(table: pa.Table, bounds: Bounds) -> pa.Table:
    """The rows within the bounds; TIME is a timestamp, or microseconds."""
    times = table[TIME] if pa.types.is_integer(table[TIME].type) else table[TIME].cast(pa.int64())
    tests = (
        (pc.greater, table[SEQ], bounds.after),
        (pc.less_equal, table[SEQ], bounds.up_to),
        (pc.greater_equal, times, bounds.low),
        (pc.less, times, bounds.high),
    )
    masks = [test(column, bound) for test, column, bound in tests if bound is not None]
    return table.filter(reduce(pc.and_, masks)) if masks else table
