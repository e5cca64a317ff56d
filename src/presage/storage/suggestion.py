"""Suggestion of a stream declaration for a file of events.

Candidate types are tried with the reader of `load`, so that the suggested declaration accepts the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from presage.errors import error
from presage.lang.identifiers import spell_name, spell_string
from presage.model.catalog import Attribute
from presage.model.paths import ANYWHERE
from presage.model.types import (
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    LONG,
    MOST_DIGITS,
    STRING,
    TIMESTAMP,
    ArrayOf,
    DataType,
    DecimalOf,
    MapOf,
    StructOf,
)
from presage.storage.delta_folder import DeltaFolder, is_delta
from presage.storage.files import bytes_of, files_of, read_files, read_parquet
from presage.storage.ingest import Checked, check_table
from presage.storage.text_csv import BOM, check_fields, read_csv, read_header, with_nulls
from presage.storage.text_json import is_array

# In the order in which they are tried. LONG, not INT: the next file may contain a greater number.
TRIED = (BOOLEAN, LONG, DOUBLE, TIMESTAMP)
# Numbers with a decimal point or an exponent are measures, even if all of this file are whole.
_MEASURE = r"^\s*[+-]?([0-9]+(\.[0-9]*|[eE])|\.[0-9])[0-9eE+-]*\s*$"
# At most one bad value in this many: a type fits the column, and the remarks report the rows that will be rejected.
ONE_BAD_IN = 100
FIRST_LOOK = 1_000  # values
# What programs write for a missing number, time or truth value.
MISSING = (
    *("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "Null", "None", "none", "nil", "\\N"),
    *("-", "--", "?", ".", "missing"),
)
# Names of the event time, the likeliest first, if several columns hold times.
TIME_NAMES = ("at", "event_time", "eventtime", "timestamp", "time", "ts", "datetime", "date")
_CODE = r"^0[0-9]"  # a number that begins with a zero is an identifier


@dataclass(frozen=True)
class Suggestion:
    """Attributes, the event time, and how the rows of the file fit them."""

    attributes: tuple[Attribute, ...]
    event_time: str
    other_times: tuple[str, ...]  # that could be the event time as well
    left_out: tuple[str, ...]  # columns whose values have no type of the language, or several
    checked: Checked
    nulls: Mapping[str, Mapping[str, int]]  # texts that mean a missing value: how often, by column


def suggest(path: Path) -> Suggestion:
    """The declaration for a CSV, JSON or Parquet file or a Delta table; for a folder, its first file decides."""
    if not path.exists():
        raise error("FILE_NOT_FOUND", path=path, fix="check the name and the folder")
    nulls: dict[str, dict[str, int]] = {}
    if is_delta(path):
        columns = dict(_table_columns(_delta(path)))
    else:
        files = files_of(path)
        if not files:
            raise error("FILE_UNREADABLE", path=path, why="the folder is empty", fix="name a file with events")
        columns = dict(_columns(files[0], nulls))
    if TIMESTAMP not in columns.values():  # days are the next best event time
        columns = {name: TIMESTAMP if data_type == DATE else data_type for name, data_type in columns.items()}
    attributes = tuple(Attribute(name, data_type) for name, data_type in columns.items() if data_type is not None)
    times = [attribute.name for attribute in attributes if attribute.type == TIMESTAMP]
    if not times:
        why = "no column holds times as ISO 8601 writes them, like 2024-03-01T09:00:00Z"
        why += f" (columns: {', '.join(columns)})" if columns else " (it has no rows)"
        raise error("FILE_UNREADABLE", path=path, why=why, fix="write the time of each event so, and try again")
    times.sort(key=_likelihood)
    left_out = tuple(name for name, data_type in columns.items() if data_type is None)
    checked = read_files(path, attributes, times[0], nulls=[*nulls])
    return Suggestion(attributes, times[0], tuple(times[1:]), left_out, checked, nulls)


def _likelihood(name: str) -> int:
    plain = re.sub(r"[\W_]+", "_", name).lower()
    return TIME_NAMES.index(plain) if plain in TIME_NAMES else len(TIME_NAMES)


def _columns(path: Path, nulls: dict[str, dict[str, int]]) -> Iterator[tuple[str, DataType | None]]:
    """The columns of one file with their types; None where the language has no such type."""
    suffix = path.suffix.lower()
    if suffix == ".csv":
        yield from _text_columns(path, nulls)
        return
    read_files(path, ())  # raises an error if the file is unreadable
    table = read_parquet(path) if suffix == ".parquet" else _objects(path)
    yield from _table_columns(pa.table({}) if table is None else table)


def _table_columns(table: pa.Table) -> Iterator[tuple[str, DataType | None]]:
    for name in table.column_names:
        data_type = _of_arrow(table.schema.field(name).type)
        # Cast: Arrow cannot filter string views, which other programs write.
        if data_type == STRING and _fits(pa.table({name: table[name].cast(pa.string())}), name, TIMESTAMP, check_table):
            data_type = TIMESTAMP
        yield name, data_type


def _text_columns(path: Path, nulls: dict[str, dict[str, int]]) -> Iterator[tuple[str, DataType]]:
    data = bytes_of(path)
    header = read_header(data, path.name)
    names = header.names if header is not None else []
    table = read_csv(data, path.name, tuple(Attribute(name, STRING) for name in names), None).table
    for name in names:
        column = table.select([name])
        missing = _missing(column[name])
        whole = not _has(table[name], _MEASURE)
        tried = () if _has(table[name], _CODE) else tuple(each for each in TRIED if whole or each != LONG)
        chosen = next((each for each in tried if _fits(column, name, each, _check_texts)), STRING)
        if missing and tried:
            without = with_nulls(column, [*missing])
            likely = next((each for each in tried if _fits(without, name, each, _check_texts)), STRING)
            texts = pa.table({name: pa.array([*missing])})
            # "NaN" is a value of a DOUBLE: it is not missing there.
            if chosen == STRING or _check_texts((Attribute(name, chosen),), None, texts).rejected:
                chosen = likely
                for text, count in missing.items() if likely != STRING else ():
                    nulls.setdefault(text, {})[name] = count
        yield name, chosen
    for text, columns in nulls.items():  # they are null in all columns, also in those that would accept them
        columns |= {name: count for name in names if (count := _missing(table[name]).get(text, 0))}


def _has(column: pa.ChunkedArray, form: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(column, form)).as_py())


def _missing(column: pa.ChunkedArray) -> dict[str, int]:
    """The texts of a column that mean a missing value, and how often they occur."""
    trimmed = pc.utf8_trim_whitespace(column)
    counts = pc.value_counts(trimmed.filter(pc.is_in(trimmed, pa.array(MISSING))))
    return {each["values"]: each["counts"] for each in counts.to_pylist()}


def _check_texts(attributes: tuple[Attribute, ...], required: str | None, table: pa.Table) -> Checked:
    return check_fields(table, attributes, required, lambda row: ("", ""))


def _fits(
    table: pa.Table,
    name: str,
    data_type: DataType,
    check: Callable[[tuple[Attribute, ...], str | None, pa.Table], Checked],
) -> bool:
    """Whether a column has values, and nearly all of them fit a type."""
    table = table.filter(pc.is_valid(table[name]))
    # Values that do not fit are slow to check: try the first ones before all.
    for some in (table.slice(0, FIRST_LOOK), table):
        bad = len(check((Attribute(name, data_type),), None, some).rejected)
        if not some.num_rows or bad > some.num_rows // ONE_BAD_IN:
            return False
    return True


def _delta(path: Path) -> pa.Table:
    """All rows of a Delta table, with its columns; columns that a file does not have are null."""
    folder = DeltaFolder(path, ANYWHERE)
    now = folder.snapshot()
    parts = [pa.table({}), *(folder.read(file)[0] for file in now.files)]
    rows = pa.concat_tables(parts, promote_options="permissive")
    for field in now.schema:
        if field.name not in rows.column_names:
            rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
    return rows.select(now.schema.names)


def _objects(path: Path) -> pa.Table:
    """The objects of a JSON file as columns, without lines that are no objects, which a load rejects."""
    text = path.read_bytes().removeprefix(BOM).decode("utf-8", errors="replace")
    values: list[Any] = json.loads(text) if is_array(text.encode()) else list(_lines(text))
    rows = [row for row in values if isinstance(row, dict)]
    columns: dict[str, pa.Array] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        try:
            columns[name] = pa.array([row.get(name) for row in rows])
        except (pa.ArrowException, OverflowError):  # values of several types
            columns[name] = pa.array([None] * len(rows), pa.duration("s"))  # a type that the language does not have
    return pa.table(columns)


def _lines(text: str) -> Iterator[object]:
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue  # the load reports it


def _of_arrow(kind: pa.DataType) -> DataType | None:
    """The type of the language for an Arrow type; None if there is none."""
    if pa.types.is_dictionary(kind):
        return _of_arrow(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        element = _of_arrow(kind.value_type)
        return None if element is None else ArrayOf(element)
    if pa.types.is_map(kind):
        key, value = _of_arrow(kind.key_type), _of_arrow(kind.item_type)
        return None if key is None or value is None else MapOf(key, value)
    if pa.types.is_struct(kind):
        fields = [(kind.field(i).name, _of_arrow(kind.field(i).type)) for i in range(kind.num_fields)]
        typed = tuple((name, data_type) for name, data_type in fields if data_type is not None)
        return StructOf(typed) if typed else None
    if pa.types.is_decimal(kind) and 0 <= kind.scale <= kind.precision <= MOST_DIGITS:
        return DecimalOf(kind.precision, kind.scale)
    return next((data_type for data_type, tests in _ARROW.items() if any(test(kind) for test in tests)), None)


_ARROW: dict[DataType, tuple[Callable[[pa.DataType], bool], ...]] = {
    BOOLEAN: (pa.types.is_boolean,),
    LONG: (pa.types.is_integer,),
    DOUBLE: (pa.types.is_floating,),
    TIMESTAMP: (pa.types.is_timestamp,),
    DATE: (pa.types.is_date,),
    BYTES: (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view),
    STRING: (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null),
}


REASONS = 3
WIDE = 100  # characters of a declaration on one line


def named_after(path: Path) -> str:
    """A name for the stream of a file: the file's name as an identifier."""
    word = re.sub(r"\W+", "_", path.name if path.is_dir() else path.stem).strip("_")
    return f"events_{word}" if not word or word[0].isdigit() else word[0].upper() + word[1:]


