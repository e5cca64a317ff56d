"""Reader of the events in data files, within bounds. Runs on the driver and on Spark's executors.

Row groups whose statistics lie outside the bounds are skipped: a slice of a large file costs what the slice holds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from presage.errors import PresageError
from presage.model.time import to_micros
from presage.storage.archive import Bounds, FileSet, within
from presage.storage.columns import SEQ, TIME
from presage.storage.data_files import archived
from presage.storage.failures import REPAIR, corrupt

if TYPE_CHECKING:
    from presage.storage.log import Log

# Smaller reads gain nothing from threads.
MANY_ROWS = 100_000


def read_events(
    files: FileSet, attributes: Sequence[str], coded: Collection[str] = (), threads: bool = True
) -> pa.Table:
    """SEQ, TIME (microseconds, int64) and the attributes of the events of a file set, file by file.

    `coded`: text columns that stay dictionary-encoded as in the files, which takes a quarter of the time. `threads`:
    read the columns of many events in parallel; turn it off where several readers run at once.
    """
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
    """A damaged entry of a table's log may still be readable, with other columns."""
    folder = Path(files.paths[0]).parent if files.paths else Path()
    why = f"its schema does not have {', '.join(missing)}"
    return corrupt(f"the table '{folder.name}'", folder, why, REPAIR)


def _field(field: pa.Field, coded: Collection[str]) -> pa.Field:
    return field.with_type(pa.dictionary(pa.int32(), field.type)) if field.name in coded else field


def _read_file(path: str, schema: pa.Schema, coded: Collection[str], bounds: Bounds, threads: bool) -> pa.Table:
    names = schema.names
    with archived(path, read_dictionary=list(coded)) as file:
        if bounds == Bounds():
            return file.read(columns=names, use_threads=threads).select(names).cast(schema)
        places = {file.metadata.schema.column(i).path: i for i in range(file.metadata.num_columns)}
        stored = [file.metadata.row_group(g) for g in range(file.metadata.num_row_groups)]
        ranges = [(_range(group.column(places[SEQ])), _range(group.column(places[TIME]))) for group in stored]
        groups = [g for g, (seqs, times) in enumerate(ranges) if not bounds.exclude_all(seqs, times)]
        table = file.read_row_groups(groups, columns=names, use_threads=threads).select(names).cast(schema)
    return within(table, bounds)


def _range(column: Any) -> tuple[int | None, int | None]:
    statistics = column.statistics
    if statistics is None or not statistics.has_min_max:
        return None, None
    low, high = (to_micros(v) if isinstance(v, datetime) else v for v in (statistics.min, statistics.max))
    return low, high


# Positions that the first read covers, and the factor by which each further read grows.
FIRST_READ, MORE = 4_096, 16


def newest_events(log: Log, stream: str, attributes: Sequence[str], limit: int) -> pa.Table:
    """SEQ, TIME and the attributes of the newest events, the newest first, without reading the older ones."""
    position, reach = log.position, FIRST_READ
    while True:
        table = read_events(log.archive.snapshot(stream, position, after_seq=position - reach), attributes)
        if table.num_rows >= limit or reach >= position:
            return table.sort_by([(SEQ, "descending")]).slice(0, limit)
        reach *= MORE
