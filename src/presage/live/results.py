"""Rows of statements in, rows of the results table out, and back.

All statements share one table: a row of it is what one statement made in one batch, its rows packed in Arrow's own
format. The n-th row that a statement ever made is row n whatever the batches were, so `name/number/n` is a stable id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from presage.execution.steps import MOMENT
from presage.model.arrow import to_arrow
from presage.plan.nodes import Field
from presage.storage import SEQ, Archive, FileSet
from presage.storage.columns import TIME
from presage.storage.data_files import damaged, read_data
from presage.storage.event_reader import read_events
from presage.storage.home import RESULTS

# Statement, number of its first row, last time, number of rows, rows.
Entry = tuple[int, int, int, int, bytes]
_COLUMNS = (
    (TIME, MOMENT),
    ("statement", pa.int64()),
    ("first", pa.int64()),
    ("rows", pa.int64()),
    ("payload", pa.binary()),
)
SCHEMA = pa.schema([(SEQ, pa.int64()), *_COLUMNS])
_WITHOUT_ROWS = pa.schema(_COLUMNS[:-1])


def schema_of(columns: Sequence[Field]) -> pa.Schema:
    return pa.schema([(c.name, to_arrow(c.type)) for c in columns])


def pack(entries: Sequence[Entry]) -> pa.Table:
    """What statements made in one batch -> rows of the results table, without SEQ."""
    columns = [
        pa.array([time for _, _, time, _, _ in entries], pa.int64()).cast(MOMENT),
        pa.array([number for number, _, _, _, _ in entries], pa.int64()),
        pa.array([first for _, first, _, _, _ in entries], pa.int64()),
        pa.array([count for _, _, _, count, _ in entries], pa.int64()),
        pa.array([payload for _, _, _, _, payload in entries], pa.binary()),
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(_COLUMNS))


def unpack(
    archive: Archive, statement: int, columns: Sequence[Field], after_record: int, row: int, gone: Callable[[], int]
) -> Iterator[tuple[int, int, pa.Table]]:
    """(record, number of the first row, rows) of one statement, batch by batch, in order, from a row on, which no
    record up to `after_record` holds any of. `gone`: how many of its first rows retention has taken."""
    if not archive.holds(RESULTS):
        return
    files = archive.snapshot(RESULTS, after_seq=after_record)
    before = gone()  # asked after the files are known: one of them may hold less than an earlier answer said
    schema = schema_of(columns)
    for part in _by_arrival(files):
        table = read_events(part, ["statement", "first", "rows", "payload"], threads=False)
        end = pc.add(table["first"], table["rows"])
        here = pc.and_(pc.equal(table["statement"], statement), pc.greater(end, max(before, row)))
        table = table.filter(here).sort_by("first")
        for record, first, payload in zip(table[SEQ], table["first"].to_pylist(), table["payload"], strict=True):
            try:
                with pa.ipc.open_stream(payload.as_buffer()) as reader:
                    rows = reader.read_all().cast(schema)
            except (pa.ArrowException, OSError) as broken:
                raise damaged(part.paths[0], broken) from broken
            skip = max(0, row - first)
            yield record.as_py(), first + skip, rows.slice(skip)


@dataclass(frozen=True)
class FileRemainder:
    """What a file of the results still holds of a statement: so many rows, all before row `end`, up to a time."""

    end: int
    last: int
    rows: int


def remainders_in(path: str, statement: int | None = None) -> pa.Table:
    """What a file holds, without the rows themselves: `statement`, `end`, `last` and `rows` of each batch; of one
    statement in the order of its rows."""
    found = read_data(path, _WITHOUT_ROWS)
    if statement is not None:
        found = found.filter(pc.equal(found["statement"], statement)).sort_by("first")
    last = found[TIME].cast(MOMENT).cast(pa.int64())
    columns = {"statement": found["statement"], "end": pc.add(found["first"], found["rows"]), "last": last}
    return pa.table({**columns, "rows": found["rows"]})


def _by_arrival(files: FileSet) -> list[FileSet]:
    """File by file, in the order of the records: what is read at once is one of them, however long the past is. Files
    of this table are merged with their neighbours only, so that no two of them overlap."""
    if not files.arrivals:
        return [files]
    order = sorted(range(len(files.paths)), key=files.arrivals.__getitem__)
    return [replace(files, paths=(files.paths[i],), spans=(), arrivals=()) for i in order]


def packed(rows: pa.Table, columns: Sequence[Field]) -> bytes:
    """What the user sees of rows that a statement made."""
    schema = schema_of(columns)
    shown = rows.select(schema.names)
    return to_bytes(shown if shown.schema.equals(schema) else shown.cast(schema))


def to_bytes(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows.combine_chunks())
    return bytes(sink.getvalue())
