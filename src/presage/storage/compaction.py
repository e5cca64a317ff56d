"""Compaction of a table: replaces groups of files by fewer files with the same rows, or without unwanted rows.

The files are written outside the committer's turn and published in it. Rows keep their values and their `_seq`. If a
file of the group is no longer live at publishing, the compaction of the group is abandoned.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.errors import PresageError
from presage.storage import failpoints
from presage.storage.buckets import buckets, keys_of
from presage.storage.chunks import Shape, arrivals, bucket_mark
from presage.storage.columns import ORDER, SEQ, TIME
from presage.storage.committer import Committer
from presage.storage.data_files import is_missing, read_data
from presage.storage.delta import LiveFile
from presage.storage.failures import is_full, storage_error
from presage.storage.home import Home
from presage.storage.journal import FileAdd, Part, Record, Turn
from presage.storage.staging import discard, stage, stage_one

_Piece = tuple[pa.Table, str]  # rows of one file, and the bucket in its name
_Write = Callable[[Turn], list[FileAdd]]


class Compaction:
    """Compacts one table of a stream. Each method returns whether the replacement was published."""

    def __init__(
        self, home: Home, committer: Committer, stream: str, table: str, schema: pa.Schema, shape: Shape
    ) -> None:
        self._home = home
        self._committer = committer
        self._stream = stream
        self._table = table
        self._schema = schema
        self._folder = home.table_folder(stream, table)
        self._shape = shape

    def merge(self, group: Sequence[LiveFile]) -> bool:
        """Replace files by one, in the order of arrival."""
        # In parts: a merge of large files must not load all of them at once.
        parts = (self._read(files) for files in apart(group, ORDER[self._table]))
        return self._replace(group, lambda draft: self._one(draft, parts))

    def thin(self, file: LiveFile, wanted: Callable[[pa.Table], pa.Table]) -> bool:
        """Replace a file by one with only the wanted rows."""
        rows = wanted(self._read([file]))
        return self._replace([file], lambda draft: self._one(draft, [rows]), removed=file.rows - rows.num_rows)

    def drop(self, group: Sequence[LiveFile]) -> bool:
        """Remove files with all their rows."""
        return self._replace(group, lambda draft: [], removed=sum(file.rows for file in group))

    def compact(self, group: Sequence[LiveFile], key: Sequence[str]) -> bool:
        """Replace recent files by old ones, divided by slice of time and bucket of key."""
        columns = keys_of(self._schema, key)
        return self._replace(group, lambda draft: self._slices_of(draft, group, columns), columns)

    def _replace(
        self, group: Sequence[LiveFile], write: _Write, key: tuple[str, ...] | None = None, removed: int = 0
    ) -> bool:
        # The number orders the files after all records so far: leftovers of a crash are removed at opening or by the
        # next vacuum.
        draft = Turn(self._committer.state.n + 1, uuid.uuid4().hex, 0)
        try:
            adds = write(draft)
        except Exception as failure:
            discard(self._home.store, self._folder, draft.token)
            if isinstance(failure, FileNotFoundError) or (isinstance(failure, PresageError) and is_missing(failure)):
                return False  # the stream was dropped meanwhile
            if is_full(failure):
                raise storage_error(self._home.path, failure) from failure
            raise
        self._committer.points.reach(failpoints.REWRITTEN)
        return self._publish(draft, group, adds, key, removed)

    def _one(self, draft: Turn, parts: Iterable[pa.Table]) -> list[FileAdd]:
        file = stage_one(self._home.store, self._folder, draft.n, draft.token, self._schema, parts)
        self._committer.points.reach(failpoints.REWRITTEN_ONE)
        return [file]

    def _slices_of(self, draft: Turn, group: Sequence[LiveFile], key: tuple[str, ...]) -> list[FileAdd]:
        adds: list[FileAdd] = []
        for table, mark in self._pieces(self._read(group), key, sum(file.size for file in group)):
            for file in stage(self._home.store, self._folder, draft.n, draft.token, table, len(adds), mark):
                adds.append(file)
                self._committer.points.reach(failpoints.REWRITTEN_ONE)
        return adds

    def _read(self, group: Sequence[LiveFile]) -> pa.Table:
        """All rows of the group, in the order of arrival."""
        parts = [read_data(self._home.store.address(self._folder / file.name), self._schema) for file in group]
        return by_arrival(pa.concat_tables(parts), ORDER[self._table])

    def _pieces(self, rows: pa.Table, key: tuple[str, ...], size: int) -> Iterator[_Piece]:
        rows = rows.take(pc.sort_indices(rows, [(TIME, "ascending"), (SEQ, "ascending")]))
        for start, stop in self._slices(rows[TIME].cast(pa.int64()).to_numpy()):
            part = rows.slice(start, stop - start)
            count = self._shape.bucket_count(part.num_rows) if key else 1
            most = self._shape.rows_per_file * count
            most = max(min(most, self._shape.bytes_per_file * count * rows.num_rows // max(size, 1)), 1)
            cuts = -(-part.num_rows // most)
            edges = [part.num_rows * i // cuts for i in range(cuts + 1)]
            for low, high in pairwise(edges):
                yield from _bucketed(part.slice(low, high - low), key, count)

    def _slices(self, times: np.ndarray) -> list[tuple[int, int]]:
        """Begin and end of each slice of time among sorted times. A small rest joins the last slice."""
        cells = times // self._shape.slice
        edges = [*(np.flatnonzero(np.diff(cells)) + 1).tolist(), len(times)]
        slices, start = list[tuple[int, int]](), 0
        for edge in edges:
            if edge - start >= self._shape.least_rows:
                slices.append((start, edge))
                start = edge
        if start < len(times):
            begin = slices.pop()[0] if slices else start
            slices.append((begin, len(times)))
        return slices

    def _publish(
        self, draft: Turn, group: Sequence[LiveFile], adds: list[FileAdd], key: tuple[str, ...] | None, removed: int
    ) -> bool:
        names = [file.name for file in group]
        with self._committer.turn() as turn:
            # The stream may have been dropped, or retention may have removed a file of the group.
            current = self._committer.files_and_schema(self._stream, self._table)
            live = {file.name for file in current[0]} if current else set()
            expected = sum(file.rows for file in group) - removed
            if not live.issuperset(names) or sum(file.rows for file in adds) != expected:
                discard(self._home.store, self._folder, draft.token)
                return False
            new, old, columns = {self._table: adds}, {self._table: names}, None if key is None else list(key)
            part = Part(self._stream, adds=new, removes=old, rewrites=not removed, removed=removed, key=columns)
            # With the token of the files: they are discarded if publishing fails, and only then.
            kind = "retention" if removed else "compaction"
            self._committer.publish(replace(turn, token=draft.token), Record(turn.n, kind, turn.at, parts=[part]))
        return True


def apart(group: Sequence[LiveFile], order: str) -> list[list[LiveFile]]:
    """Files ordered by their first number, divided into runs whose ranges of numbers do not overlap."""
    runs: list[list[LiveFile]] = []
    highest = -math.inf
    for file in group:
        first, last = arrivals(file, order) or (-math.inf, math.inf)
        if runs and first < highest:
            runs[-1].append(file)
        else:
            runs.append([file])
        highest = max(highest, last)
    return runs


def by_arrival(rows: pa.Table, order: str) -> pa.Table:
    """The rows in the order of a column; a stable sort, skipped if they are sorted."""
    numbers = rows[order].to_numpy()
    if len(numbers) and (numbers[1:] < numbers[:-1]).any():
        return rows.take(pa.array(np.argsort(numbers, kind="stable")))
    return rows


def _bucketed(rows: pa.Table, key: tuple[str, ...], count: int) -> Iterator[_Piece]:
    if count == 1:
        yield rows, bucket_mark(0, 1)
        return
    numbers = buckets([rows[name] for name in key], count)
    for bucket in range(count):
        members = np.flatnonzero(numbers == bucket)
        if len(members):
            yield rows.take(pa.array(members)), bucket_mark(bucket, count)
