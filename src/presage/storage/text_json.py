"""Bytes of a JSON file in, checked rows out: one object per line, or one array of objects."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from presage.model.arrow import to_arrow
from presage.model.catalog import Attribute
from presage.model.types import BOOLEAN, DOUBLE, INT, LONG, STRING, TIMESTAMP, ArrayOf, DataType, StructOf
from presage.storage.column_coercion import MAX_EXACT
from presage.storage.columns import attributes_schema
from presage.storage.ingest import Checked, Rejected, check_mappings, check_table, join
from presage.storage.text_csv import BOM, in_file_order, is_broken, readable

ROWS_PER_BATCH = 65_536
BLOCK_BYTES = 4 << 20  # that one thread of Arrow's reader takes at a time
# Brackets that a line may open for Arrow's reader: it goes down into each of them, until the stack is full and the
# process is gone. Python's reader stops in time.
MOST_BRACKETS = 500


def read_json(data: bytes, name: str, attributes: tuple[Attribute, ...], required: str | None) -> Checked:
    data = data.removeprefix(BOM)
    if is_array(data):
        return _read_array(data, name, attributes, required)
    return read_json_lines(data, name, attributes, required)


def is_array(data: bytes) -> bool:
    """Whether a file that begins so holds one array, and not an object on every line."""
    return data.lstrip()[:1] == b"["


def read_json_lines(
    data: bytes, name: str, attributes: tuple[Attribute, ...], required: str | None, before: int = 0
) -> Checked:
    """Whole lines, each with an object; so many lines of the file come `before` them."""
    plain = _read_plain(data, attributes)
    if plain is not None:
        checked = check_table(attributes, required, plain)
        if not checked.rejected:
            return checked
        # Only the careful reader knows the lines, for what is rejected.
    return read_json_carefully(data, name, attributes, required, before)


def _read_plain(data: bytes, attributes: tuple[Attribute, ...]) -> pa.Table | None:
    """The whole file by Arrow's reader, if every line is one object and nothing in it could be taken in two ways."""
    if not data.strip():
        return None
    # Each line begins and ends as an object does; with as many rows as lines, each line is exactly one.
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
    """UTF-8 of so many lines, each of which begins and ends as an object does; None if one must be looked at closer."""
    if not all(_is_plain(a.type) for a in attributes) or (longest > MOST_BRACKETS and _may_be_deep(body, lines)):
        return None
    # Times are read as text: which texts are times is decided in one place, and it is not Arrow's reader.
    schema = pa.schema([(a.name, pa.string() if a.type == TIMESTAMP else to_arrow(a.type)) for a in attributes])
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
    """Whether a line opens so many brackets, some of them perhaps in a text, that it could be nested deeply."""
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
    return wanted in (STRING, INT, LONG, DOUBLE, BOOLEAN, TIMESTAMP)


def _is_plain_inside(wanted: DataType) -> bool:
    return wanted not in (DOUBLE, TIMESTAMP) and _is_plain(wanted)


def _ambiguous(values: Any) -> bool:
    """Whether a number may have been a whole one that a DOUBLE does not hold, or -0, which Python reads as 0."""
    return bool(np.any(np.abs(values) >= MAX_EXACT) or np.any((values == 0) & np.signbit(values)))


def read_json_carefully(
    data: bytes, name: str, attributes: tuple[Attribute, ...], required: str | None, before: int = 0
) -> Checked:
    """The same rows by way of Python's reader, line by line."""
    empty = attributes_schema(attributes).empty_table()
    parts, bad = [Checked(empty)], Rejected()
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
            value = json.loads(line)
        except (ValueError, RecursionError) as broken:
            bad.add(f"the line is not JSON: {_why(broken)}", line, origin)
            continue
        rows.append(value)
        places.append((line, origin))
        if len(rows) == ROWS_PER_BATCH:
            parts.append(check_mappings(attributes, required, rows, places.__getitem__))
            rows, places = [], []
    parts.append(check_mappings(attributes, required, rows, places.__getitem__))
    checked = join([*parts, Checked(empty, bad)])
    checked.rejected = in_file_order(checked.rejected)
    return checked


def _read_array(data: bytes, name: str, attributes: tuple[Attribute, ...], required: str | None) -> Checked:
    """One array of objects; a row's line is the one on which it begins."""
    text = data.decode("utf-8", errors="surrogateescape")
    breaks = [match.start() for match in re.finditer("\n", text)]
    rows: list[Any] = []
    places: list[tuple[str, str]] = []
    bad = Rejected()
    for start, end, value, reason in _values(text):
        origin = f"{name}:{bisect_left(breaks, start) + 1}"
        raw = text[start:end]
        if is_broken(raw) or reason:
            bad.add(reason or "the row is not UTF-8", readable(raw), origin)
        else:
            rows.append(value)
            places.append((raw, origin))
    checked = check_mappings(attributes, required, rows, places.__getitem__)
    whole = join([checked, Checked(attributes_schema(attributes).empty_table(), bad)])
    whole.rejected = in_file_order(whole.rejected)
    return whole


def _values(text: str) -> Iterator[tuple[int, int, Any, str]]:
    """The values of an array with their places; where it stops being JSON, all the rest is one bad row."""
    decoder = json.JSONDecoder()
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
