"""Reader of JSON files: one object per line, or one array of objects."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from presage.model.arrow import to_arrow
from presage.model.catalog import Attribute
from presage.model.types import (
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    ArrayOf,
    DataType,
    DecimalOf,
    StructOf,
)
from presage.storage.column_coercion import MAX_EXACT
from presage.storage.columns import attributes_schema
from presage.storage.ingest import Checked, Rejected, check_mappings, check_table
from presage.storage.text_csv import BOM, is_broken, join_in_file_order, readable
from presage.storage.value_coercion import NumberText

ROWS_PER_BATCH = 65_536
BLOCK_BYTES = 4 << 20  # read by one thread of Arrow's reader at a time
# Opening brackets in a line that Arrow's reader gets: it recurses without limit, until a stack overflow kills the
# process. Python's reader stops with an error.
MOST_BRACKETS = 500


_TEXTS = (TIMESTAMP, DATE, BYTES)


def read_json(data: bytes, name: str, attributes: tuple[Attribute, ...], required: str | None) -> Checked:
    data = data.removeprefix(BOM)
    if is_array(data):
        return _read_array(data, name, attributes, required)
    return read_json_lines(data, name, attributes, required)


def is_array(data: bytes) -> bool:
    """Whether a file with this beginning is one array."""
    return data.lstrip()[:1] == b"["


def read_json_lines(
    data: bytes, name: str, attributes: tuple[Attribute, ...], required: str | None, before: int = 0
) -> Checked:
    """Lines with one object each. `before`: the number of lines before them."""
    plain = _read_plain(data, attributes)
    if plain is not None:
        checked = check_table(attributes, required, plain)
        if not checked.rejected:
            return checked
        # Only the slow reader knows the lines of rejected rows.
    return read_json_carefully(data, name, attributes, required, before)


def _read_plain(data: bytes, attributes: tuple[Attribute, ...]) -> pa.Table | None:
    """The whole file, read by Arrow; None if Arrow and Python's reader could disagree."""
    if not data.strip():
        return None
    # If each line begins and ends like an object, and there are as many rows as lines, each line is one object.
    body = data.replace(b"\r\n", b"\n").removesuffix(b"\n")
    lines = body.count(b"\n") + 1
    starts = body.count(b"\n{") + body.startswith(b"{")
    ends = body.count(b"}\n") + body.endswith(b"}")
    if not lines == starts == ends:
        return None
    try:
        body.decode()
    except UnicodeDecodeError:
        return None
    return read_objects(pa.py_buffer(body), lines, max(map(len, body.split(b"\n"))), attributes)


def read_objects(body: pa.Buffer, lines: int, longest: int, attributes: tuple[Attribute, ...]) -> pa.Table | None:
    """UTF-8 lines that begin and end like objects, read by Arrow; None if Python's reader must read them."""
    if not all(_is_plain(a.type) for a in attributes) or (longest > MOST_BRACKETS and _may_be_deep(body, lines)):
        return None
    # Times and bytes are read as text: `column_coercion` parses them, not Arrow's reader.
    schema = pa.schema([(a.name, pa.string() if a.type in _TEXTS else to_arrow(a.type)) for a in attributes])
    try:
        table = pa.json.read_json(
            pa.BufferReader(body),
            pa.json.ReadOptions(block_size=max(BLOCK_BYTES, 2 * longest)),
            pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer"),
        )
    except pa.ArrowException:
        return None
    doubles = [table[a.name].to_numpy() for a in attributes if a.type == DOUBLE]
    if table.num_rows != lines or any(_ambiguous(values) for values in doubles):
        return None
    return table


def _may_be_deep(body: pa.Buffer, lines: int) -> bool:
    """Whether a line opens so many brackets (inside strings too) that it could be nested too deeply."""
    letters = np.frombuffer(body, np.uint8)
    opens = (letters == ord("{")) | (letters == ord("["))
    total = np.count_nonzero(opens)
    if total <= lines + MOST_BRACKETS:  # each line opens one at least
        return False
    before = np.searchsorted(np.flatnonzero(opens), np.flatnonzero(letters == ord("\n")))
    return bool(np.diff(before, prepend=0, append=total).max() > MOST_BRACKETS)


