"""The formats of results on stdout: a table, JSON lines, or CSV."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, TextIO

import pyarrow as pa

from presage.model.json_values import plain_column

ROWS_AT_ONCE = 10_000


def write_json(table: pa.Table, out: TextIO | None = None) -> None:
    """One JSON object per line."""
    for names, rows in _pieces(table):
        lines = [json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n" for row in rows]
        (out or sys.stdout).write("".join(lines))


def write_csv(table: pa.Table, header: bool = True, out: TextIO | None = None) -> None:
    """A header and one line per row. A null is an empty field, an empty text is a quoted one."""
    out = out or sys.stdout
    if header:
        out.write(",".join(_field(name) for name in table.column_names) + "\n")
    for _, rows in _pieces(table):
        out.write("".join(",".join(map(_field, row)) + "\n" for row in rows))


def _pieces(table: pa.Table) -> Iterator[tuple[list[str], Iterator[tuple[Any, ...]]]]:
    """The table in pieces that fit in memory as Python values."""
    for start in range(0, table.num_rows, ROWS_AT_ONCE):
        piece = table.slice(start, ROWS_AT_ONCE)
        yield table.column_names, zip(*(plain_column(c) for c in piece.columns), strict=True)


def _field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if text == "" or any(c in text for c in ',"\n\r') or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text
