"""An Arrow table in, flushed Parquet files with Delta's statistics out. Runs on the driver and on Spark's executors."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from presage.log.journal import FileAdd

ROWS_PER_FILE = 4_194_304
# Spark cuts a file between row groups: small enough to spread one file over the cores.
ROWS_PER_GROUP = 262_144
MAX_TEXT = 64  # characters of a text that go into the statistics
_STAGED = re.compile(r"(\d{14})-\d{5}-[0-9a-f]+(-[0-9a-f]+)?(-old-\d+of\d+)?\.parquet")


def stage(
    folder: Path, n: int, token: str, table: pa.Table, durable: bool, first_index: int = 0, mark: str = ""
) -> Iterator[FileAdd]:
    """Write the table into the folder as files that no record names yet. The mark tells old files (`chunks`)."""
    for index, start in enumerate(range(0, table.num_rows, ROWS_PER_FILE), first_index):
        part = table.slice(start, ROWS_PER_FILE)
        path = folder / f"{n:014d}-{index:05d}-{token}{mark}.parquet"
        with open(path, "xb") as file:
            pq.write_table(part, file, row_group_size=ROWS_PER_GROUP)
            file.flush()
            if durable:
                os.fsync(file.fileno())
            size = file.tell()
        yield FileAdd(path.name, size, part.num_rows, statistics(part))


def statistics(table: pa.Table) -> str:
    """Delta's statistics of a file: rows, nulls, least and greatest values of its scalar columns."""
    nulls: dict[str, int] = {}
    least: dict[str, Any] = {}
    most: dict[str, Any] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_nested(column.type):
            continue
        nulls[name] = column.null_count
        # Delta has no bounds of truth values and bytes.
        if column.null_count == len(column) or pa.types.is_boolean(column.type) or pa.types.is_binary(column.type):
            continue
        if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
            continue  # a NaN has no place between a least and a greatest value
        bounds = pc.min_max(column)
        _note(least, name, bounds["min"].as_py(), cut=True)
        _note(most, name, bounds["max"].as_py(), cut=False)
    return json.dumps({"numRecords": table.num_rows, "minValues": least, "maxValues": most, "nullCount": nulls})


def timestamp_text(when: datetime) -> str:
    """A time in UTC as Delta's statistics spell it; the texts sort as the times do."""
    return when.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _note(values: dict[str, Any], name: str, value: Any, cut: bool) -> None:
    if isinstance(value, datetime):
        value = timestamp_text(value)
    elif isinstance(value, float) and math.isinf(value):
        return  # JSON has no spelling for it
    elif isinstance(value, str) and len(value) > MAX_TEXT:
        if not cut:
            return  # a prefix is a lower bound and no upper one
        value = value[:MAX_TEXT]
    values[name] = value


def staged_by(name: str) -> int | None:
    """The number of the record that a data file was written for; None if it is none of our data files."""
    staged = _STAGED.fullmatch(name)
    return int(staged[1]) if staged else None


def sweep(folder: Path, after: int, named: set[str]) -> None:
    """Remove the data files staged for records after `after` that no record names: their append never happened."""
    if not folder.is_dir():
        return
    for name in os.listdir(folder):
        n = staged_by(name)
        if n is not None and n > after and name not in named:
            (folder / name).unlink()


def discard(folder: Path, token: str, keep: frozenset[str] = frozenset()) -> None:
    """Remove what one attempt staged, but for the files to keep."""
    if not folder.is_dir():
        return
    for name in os.listdir(folder):
        if f"-{token}" in name and name not in keep:
            (folder / name).unlink()
