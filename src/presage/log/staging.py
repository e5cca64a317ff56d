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
_STAGED = re.compile(r"(\d{14})-\d{5}-[0-9a-f]+(-[0-9a-f]+)?\.parquet")


def stage(folder: Path, n: int, token: str, table: pa.Table, durable: bool, first_index: int = 0) -> Iterator[FileAdd]:
    """Write the table into the folder as files that no record names yet."""
    for index, start in enumerate(range(0, table.num_rows, ROWS_PER_FILE), first_index):
        part = table.slice(start, ROWS_PER_FILE)
        path = folder / f"{n:014d}-{index:05d}-{token}.parquet"
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
        if column.null_count == len(column) or pa.types.is_boolean(column.type):
            continue
        if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
            continue  # a NaN has no place between a least and a greatest value
        bounds = pc.min_max(column)
        _note(least, name, bounds["min"].as_py(), cut=True)
        _note(most, name, bounds["max"].as_py(), cut=False)
    return json.dumps({"numRecords": table.num_rows, "minValues": least, "maxValues": most, "nullCount": nulls})


def _note(values: dict[str, Any], name: str, value: Any, cut: bool) -> None:
    if isinstance(value, datetime):
        value = value.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    elif isinstance(value, float) and math.isinf(value):
        return  # JSON has no spelling for it
    elif isinstance(value, str) and len(value) > MAX_TEXT:
        if not cut:
            return  # a prefix is a lower bound and no upper one
        value = value[:MAX_TEXT]
    values[name] = value


def sweep(folder: Path, after: int, named: set[str]) -> None:
    """Remove the data files staged for records after `after` that no record names: their append never happened."""
    if not folder.is_dir():
        return
    for name in os.listdir(folder):
        staged = _STAGED.fullmatch(name)
        if staged and int(staged[1]) > after and name not in named:
            (folder / name).unlink()


def discard(folder: Path, token: str, keep: frozenset[str] = frozenset()) -> None:
    """Remove what one attempt staged, but for the files to keep."""
    for name in os.listdir(folder):
        if f"-{token}" in name and name not in keep:
            (folder / name).unlink()