def declaration(stream: str, found: Suggestion) -> str:
    columns = [f"{spell_name(attribute.name)} {attribute.type}" for attribute in found.attributes]
    nulls = f" WITH (nulls = {spell_string(', '.join(found.nulls))})" if found.nulls else ""
    end = f"EVENT TIME {spell_name(found.event_time)}{nulls};"
    line = f"CREATE STREAM {spell_name(stream)} ({', '.join(columns)}) {end}"
    if len(line) <= WIDE:
        return line
    listed = ",\n  ".join(columns)
    return f"CREATE STREAM {spell_name(stream)} (\n  {listed}\n) {end}"


def remarks(name: str, found: Suggestion) -> Iterator[str]:
    """How the rows of a file of this name fit, and alternatives to the declaration."""
    fit, rejected = found.checked.table.num_rows, found.checked.rejected
    lost = f", {len(rejected):,} row{'' if len(rejected) == 1 else 's'} would be rejected" if len(rejected) else ""
    yield f"{name}: {fit:,} event{'' if fit == 1 else 's'}{lost}"
    for origin, reason in list(zip(rejected.origins, rejected.reasons, strict=True))[:REASONS]:
        yield f"  {' '.join(f'{origin}: {reason}'.split())}"
    if len(rejected) > REASONS:
        yield f"  … and {len(rejected) - REASONS:,} more"
    for text, columns in found.nulls.items():
        yield f"'{text}' is read as null: {', '.join(f'{name} ({count:,})' for name, count in columns.items())}"
    if found.other_times:
        yield f"the event time could also be {' or '.join(found.other_times)}"
    if found.left_out:
        yield f"left out, as their values are of no type or of several: {', '.join(found.left_out)}"
