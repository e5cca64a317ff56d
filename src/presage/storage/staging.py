"""Staging: writes data files with Delta's statistics that no record names yet. Runs on the driver and on executors."""

from __future__ import annotations

import functools
import io
import json
import math
import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import PurePath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from presage.model.decimals import MOST_FLOAT_DIGITS
from presage.storage.columns import SEQ
from presage.storage.data_files import data_writer, digest
from presage.storage.journal import FileAdd
from presage.storage.store import Store, Writes

ROWS_PER_FILE = 4_194_304
# Small enough for Spark, which splits files at row groups, to spread one file over the cores.
ROWS_PER_GROUP = 262_144
ASCENDING = (SEQ, "offset", "load")
MAX_TEXT = 64  # characters of a text in the statistics
_STAGED = re.compile(r"(\d{14})-\d{5}-[0-9a-f]+(-[0-9a-f]+)?(-old-\d+of\d+)?\.parquet")


def stage(
    store: Writes, folder: PurePath, n: int, token: str, table: pa.Table, first_index: int = 0, mark: str = ""
) -> Iterator[FileAdd]:
    """Write the table into the folder. `mark`: part of the names of old files (`chunks`)."""
    for index, start in enumerate(range(0, table.num_rows, ROWS_PER_FILE), first_index):
        path = folder / f"{n:014d}-{index:05d}-{token}{mark}.parquet"
        yield _write(store, path, table.schema, [table.slice(start, ROWS_PER_FILE)])


def stage_one(
    store: Store, folder: PurePath, n: int, token: str, schema: pa.Schema, parts: Iterable[pa.Table]
) -> FileAdd:
    """Write a sequence of tables into one file, with at most about a row group in memory."""
    return _write(store, folder / f"{n:014d}-00000-{token}.parquet", schema, _of_size(parts))


def _write(store: Writes, path: PurePath, schema: pa.Schema, parts: Iterable[pa.Table]) -> FileAdd:
    statistics = Statistics()
    with store.writer(path) as file:
        with data_writer(file, path.name, schema, **_encodings(schema)) as writer:
            for part in parts:
                writer.write_table(part, row_group_size=ROWS_PER_GROUP)
                statistics.add(part)
        size = file.tell()
        return FileAdd(path.name, size, statistics.rows, statistics.text(), digest(file))


@functools.lru_cache(maxsize=512)
def _encodings(schema: pa.Schema) -> dict[str, Any]:
    """The encodings of the columns of a file. Ascending numbers and times are delta-encoded: a few bits each, and
    several times faster than the usual dictionary."""
    ascending = [
        field.name
        for field in schema
        if "." not in field.name  # Parquet would take it for the path of a struct field
        and (pa.types.is_timestamp(field.type) or (field.name in ASCENDING and pa.types.is_integer(field.type)))
    ]
    empty = io.BytesIO()
    pq.write_table(schema.empty_table(), empty)
    written = pq.ParquetFile(empty).schema
    leaves = [written.column(i).path for i in range(len(written.names))]  # also those inside structs and arrays
    return {
        "use_dictionary": [leaf for leaf in leaves if leaf not in ascending],
        "column_encoding": dict.fromkeys(ascending, "DELTA_BINARY_PACKED"),
    }


def _of_size(parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Small tables joined, so that each but the last fills a row group."""
    waiting: list[pa.Table] = []
    for part in parts:
        waiting.append(part)
        if sum(each.num_rows for each in waiting) >= ROWS_PER_GROUP:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


class Statistics:
    """Delta's statistics of a file: rows, nulls, least and greatest values of its scalar columns."""

    def __init__(self) -> None:
        self.rows = 0
        self._nulls: dict[str, int] = {}
        self._least: dict[str, Any] = {}
        self._most: dict[str, Any] = {}
        self._unbounded: set[str] = set()  # columns with NaN, which is neither least nor greatest

    def add(self, table: pa.Table) -> None:
        self.rows += table.num_rows
        for name, column in zip(table.column_names, table.columns, strict=True):
            if pa.types.is_nested(column.type):
                continue
            self._nulls[name] = self._nulls.get(name, 0) + column.null_count
            # Delta has no bounds of booleans and bytes.
            if column.null_count == len(column) or pa.types.is_boolean(column.type) or pa.types.is_binary(column.type):
                continue
            if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
                self._unbounded.add(name)
                continue
            bounds = pc.min_max(column)
            least, most = bounds["min"].as_py(), bounds["max"].as_py()
            self._least[name] = min(least, self._least.get(name, least))
            self._most[name] = max(most, self._most.get(name, most))

    def text(self) -> str:
        bounded = [name for name in self._least if name not in self._unbounded]
        least = {name: bound for name in bounded if (bound := _bound(self._least[name], cut=True)) is not None}
        most = {name: bound for name in bounded if (bound := _bound(self._most[name], cut=False)) is not None}
        return json.dumps({"numRecords": self.rows, "minValues": least, "maxValues": most, "nullCount": self._nulls})


def timestamp_text(when: datetime) -> str:
    """A time in UTC as in Delta's statistics; the texts sort like the times."""
    return when.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def spelled(value: Any) -> Any:
    """A value as in Delta's statistics; None for a DECIMAL of more digits than a JSON number keeps in every reader."""
    if isinstance(value, datetime):
        return timestamp_text(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value) if len(value.as_tuple().digits) <= MOST_FLOAT_DIGITS else None
    return value


def _bound(value: Any, cut: bool) -> Any:
    """A bound as JSON value; None if JSON has no such number, or the text is long and may not be cut."""
    value = spelled(value)
    if isinstance(value, float) and math.isinf(value):
        return None
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return value[:MAX_TEXT] if cut else None  # a prefix is a lower bound, but no upper one
    return value


def staged_by(name: str) -> int | None:
    """The number of the record for which a data file was staged; None for any other file."""
    staged = _STAGED.fullmatch(name)
    return int(staged[1]) if staged else None


def sweep(store: Store, folder: PurePath, after: int, up_to: int, named: set[str]) -> set[str]:
    """Remove the data files staged for records after `after`, up to `up_to`, that no record names: they were never
    committed. Later ones may be those of a process that has taken over the home meanwhile. Returns the names in the
    folder."""
    names = store.names(folder)
    for name in names:
        n = staged_by(name)
        if n is not None and after < n <= up_to and name not in named:
            store.delete(folder / name)
    return set(names)


def discard(store: Store, folder: PurePath, token: str, keep: frozenset[str] = frozenset()) -> None:
    """Remove the files that one attempt staged, except those to keep."""
    for name in store.names(folder):
        if f"-{token}" in name and name not in keep:
            store.delete(folder / name)