def _is_plain(wanted: DataType) -> bool:
    if isinstance(wanted, ArrayOf):
        return _is_plain_inside(wanted.element)
    if isinstance(wanted, StructOf):
        return all(_is_plain_inside(field) for _, field in wanted.fields)
    return isinstance(wanted, DecimalOf) or wanted in (STRING, INT, LONG, DOUBLE, BOOLEAN, *_TEXTS)


def _is_plain_inside(wanted: DataType) -> bool:
    return wanted not in (DOUBLE, *_TEXTS) and _is_plain(wanted)


def _ambiguous(values: Any) -> bool:
    """Whether a number may have been an integer that a DOUBLE cannot hold, or -0, which Python reads as 0."""
    return bool(np.any(np.abs(values) >= MAX_EXACT) or np.any((values == 0) & np.signbit(values)))


def read_json_carefully(
    data: bytes, name: str, attributes: tuple[Attribute, ...], required: str | None, before: int = 0
) -> Checked:
    """The same rows read by Python's reader, line by line."""
    empty = attributes_schema(attributes).empty_table()
    parts, bad = [Checked(empty)], Rejected()
    parse_float = float_reader(attributes)
    rows: list[Any] = []
    places: list[tuple[str, str]] = []
    for number, raw in enumerate(data.split(b"\n"), before + 1):
        line, origin = raw.decode("utf-8", errors="surrogateescape").rstrip("\r"), f"{name}:{number}"
        if not line.strip():
            continue
        if is_broken(line):
            bad.add("the line is not UTF-8", readable(line), origin)
            continue
        try:
            value = json.loads(line, parse_float=parse_float)
        except (ValueError, RecursionError) as broken:
            bad.add(f"the line is not JSON: {_why(broken)}", line, origin)
            continue
        rows.append(value)
        places.append((line, origin))
        if len(rows) == ROWS_PER_BATCH:
            parts.append(check_mappings(attributes, required, rows, places.__getitem__))
            rows, places = [], []
    parts.append(check_mappings(attributes, required, rows, places.__getitem__))
    return join_in_file_order([*parts, Checked(empty, bad)])


def _read_array(data: bytes, name: str, attributes: tuple[Attribute, ...], required: str | None) -> Checked:
    """One array of objects. The line of a row is where it begins."""
    text = data.decode("utf-8", errors="surrogateescape")
    breaks = [match.start() for match in re.finditer("\n", text)]
    rows: list[Any] = []
    places: list[tuple[str, str]] = []
    bad = Rejected()
    for start, end, value, reason in _values(text, float_reader(attributes)):
        origin = f"{name}:{bisect_left(breaks, start) + 1}"
        raw = text[start:end]
        if is_broken(raw) or reason:
            bad.add(reason or "the row is not UTF-8", readable(raw), origin)
        else:
            rows.append(value)
            places.append((raw, origin))
    checked = check_mappings(attributes, required, rows, places.__getitem__)
    return join_in_file_order([checked, Checked(attributes_schema(attributes).empty_table(), bad)])


def float_reader(attributes: tuple[Attribute, ...]) -> Callable[[str], float]:
    """The reader of a JSON number with a point; it keeps the digits if an attribute may need them."""
    return NumberText if any("DECIMAL" in str(attribute.type) for attribute in attributes) else float


def _values(text: str, parse_float: Callable[[str], float]) -> Iterator[tuple[int, int, Any, str]]:
    """The values of an array: start, end, value, reason to reject it. After invalid JSON, the rest is one bad row."""
    decoder = json.JSONDecoder(parse_float=parse_float)
    at = _skip_blanks(text, text.index("[") + 1)
    more = text[at : at + 1] != "]"
    while more:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as broken:
            yield at, len(text), None, f"the array is not JSON from here on: {_why(broken)}"
            return
        yield at, end, value, ""
        at = _skip_blanks(text, end)
        if text[at : at + 1] not in (",", "]"):
            yield at, len(text), None, "the array is not JSON from here on: a comma or a closing bracket is missing"
            return
        more = text[at] == ","
        at = _skip_blanks(text, at + 1) if more else at
    at = _skip_blanks(text, at + 1)
    if at < len(text):
        yield at, len(text), None, "there is text after the array"


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _why(broken: Exception) -> str:
    return "it is nested too deeply" if isinstance(broken, RecursionError) else str(broken)
