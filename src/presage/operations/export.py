"""The export of a stream: its rows in pieces of bounded size, in the order of event time, without engine or Spark.

It exports the home as it is at the start, also while an engine writes it: it is bounded by a position, which compaction
preserves, and reads the table again if a file was compacted in the meantime.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from presage.columnar.processing_order import sorted_table
from presage.errors import PresageError, did_you_mean, error
from presage.live.input_range import InputPosition, InputRange, cut_within
from presage.storage.archive import Bounds, FileSet
from presage.storage.columns import EVENTS, REJECTED, SEQ, TIME
from presage.storage.data_files import archived, is_missing
from presage.storage.event_reader import read_events
from presage.storage.home import DERIVED
from presage.storage.snapshot_reader import HomeSnapshot, read_snapshot

ROWS_AT_ONCE = 500_000
END_OF_TIME = 2**62


@dataclass(frozen=True)
class ExportRequest:
    """The stream, its table, and low <= event time < high in microseconds."""

    stream: str
    table: str = EVENTS
    low: int | None = None
    high: int | None = None


class Export:
    """`schema` and `pieces()` of the requested rows."""

    def __init__(self, home: str | os.PathLike[str], request: ExportRequest, rows_at_once: int = ROWS_AT_ONCE) -> None:
        self._home = home
        self._request = request
        self._rows = rows_at_once
        snapshot = read_snapshot(home)
        declared = [name for name in snapshot.state.streams if not name.startswith("#")]
        derived = {name.removeprefix(DERIVED): name for name in snapshot.state.streams if name.startswith(DERIVED)}
        self._stream = derived.get(request.stream, request.stream)
        if request.stream not in (*declared, *derived):
            fix = did_you_mean(request.stream, [*declared, *derived]) or "this home has no streams"
            raise error("UNKNOWN_STREAM", name=request.stream, fix=fix)
        if request.table == REJECTED and (request.low is not None or request.high is not None):
            where = "for rejected records, which have no event time"
            raise error("UNSUPPORTED", what="a span of time", where=where, fix="export all of them")
        self._position = snapshot.state.position
        whole = snapshot.table(self._stream, request.table).schema
        hidden = (SEQ, TIME) if request.table == EVENTS else (TIME,)
        self.schema = pa.schema([field for field in whole if field.name not in hidden])

    def pieces(self) -> Iterator[pa.Table]:
        if self._request.table == REJECTED:
            yield from self._as_stored()
            return
        low = self._request.low
        while True:
            files = self._files(read_snapshot(self._home), low)
            if not files.paths:
                return
            first = (files.min_time or 0) if low is None else max(low, files.min_time or low)
            span = InputRange(InputPosition(0, first - 1), InputPosition(0, END_OF_TIME))
            cut = cut_within([(files, span)], self._rows)
            high = self._request.high if cut is None else min(cut + 1, self._request.high or END_OF_TIME)
            try:
                piece = self._read(files, low, high)
            except PresageError as problem:
                # After a compaction the rows are in other files; a missing file that the table still names is lost.
                if is_missing(problem) and self._files(read_snapshot(self._home), low).paths != files.paths:
                    continue
                raise
            if piece.num_rows:
                yield piece.select(self.schema.names)
            if cut is None or (self._request.high is not None and cut + 1 >= self._request.high):
                return
            low = cut + 1

    def _files(self, snapshot: HomeSnapshot, low: int | None) -> FileSet:
        table = snapshot.table(self._stream, self._request.table)
        bounds = Bounds(None, self._position, low, self._request.high)
        files = [file for file in table.files.values() if not bounds.excludes(file)]
        folder = snapshot.layout.table_folder(self._stream, self._request.table)
        paths = [snapshot.layout.store.address(folder / file.name) for file in files]
        return FileSet.of(self._stream, files, paths, bounds, schema=table.schema)

    def _read(self, files: FileSet, low: int | None, high: int | None) -> pa.Table:
        span = files.between(-END_OF_TIME if low is None else low, END_OF_TIME if high is None else high)
        rows = sorted_table(read_events(span, self.schema.names), (TIME, SEQ))
        return rows.select(self.schema.names).cast(self.schema)

    def _as_stored(self) -> Iterator[pa.Table]:
        """Rejected rows, file by file, in the order of the loads."""
        snapshot = read_snapshot(self._home)
        table = snapshot.table(self._stream, self._request.table)
        folder = snapshot.layout.table_folder(self._stream, self._request.table)
        for file in sorted(table.files.values(), key=lambda file: int(file.low.get("load", 0))):
            with archived(snapshot.layout.store.address(folder / file.name)) as data:
                for batch in data.iter_batches(self._rows, columns=self.schema.names):
                    yield pa.Table.from_batches([batch]).select(self.schema.names).cast(self.schema)
