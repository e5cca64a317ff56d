"""The results table: packs the rows of statements into it, and unpacks them.

All statements share the table. One row of it holds the rows of one statement in one batch, packed in Arrow's format.
Rows of a statement are numbered independently of batches, so `name/number/n` is a stable id.
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
    *((TIME, MOMENT), ("statement", pa.int64()), ("first", pa.int64()), ("rows", pa.int64())),
    ("payload", pa.binary()),
)
SCHEMA = pa.schema([(SEQ, pa.int64()), *_COLUMNS])
_WITHOUT_ROWS = pa.schema(_COLUMNS[:-1])


def schema_of(columns: Sequence[Field]) -> pa.Schema:
    return pa.schema([(c.name, to_arrow(c.type)) for c in columns])


def pack(entries: Sequence[Entry]) -> pa.Table:
    """The rows of the results table for the entries of one batch, without SEQ."""
    numbers, firsts, times, counts, payloads = zip(*entries, strict=True) if entries else [()] * 5
    integers = [pa.array(column, pa.int64()) for column in (numbers, firsts, counts)]
    columns = [pa.array(times, pa.int64()).cast(MOMENT), *integers, pa.array(payloads, pa.binary())]
    return pa.Table.from_arrays(columns, schema=pa.schema(_COLUMNS))


def unpack(
    archive: Archive, statement: int, columns: Sequence[Field], after_record: int, row: int, removed: Callable[[], int]
) -> Iterator[tuple[int, int, pa.Table]]:
    """(record, number of the first row, rows) of one statement, batch by batch, in order, from a row on, which no
    record up to `after_record` holds. `removed`: how many of its first rows retention has removed."""
    if not archive.holds(RESULTS):
        return
    files = archive.snapshot(RESULTS, after_seq=after_record)
    before = removed()  # after the snapshot: its files may lack rows that were visible before
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
    """The rows of a statement in a file of the results: how many, their end and their last time."""

    end: int
    last: int
    rows: int


def remainders_in(path: str, statement: int | None = None) -> pa.Table:
    """The entries of a file without their rows: `statement`, `end`, `last` and `rows`; those of one statement in the
    order of its rows."""
    table = read_data(path, _WITHOUT_ROWS)
    if statement is not None:
        table = table.filter(pc.equal(table["statement"], statement)).sort_by("first")
    last = table[TIME].cast(MOMENT).cast(pa.int64())
    columns = {"statement": table["statement"], "end": pc.add(table["first"], table["rows"]), "last": last}
    return pa.table({**columns, "rows": table["rows"]})


def _by_arrival(files: FileSet) -> list[FileSet]:
    """One set for each file, in the order of the records, so that one file is read at a time. Compaction merges only
    neighbours in this table: files do not overlap."""
    if not files.arrivals:
        return [files]
    order = sorted(range(len(files.paths)), key=files.arrivals.__getitem__)
    return [replace(files, paths=(files.paths[i],), spans=(), arrivals=()) for i in order]


def packed(rows: pa.Table, columns: Sequence[Field]) -> bytes:
    """The rows of a statement without internal columns, as bytes."""
    schema = schema_of(columns)
    shown = rows.select(schema.names)
    return to_bytes(shown if shown.schema.equals(schema) else shown.cast(schema))


def to_bytes(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows.combine_chunks())
    return bytes(sink.getvalue())
