"""Reader of CSV files. The first line names the columns; an empty field is null."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from presage.errors import error
from presage.model.catalog import Attribute
from presage.storage.column_coercion import parse_array
from presage.storage.columns import attributes_schema
from presage.storage.ingest import (
    Checked,
    Columns,
    Locate,
    Rejected,
    check_columns,
    decide_rest,
    join,
    refuse_duplicates,
    shifted,
)
from presage.storage.value_coercion import parse_text

ROWS_PER_BATCH = 262_144
BOM = b"\xef\xbb\xbf"
OTHER_MARKS = {";": "semicolons", "\t": "tabs"}


@dataclass(frozen=True)
class Header:
    """The names of the columns, and the bytes and lines that they take."""

    names: list[str]
    size: int
    lines: int


def read_csv(
    data: bytes, name: str, attributes: tuple[Attribute, ...], required: str | None, nulls: Sequence[str] = ()
) -> Checked:
    """`nulls`: texts of fields that mean null, besides the empty one."""
    header = read_header(data, name)
    if header is None:
        return Checked(attributes_schema(attributes).empty_table())
    return read_csv_rows(data[header.size :], name, header.names, attributes, required, header.lines, nulls)


def read_header(data: bytes, name: str) -> Header | None:
    """The first line of a file that is not blank; None if there is none."""
    mark = len(BOM) if data.startswith(BOM) else 0
    lines = _Lines(_decoded(data[mark:]))
    reader = _reader(lines)
    header = next((row for row in reader if row), None)
    if header is None:
        return None
    names = [column.strip() for column in header]
    if any(is_broken(column) for column in names):
        fix = "save the file as UTF-8"
        raise error("FILE_UNREADABLE", path=name, why="its first line is not UTF-8", fix=fix)
    text = "".join(lines.taken)
    _refuse_other_marks(names, text, name)
    refuse_duplicates(names, f"the file '{name}'")
    size = len(text.encode("utf-8", errors="surrogateescape"))
    return Header(names, mark + size, reader.line_num)


def _refuse_other_marks(names: list[str], text: str, name: str) -> None:
    """Refuse files with other separators: each line would be one column, and every row would lack the event time."""
    for mark, shown in OTHER_MARKS.items():
        if len(names) == 1 and mark in names[0] and text.strip() != f'"{names[0]}"':
            why, fix = f"its columns are parted by {shown}, not by commas", "save it with commas between the columns"
            raise error("FILE_UNREADABLE", path=name, why=why, fix=fix)


def read_csv_rows(
    data: bytes,
    name: str,
    names: list[str],
    attributes: tuple[Attribute, ...],
    required: str | None,
    before: int,
    nulls: Sequence[str] = (),
) -> Checked:
    """Rows of a file with these column names. `before`: the number of lines before them."""
    plain = read_fields(data, names)
    if plain is not None:
        checked = check_fields(plain, attributes, required, lambda row: ("", ""), nulls)
        if not checked.rejected:
            return checked
        # Only the slow reader knows the lines of rejected rows.
    return read_csv_carefully(data, name, names, attributes, required, before, nulls)


def read_fields(data: bytes, names: list[str]) -> pa.Table | None:
    """All rows as text columns, read by Arrow; None if Arrow and Python's reader could disagree."""
    if b'"' in data or b"\0" in data or data.count(b"\r") != data.count(b"\r\n") or not data.strip():
        return None
    if data.startswith(BOM):
        return None  # Arrow's reader drops it, even in the middle of a file
    if len(names) == 1:
        return None  # a blank line and a line with an empty field look alike
    try:
        return pa.csv.read_csv(
            pa.py_buffer(data),
            pa.csv.ReadOptions(column_names=names, block_size=16 << 20),
            pa.csv.ParseOptions(quote_char=False),
            pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), null_values=[""], strings_can_be_null=True
            ),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None


def read_rows(text: str) -> list[list[str]]:
    """The fields of each row of a text; `ValueError` if it is not CSV."""
    try:
        # newline="": lines end only at line feeds, as in a file.
        return [row for row in _reader(io.StringIO(text, newline="")) if row]
    except csv.Error as broken:
        raise ValueError(str(broken)) from None


