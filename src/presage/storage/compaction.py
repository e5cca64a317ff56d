"""Groups of files in, fewer and better files with the same rows out; or a file with those rows that are still wanted.

They are written outside the committer's turn and published in it. Rows keep their values and their `_seq`; only the
files change. A group whose files are no longer all live when its turn comes is given up: nothing has happened then but
some writing.
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
from presage.storage.disk import is_full, storage_error
from presage.storage.home import Home
from presage.storage.journal import FileAdd, Part, Record, Turn
from presage.storage.staging import discard, stage, stage_one

_Piece = tuple[pa.Table, str]  # rows of one file, and the mark in its name
_Write = Callable[[Turn], list[FileAdd]]


class Compaction:
    """Compacts one table of a stream."""

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
        """One file, in the order of arrival, in the place of several; whether it happened."""
        # A merge of large files holds a few of them at a time, not all.
        parts = (self._read(files) for files in apart(group, ORDER[self._table]))
        return self._replace(group, lambda draft: self._one(draft, parts))

    def thin(self, file: LiveFile, wanted: Callable[[pa.Table], pa.Table]) -> bool:
        """A file with the wanted rows of another in its place; whether it happened."""
        rows = wanted(self._read([file]))
        return self._replace([file], lambda draft: self._one(draft, [rows]), went=file.rows - rows.num_rows)

    def drop(self, group: Sequence[LiveFile]) -> bool:
        """No files, and none of their rows, in the place of several; whether it happened."""
        return self._replace(group, lambda draft: [], went=sum(file.rows for file in group))

    def compact(self, group: Sequence[LiveFile], key: Sequence[str]) -> bool:
        """Old files, by slice of time and bucket of key, in the place of recent ones; whether it happened."""
        columns = keys_of(self._schema, key)
        return self._replace(group, lambda draft: self._slices_of(draft, group, columns), columns)

    def _replace(
        self, group: Sequence[LiveFile], write: _Write, key: tuple[str, ...] | None = None, went: int = 0
    ) -> bool:
        # The number only says that the files are younger than the records before it: a crash leaves files that either
        # opening the home or the next vacuum removes.
        draft = Turn(self._committer.state.n + 1, uuid.uuid4().hex, 0)
        try:
            adds = write(draft)
        except Exception as failure:
            discard(self._folder, draft.token)
            if isinstance(failure, FileNotFoundError) or (isinstance(failure, PresageError) and is_missing(failure)):
                return False  # the stream was dropped meanwhile
            if is_full(failure):
                raise storage_error(self._home.path, failure) from failure
            raise
        self._committer.points.reach(failpoints.REWRITTEN)
        return self._publish(draft, group, adds, key, went)

    def _one(self, draft: Turn, parts: Iterable[pa.Table]) -> list[FileAdd]:
        made = stage_one(self._folder, draft.n, draft.token, self._schema, parts, self._home.disk.durable)
        self._committer.points.reach(failpoints.REWRITTEN_ONE)
        return [made]

    def _slices_of(self, draft: Turn, group: Sequence[LiveFile], key: tuple[str, ...]) -> list[FileAdd]:
        adds: list[FileAdd] = []
        for table, mark in self._pieces(self._read(group), key, sum(file.size for file in group)):
            for file in stage(self._folder, draft.n, draft.token, table, self._home.disk.durable, len(adds), mark):
                adds.append(file)
                self._committer.points.reach(failpoints.REWRITTEN_ONE)
        return adds

    def _read(self, group: Sequence[LiveFile]) -> pa.Table:
        """All rows of the group by arrival."""
        parts = [read_data(self._folder / file.name, self._schema) for file in group]
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
        """Where slices of time begin and end among sorted times. The last one takes in what is too small."""
        cells = times // self._shape.slice
        edges = [*(np.flatnonzero(np.diff(cells)) + 1).tolist(), len(times)]
        found, start = list[tuple[int, int]](), 0
        for edge in edges:
            if edge - start >= self._shape.least_rows:
                found.append((start, edge))
                start = edge
        if start < len(times):
            begin = found.pop()[0] if found else start
            found.append((begin, len(times)))
        return found

    def _publish(
        self, draft: Turn, group: Sequence[LiveFile], adds: list[FileAdd], key: tuple[str, ...] | None, went: int
    ) -> bool:
        names = [file.name for file in group]
        with self._committer.turn() as turn:
            # The stream may have been dropped, or retention may have taken a file of the group.
            found = self._committer.look(self._stream, self._table)
            live = {file.name for file in found[0]} if found else set()
            kept = sum(file.rows for file in group) - went
            whole = live.issuperset(names) and sum(file.rows for file in adds) == kept
            if not whole:
                discard(self._folder, draft.token)
                return False
            part = Part(
                self._stream,
                adds={self._table: adds},
                removes={self._table: names},
                rewrites=not went,
                removed=went,
                key=None if key is None else list(key),
            )
            # With the token of the files: they are discarded if the record does not happen, and only then.
            kind = "retention" if went else "compaction"
            self._committer.publish(replace(turn, token=draft.token), Record(turn.n, kind, turn.at, parts=[part]))
        return True


def apart(group: Sequence[LiveFile], order: str) -> list[list[LiveFile]]:
    """Files in the order of their first numbers, cut wherever no earlier file has a greater number than the next."""
    found: list[list[LiveFile]] = []
    highest = -math.inf
    for file in group:
        first, last = arrivals(file, order) or (-math.inf, math.inf)
        if found and first < highest:
            found[-1].append(file)
        else:
            found.append([file])
        highest = max(highest, last)
    return found


def by_arrival(rows: pa.Table, order: str) -> pa.Table:
    """The rows in the order of a column. Mostly they are already; equal numbers stay as they are."""
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
