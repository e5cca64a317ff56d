"""A path in, checked rows out: CSV, JSON and Parquet files, and folders of them.

A field or row that does not fit is rejected with its file and line; the rest goes on.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from presage.errors import PresageError, error
from presage.log.columns import attributes_schema
from presage.log.data_files import open_data
from presage.log.ingest import Checked, check_table, join
from presage.log.text_csv import read_csv
from presage.log.text_json import read_json
from presage.model.catalog import Attribute

FORMATS = (".csv", ".json", ".jsonl", ".ndjson", ".parquet")


def read_files(path: Path, attributes: tuple[Attribute, ...], required: str | None = None) -> Checked:
    """The rows of a file, or of all files of a folder in the order of their names."""
    if not path.exists():
        raise error("FILE_NOT_FOUND", path=path)
    empty = Checked(attributes_schema(attributes).empty_table())
    return join([empty, *(_read_file(file, attributes, required) for file in files_of(path))])


def files_of(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    # Names with a dot or an underscore in front are the marks that other programs leave beside their data.
    return sorted(file for file in path.iterdir() if file.is_file() and file.name[0] not in "._")


def _read_file(path: Path, attributes: tuple[Attribute, ...], required: str | None) -> Checked:
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        fix = f"give a file that ends in {', '.join(FORMATS)}"
        raise error("FILE_UNREADABLE", path=path, why=f"'{path.name}' is of no known format", fix=fix)
    try:
        if path.stat().st_size == 0:
            return Checked(attributes_schema(attributes).empty_table())
        if suffix == ".parquet":
            return _read_parquet(path, attributes, required)
    except OSError as failure:
        raise _unreadable(path, failure) from failure
    read = read_csv if suffix == ".csv" else read_json
    return read(bytes_of(path), path.name, attributes, required)


def bytes_of(path: Path) -> bytes:
    """All of a file."""
    try:
        return path.read_bytes()
    except OSError as failure:
        raise _unreadable(path, failure) from failure


def _read_parquet(path: Path, attributes: tuple[Attribute, ...], required: str | None) -> Checked:
    try:
        # The old 96-bit times of Spark hold years that nanoseconds do not.
        table = open_data(path, coerce_int96_timestamp_unit="us").read()
    except (pa.ArrowException, UnicodeDecodeError) as failure:
        raise _unreadable(path, failure) from failure
    return check_table(attributes, required, table, f"the file '{path.name}'", lambda row: f"{path.name}:{row + 1}")


def _unreadable(path: Path, failure: Exception) -> PresageError:
    return error("FILE_UNREADABLE", path=path, why=str(failure).splitlines()[0], fix="check the file")
