"""Result rows of a shared step: one table, with a slice for each statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from presage.arrays.rows import in_order, lexical_order
from presage.execution.stage import STATEMENT
from presage.live.results import schema_of
from presage.plan.nodes import TIME, Field

END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"  # of Arrow's format for streams


class SharedRows:
    """Rows of several statements, sorted by statement and `order`. Their columns are `order` and `columns`."""

    def __init__(self, table: pa.Table, order: Sequence[str], columns: Sequence[Field]) -> None:
        schema = schema_of(columns)
        table = table.combine_chunks()
        keys = [table[name].to_numpy() for name in (STATEMENT, *order)]
        if not in_order(keys):
            places = lexical_order(keys)
            keys = [key[places] for key in keys]
            table = table.take(pa.array(places)).combine_chunks()
        self.table = table.select([*order, *(name for name in schema.names if name not in order)])
        times = keys[1 + list(order).index(TIME)]
        shown = self.table.select(schema.names)
        shown = shown if shown.schema.equals(schema) else shown.cast(schema)
        # Without internal columns. More than one chunk of Arrow holds fails here, and the statements step one by one.
        (self.shown,) = shown.to_batches() or [pa.RecordBatch.from_pylist([], schema)]
        self._packed: dict[int, bytes] | None = None  # by start of the slice
        numbers = keys[0]
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        ends = np.append(starts[1:], len(numbers)) if len(numbers) else starts
        numbered = zip(*(column.tolist() for column in (numbers[starts], starts, ends, times[ends - 1])), strict=True)
        self.slices = {number: ResultSlice(self, start, end, time) for number, start, end, time in numbered}

    def packed(self, start: int) -> bytes:
        """The bytes of a slice, exactly as `results.to_bytes` packs them; one stream is written for all slices."""
        if self._packed is None:
            self._packed = self._pack()
        return self._packed[start]

    def _pack(self) -> dict[int, bytes]:
        head: bytes = self.shown.schema.serialize().to_pybytes()
        sink, ends = pa.BufferOutputStream(), [len(head)]
        with pa.ipc.new_stream(sink, self.shown.schema) as writer:
            for piece in self.slices.values():
                writer.write_batch(self.shown.slice(piece.start, piece.end - piece.start))
                ends.append(sink.tell())
        data = memoryview(sink.getvalue())
        pieces = zip(self.slices.values(), ends, ends[1:], strict=False)
        return {piece.start: b"".join((head, data[a:b], END_OF_STREAM)) for piece, a, b in pieces}


class ResultSlice(NamedTuple):
    """The rows of one statement."""

    shared: SharedRows
    start: int
    end: int
    last_time: int

    @property
    def num_rows(self) -> int:
        return self.end - self.start

    def packed(self) -> bytes:
        return self.shared.packed(self.start)

    def table(self) -> pa.Table:
        return self.shared.table.slice(self.start, self.end - self.start)