def read_csv_carefully(
    data: bytes,
    name: str,
    names: list[str],
    attributes: tuple[Attribute, ...],
    required: str | None,
    before: int,
    nulls: Sequence[str] = (),
) -> Checked:
    """The same rows read by Python's reader, which knows the line of each row."""
    lines = _Lines(_decoded(data))
    reader = _reader(lines)
    empty = Checked(attributes_schema(attributes).empty_table())
    parts = [empty]
    rows: list[list[str | None]] = []
    places: list[tuple[str, str]] = []
    bad = Rejected()
    line = before + 1
    for row in reader:
        raw, origin = "".join(lines.taken).rstrip("\r\n"), f"{name}:{line}"
        lines.taken.clear()
        line = before + reader.line_num + 1
        if is_broken(raw):
            bad.add("the line is not UTF-8", readable(raw), origin)
        elif row and len(row) != len(names):
            bad.add(f"the line has {len(row)} fields, the header has {len(names)}", raw, origin)
        elif row:
            rows.append([field or None for field in row])
            places.append((raw, origin))
        if len(rows) == ROWS_PER_BATCH:
            parts.append(check_fields(to_table(names, rows), attributes, required, places.__getitem__, nulls))
            rows, places = [], []
    parts.append(check_fields(to_table(names, rows), attributes, required, places.__getitem__, nulls))
    return join_in_file_order([*parts, Checked(empty.table, bad)])


def whole_rows(data: bytes) -> int:
    """How many bytes at the beginning are complete rows. A quoted field may contain line feeds."""
    end = data.rfind(b"\n") + 1
    if b'"' not in data[:end]:
        return end
    lines = _Lines(_decoded(data[:end]))
    for _ in _reader(lines):
        if lines.exhausted:  # the last row is incomplete
            return end - len("".join(lines.taken).encode("utf-8", errors="surrogateescape"))
        lines.taken.clear()
    return end


def _decoded(data: bytes) -> str:
    """Bytes that are not UTF-8 become surrogates, so that only their own row is rejected."""
    return data.decode("utf-8", errors="surrogateescape")


def _reader(lines: Iterable[str]) -> Any:
    csv.field_size_limit(2**31 - 1)  # the default refuses fields of more than 128 KB
    return csv.reader(lines)


class _Lines:
    """The lines of a text. `taken`: those read since the caller cleared it; `exhausted`: more were requested."""

    def __init__(self, text: str) -> None:
        self._stream: Iterator[str] = io.StringIO(text, newline="")
        self.taken: list[str] = []
        self.exhausted = False

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._stream, None)
        if line is None:
            self.exhausted = True
            raise StopIteration
        self.taken.append(line)
        return line


def to_table(names: list[str], rows: list[list[str | None]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return pa.Table.from_arrays([pa.array(column, pa.string()) for column in columns], names=names)


def read_nulls(text: str | Sequence[str] | None) -> tuple[str, ...]:
    """The texts that mean null, from an option such as 'NA, N/A'."""
    several = text.split(",") if isinstance(text, str) else text or ()
    return tuple(filter(None, (each.strip() for each in several)))


def with_nulls(table: pa.Table, nulls: Sequence[str]) -> pa.Table:
    """Text columns with these texts, without surrounding blanks, replaced by null."""
    if not nulls:
        return table
    meant, none = pa.array(nulls, pa.string()), pa.scalar(None, pa.string())
    columns = [
        # Names of internal columns begin with a sign.
        column if name[:1] == "#" else pc.if_else(pc.is_in(pc.utf8_trim_whitespace(column), meant), none, column)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=table.column_names)


def check_fields(
    table: pa.Table, attributes: tuple[Attribute, ...], required: str | None, locate: Locate, nulls: Sequence[str] = ()
) -> Checked:
    """Parse text columns as the declared types."""
    table = with_nulls(table, nulls)
    known = {a.name for a in attributes}
    ignored: Counter[str] = Counter()
    parts = [Checked(attributes_schema(attributes).empty_table())]
    for start in range(0, table.num_rows, ROWS_PER_BATCH):
        part = table.slice(start, ROWS_PER_BATCH)
        columns: dict[str, pa.Array | list[object]] = {}
        broken: dict[int, str] = {}
        for attribute in attributes:
            if attribute.name in part.column_names:
                text = pa.concat_arrays(part[attribute.name].chunks)
                array, rest = parse_array(text, attribute.type)
                columns[attribute.name], reasons = decide_rest(array, rest, text, attribute, ignored, parse_text)
                broken = reasons | broken  # the first attribute that does not fit gives the reason
        batch = Columns(part.num_rows, columns, shifted(locate, start), broken=broken)
        parts.append(check_columns(attributes, required, batch))
    checked = join(parts)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name not in known and len(column) > column.null_count:
            ignored[name] += len(column) - column.null_count
    checked.ignored.update(ignored)
    return checked


def is_broken(text: str) -> bool:
    """Whether the text contains bytes that were not UTF-8."""
    return not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)


def readable(text: str) -> str:
    """The text with a replacement character for every byte that was not UTF-8."""
    return text.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")


def join_in_file_order(parts: list[Checked]) -> Checked:
    """Several parts as one, with the rejected rows in the order of their lines."""
    checked = join(parts)
    lines = [int(origin.rpartition(":")[2]) for origin in checked.rejected.origins]
    checked.rejected = checked.rejected.take(sorted(range(len(lines)), key=lines.__getitem__))
    return checked
