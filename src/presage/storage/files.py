"""Reader of event files: CSV, JSON and Parquet files, folders of them, and Delta tables.

`load`, `--events`, relations and `presage declare` read their paths with it. A row that does not fit the declaration is
rejected with its file and line; the other rows are read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from presage.errors import PresageError, error
from presage.model.catalog import Attribute
from presage.model.paths import ANYWHERE, Roots
from presage.storage.columns import attributes_schema
from presage.storage.data_files import open_data
from presage.storage.delta_folder import DeltaFolder, is_delta, not_a_part
from presage.storage.ingest import Checked, check_table, join
from presage.storage.text_csv import read_csv
from presage.storage.text_json import read_json

FORMATS = (".csv", ".json", ".jsonl", ".ndjson", ".parquet")


def read_files(
    path: Path,
    attributes: tuple[Attribute, ...],
    required: str | None = None,
    roots: Roots = ANYWHERE,
    nulls: Sequence[str] = (),
) -> Checked:
    """The rows of a file, of all files of a folder in the order of their names, or of a Delta table as it is now.
    `nulls`: texts of CSV fields that mean null."""
    if not path.exists():
        raise error("FILE_NOT_FOUND", path=path)
    empty = Checked(attributes_schema(attributes).empty_table())
    if is_delta(path):
        return join([empty, *_read_table(DeltaFolder(path, roots), attributes, required)])
    return join([empty, *(_read_file(file, attributes, required, roots, nulls) for file in files_of(path))])


def files_of(path: Path) -> list[Path]:
    """The files of a folder, which is no Delta table; a file is one itself."""
    if not path.is_dir():
        return [path]
    not_a_part(path)
    # Names that begin with a dot or an underscore are metadata of other programs.
    shown = sorted(each for each in path.iterdir() if each.name[0] not in "._")
    files = [each for each in shown if each.is_file()]
    if shown and not files:  # partitions, or several tables: reading nothing would look as if they were empty
        why, fix = "it holds no files, only folders", f"name one of them, '{shown[0].name}' for example"
        raise error("FILE_UNREADABLE", path=path, why=why, fix=fix)
    return files


def _read_table(table: DeltaFolder, attributes: tuple[Attribute, ...], required: str | None) -> list[Checked]:
    checked = []
    for file in table.snapshot().files:
        rows, numbers = table.read(file)
        origin = lambda row, name=file.name, of=numbers: f"{name}:{of[row] + 1}"  # noqa: E731
        checked.append(check_table(attributes, required, rows, f"the file '{file.name}'", origin))
    return checked


def _read_file(
    path: Path, attributes: tuple[Attribute, ...], required: str | None, roots: Roots, nulls: Sequence[str]
) -> Checked:
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        fix = f"give a file that ends in {', '.join(FORMATS)}"
        raise error("FILE_UNREADABLE", path=path, why=f"'{path.name}' is of no known format", fix=fix)
    if suffix == ".parquet":
        table = read_parquet(path, roots)
        if table is None:
            return Checked(attributes_schema(attributes).empty_table())
        return check_table(attributes, required, table, f"the file '{path.name}'", lambda row: f"{path.name}:{row + 1}")
    data = bytes_of(path, roots)
    if suffix == ".csv":
        return read_csv(data, path.name, attributes, required, nulls)
    return read_json(data, path.name, attributes, required)


def bytes_of(path: Path, roots: Roots = ANYWHERE) -> bytes:
    try:
        with roots.opened(path) as file:
            return file.read()
    except OSError as failure:
        raise _unreadable(path, failure) from failure


def read_parquet(path: Path, roots: Roots = ANYWHERE) -> pa.Table | None:
    """A Parquet file; None if it has no bytes."""
    try:
        with roots.opened(path) as file:
            if os.fstat(file.fileno()).st_size == 0:
                return None
            # Spark's old INT96 times hold years that nanoseconds do not.
            return open_data(file, coerce_int96_timestamp_unit="us").read()
    except (pa.ArrowException, UnicodeDecodeError, OSError) as failure:
        raise _unreadable(path, failure) from failure


def _unreadable(path: Path, failure: Exception) -> PresageError:
    return error("FILE_UNREADABLE", path=path, why=str(failure).splitlines()[0], fix="check the file")
