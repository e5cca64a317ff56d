"""Bytes of a CSV file in, checked rows out. The first line names the columns; an empty field is null."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
# A field may be long, and Python's reader refuses more than 128 KB otherwise.
_LONGEST_FIELD = 2**31 - 1


@dataclass(frozen=True)
class Header:
    """The names of the columns, and how many bytes and lines of the file they take."""

    names: list[str]
    size: int
    lines: int


def read_csv(
    data: bytes, name: str, attributes: tuple[Attribute, ...], required: str | None, nulls: Sequence[str] = ()
) -> Checked:
    """`nulls`: texts of fields that mean null, beside the empty one."""
    header = read_header(data, name)
    if header is None:
        return Checked(attributes_schema(attributes).empty_table())
    return read_csv_rows(data[header.size :], name, header.names, attributes, required, header.lines, nulls)


def read_header(data: bytes, name: str) -> Header | None:
    """The first line of a file that is not blank; None if there is none."""
    csv.field_size_limit(_LONGEST_FIELD)
    mark = len(BOM) if data.startswith(BOM) else 0
    lines = _Lines(_decoded(data[mark:]))
    reader = csv.reader(lines)
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
    """Some programs part columns by another mark: all of a line would be one column, and every row without a time."""
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
    """Whole rows of a file with columns of these names; so many lines of it come `before` them."""
    plain = read_fields(data, names)
    if plain is not None:
        checked = check_fields(plain, attributes, required, lambda row: ("", ""), nulls)
        if not checked.rejected:
            return checked
        # Only the careful reader knows the lines, for what is rejected.
    return read_csv_carefully(data, name, names, attributes, required, before, nulls)


def read_fields(data: bytes, names: list[str]) -> pa.Table | None:
    """All rows as text columns by Arrow's reader, if it has nothing that two readers could take in two ways."""
    if b'"' in data or b"\0" in data or data.count(b"\r") != data.count(b"\r\n") or not data.strip():
        return None
    if data.startswith(BOM):
        return None  # Arrow's reader leaves it out, wherever its text begins in the file
    if len(names) == 1:
        return None  # a line without a field and a line with an empty one look alike
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
    """The fields of each row of a text; a `ValueError` if it is no CSV."""
    csv.field_size_limit(_LONGEST_FIELD)
    try:
        # Lines end where they do in a file: not at other characters that Python's texts are split at.
        return [row for row in csv.reader(io.StringIO(text, newline="")) if row]
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
    """The same rows by way of Python's reader, which says where each one stands."""
    csv.field_size_limit(_LONGEST_FIELD)
    lines = _Lines(_decoded(data))
    reader = csv.reader(lines)
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
    checked = join([*parts, Checked(empty.table, bad)])
    checked.rejected = in_file_order(checked.rejected)
    return checked


def whole_rows(data: bytes) -> int:
    """How many bytes, from the first on, are whole rows, if more may follow: a quoted field may hold line ends."""
    end = data.rfind(b"\n") + 1
    if b'"' not in data[:end]:
        return end
    csv.field_size_limit(_LONGEST_FIELD)
    lines = _Lines(_decoded(data[:end]))
    for _ in csv.reader(lines):
        if lines.asked_in_vain:  # the last row goes on
            return end - len("".join(lines.taken).encode("utf-8", errors="surrogateescape"))
        lines.taken.clear()
    return end


def _decoded(data: bytes) -> str:
    """Bytes that are no UTF-8 become surrogates, so that only their own row is lost."""
    return data.decode("utf-8", errors="surrogateescape")


class _Lines:
    """Lines of a text for Python's reader, which remembers those since the last row."""

    def __init__(self, text: str) -> None:
        self._stream: Iterator[str] = io.StringIO(text, newline="")
        self.taken: list[str] = []
        self.asked_in_vain = False

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._stream, None)
        if line is None:
            self.asked_in_vain = True
            raise StopIteration
        self.taken.append(line)
        return line


def to_table(names: list[str], rows: list[list[str | None]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return pa.Table.from_arrays([pa.array(column, pa.string()) for column in columns], names=names)


def read_nulls(text: str | Sequence[str] | None) -> tuple[str, ...]:
    """Texts that mean null, as an option lists them: 'NA, N/A'."""
    several = text.split(",") if isinstance(text, str) else text or ()
    return tuple(filter(None, (each.strip() for each in several)))


def with_nulls(table: pa.Table, nulls: Sequence[str]) -> pa.Table:
    """Text columns in which fields that say one of these are null; blanks around it do not count."""
    if not nulls:
        return table
    known, none = pa.array(nulls, pa.string()), pa.scalar(None, pa.string())
    columns = [
        # Columns of our own, beside those of the text, have a sign in front.
        column if name[:1] == "#" else pc.if_else(pc.is_in(pc.utf8_trim_whitespace(column), known), none, column)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=table.column_names)


def check_fields(
    table: pa.Table, attributes: tuple[Attribute, ...], required: str | None, place: Locate, nulls: Sequence[str] = ()
) -> Checked:
    """Text columns as the declared types."""
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
        batch = Columns(part.num_rows, columns, shifted(place, start), broken=broken)
        parts.append(check_columns(attributes, required, batch))
    checked = join(parts)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name not in known and len(column) > column.null_count:
            ignored[name] += len(column) - column.null_count
    checked.ignored.update(ignored)
    return checked


def is_broken(text: str) -> bool:
    """Whether the text holds bytes that were no UTF-8."""
    return not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)


def readable(text: str) -> str:
    """The text with a replacement character for every byte that was no UTF-8."""
    return text.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")


def in_file_order(rejected: Rejected) -> Rejected:
    order = sorted(range(len(rejected)), key=lambda i: int(rejected.origins[i].rpartition(":")[2]))
    return rejected.take(order)
