"""Data files and bounds in, the events inside the bounds out, as Arrow. Runs on the driver and on Spark's executors.

Row groups whose statistics lie outside are not read: a slice of a large file costs what the slice holds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from presage.errors import PresageError, error
from presage.model.time import to_micros
from presage.storage.archive import Bounds, FileSet, within
from presage.storage.columns import SEQ, TIME
from presage.storage.data_files import archived

if TYPE_CHECKING:
    from presage.storage.log import Log

# Fewer are read as quickly by the thread that asks for them.
MANY_ROWS = 100_000


def read_events(
    files: FileSet, attributes: Sequence[str], coded: Collection[str] = (), threads: bool = True
) -> pa.Table:
    """SEQ, TIME (microseconds, int64) and the attributes of the events of a file set, file by file. Texts that are
    `coded` come as the dictionaries that the files have, which are read in a fourth of the time. `threads`: columns
    of many events are read side by side; one of several that read at once does better without."""
    threads = threads and files.rows >= MANY_ROWS
    names = list(dict.fromkeys((SEQ, TIME, *attributes)))
    missing = [name for name in names if name not in files.schema.names]
    if missing:
        raise _without_columns(files, missing)
    schema = pa.schema([_field(files.schema.field(name), coded) for name in names])
    parts = [_read_file(path, schema, coded, files.predicates, threads) for path in files.paths]
    table = pa.concat_tables(parts) if parts else schema.empty_table()
    return table.set_column(names.index(TIME), TIME, table[TIME].cast(pa.int64()))


def _without_columns(files: FileSet, missing: list[str]) -> PresageError:
    """A damaged entry of a table's log may still be read, and tell of other columns."""
    folder = Path(files.paths[0]).parent if files.paths else Path()
    why = f"its schema does not have {', '.join(missing)}"
    fix = "restore the home from a copy; presage log HOME verify names all that is damaged"
    return error("HOME_CORRUPT", what=f"the table '{folder.name}'", path=folder, why=why, fix=fix)


def _field(field: pa.Field, coded: Collection[str]) -> pa.Field:
    return field.with_type(pa.dictionary(pa.int32(), field.type)) if field.name in coded else field


def _read_file(path: str, schema: pa.Schema, coded: Collection[str], bounds: Bounds, threads: bool) -> pa.Table:
    names = schema.names
    with archived(path, read_dictionary=list(coded)) as file:
        if bounds == Bounds():
            return file.read(columns=names, use_threads=threads).select(names).cast(schema)
        places = {file.metadata.schema.column(i).path: i for i in range(file.metadata.num_columns)}
        groups = [
            g for g in range(file.metadata.num_row_groups) if not _excluded(file.metadata.row_group(g), places, bounds)
        ]
        table = file.read_row_groups(groups, columns=names, use_threads=threads).select(names).cast(schema)
    return within(table, bounds)


def _excluded(group: Any, places: dict[str, int], bounds: Bounds) -> bool:
    first_seq, last_seq = _range(group, places[SEQ])
    first, last = _range(group, places[TIME])
    return (
        (bounds.after is not None and last_seq is not None and last_seq <= bounds.after)
        or (bounds.up_to is not None and first_seq is not None and first_seq > bounds.up_to)
        or (bounds.low is not None and last is not None and last < bounds.low)
        or (bounds.high is not None and first is not None and first >= bounds.high)
    )


def _range(group: Any, place: int) -> tuple[int | None, int | None]:
    statistics = group.column(place).statistics
    if statistics is None or not statistics.has_min_max:
        return None, None
    return _whole(statistics.min), _whole(statistics.max)


def _whole(value: int | datetime) -> int:
    return to_micros(value) if isinstance(value, datetime) else value


# Positions of the log that are read first; then this many times as many, until enough events are found.
FIRST_READ, MORE = 4_096, 16


def newest_events(log: Log, stream: str, attributes: Sequence[str], limit: int) -> pa.Table:
    """SEQ, TIME and the attributes, the event that came last first."""
    position, reach = log.position, FIRST_READ
    while True:
        table = read_events(log.archive.snapshot(stream, position, after_seq=position - reach), attributes)
        if table.num_rows >= limit or reach >= position:
            return table.sort_by([(SEQ, "descending")]).slice(0, limit)
        reach *= MORE
