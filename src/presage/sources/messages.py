"""Parser of messages, JSON or CSV, with their partitions and offsets.

Every message ends with a line feed. The values of an Arrow column are contiguous, so a batch is one text with a line
for each message, which Arrow parses at once without a copy. If that fails, because of a poison message for example,
only its block is parsed again, message by message.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from presage.model.catalog import Attribute
from presage.model.types import LONG, STRING
from presage.storage import PART, ROW, Checked
from presage.storage.columns import attributes_schema
from presage.storage.ingest import Rejected, check_mappings, check_table, join
from presage.storage.text_csv import check_fields, is_broken, read_fields, read_rows, readable, to_table
from presage.storage.text_json import float_reader, read_objects

BLOCK = 4_096  # messages that are parsed one by one if one of them is poison
LINE = "line"
MESSAGES = pa.schema([(PART, pa.string()), (ROW, pa.int64()), (LINE, pa.binary())])
LINE_FEED, BEGIN, END = b"\n{}"
Locate = Callable[[int], tuple[str, str]]


class Reader:
    """Parses messages with `attributes`, of which `required` must not be null. `columns`: the fields of a CSV message,
    in order; None: the messages are JSON. `nulls`: texts of fields that mean null."""

    def __init__(
        self,
        attributes: tuple[Attribute, ...],
        required: str | None,
        columns: list[str] | None = None,
        nulls: Sequence[str] = (),
    ) -> None:
        self._attributes = attributes
        self._required = required
        self._columns = columns
        self._nulls = nulls
        self._parse_float = float_reader(attributes)
        self._numbered = (*attributes, Attribute(ROW, LONG), Attribute(PART, STRING))

    def read(self, messages: pa.Table) -> Checked:
        """The rows of messages (`MESSAGES`), in their order; the table ends with `ROW` and `PART`."""
        parts = [Checked(attributes_schema(self._numbered).empty_table())]
        for batch in filter(len, messages.to_batches()):
            rows = pa.Table.from_batches([batch])
            whole = self._plainly(rows)
            if whole is not None:
                parts.append(whole)
                continue
            for start in range(0, rows.num_rows, BLOCK):
                block = rows.slice(start, BLOCK)
                parts.append(self._plainly(block) or self._carefully(block))
        return join(parts)

    def _plainly(self, messages: pa.Table) -> Checked | None:
        """All messages, of one chunk, at once; None if they must be parsed one by one."""
        values = messages[LINE].chunk(0)
        if values.null_count:
            return None
        try:
            values.cast(pa.string())  # fails if it is not UTF-8
        except pa.ArrowInvalid:
            return None
        text, ends = _text(values)
        letters = np.frombuffer(text, np.uint8)
        if np.count_nonzero(letters == LINE_FEED) != len(values):
            return None  # a message of several lines
        locate = self._locate(messages)
        if self._columns is None:
            lengths = np.diff(ends)
            if lengths.min() < len("{}\n") or not (
                (letters[ends[:-1]] == BEGIN).all() and (letters[ends[1:] - 2] == END).all()
            ):
                return None
            table = read_objects(text, len(values), int(lengths.max()), self._attributes)
            if table is None:
                return None
            checked = check_table(self._attributes, self._required, table, origin=lambda row: locate(row)[1])
        else:
            fields = read_fields(text.to_pybytes(), self._columns)
            if fields is None or fields.num_rows != len(values):
                return None
            checked = check_fields(fields, self._attributes, self._required, locate, self._nulls)
        if checked.rejected:
            return None
        table = checked.table.append_column(ROW, messages[ROW]).append_column(PART, messages[PART].cast(pa.string()))
        return Checked(table, checked.rejected, checked.ignored, locate)

    def _carefully(self, messages: pa.Table) -> Checked:
        """The same messages one by one."""
        locate = self._locate(messages)
        rows: list[Any] = []
        places: list[tuple[str, str]] = []
        bad = Rejected()
        for i, (part, number, line) in enumerate(zip(*(c.to_pylist() for c in messages.columns), strict=True)):
            raw, origin = locate(i)
            try:
                row = self._row(None if line is None else line[:-1])
            except ValueError as broken:
                bad.add(str(broken), raw, origin)
                continue
            rows.append({**row, ROW: number, PART: part} if isinstance(row, dict) else row)
            places.append((raw, origin))
        if self._columns is None:
            checked = check_mappings(self._numbered, self._required, rows, places.__getitem__)
        else:
            names = [*self._columns, ROW, PART]
            table = to_table(names, [[None if f is None else str(f) for f in row.values()] for row in rows])
            checked = check_fields(table, self._numbered, self._required, places.__getitem__, self._nulls)
        whole = join([checked, Checked(checked.table.slice(0, 0), bad)])
        origins = [origin.rpartition(":") for origin in whole.rejected.origins]
        in_order = sorted(range(len(origins)), key=lambda i: (origins[i][0], int(origins[i][2])))
        whole.rejected = whole.rejected.take(in_order)
        return whole

    def _row(self, value: bytes | None) -> Any:
        """The row of a message; `ValueError` if it is none."""
        if value is None:
            raise ValueError("the message has no value")
        text = value.decode("utf-8", errors="surrogateescape")
        if is_broken(text):
            raise ValueError("the message is not UTF-8")
        if not text.strip():
            raise ValueError("the message is empty")
        if self._columns is None:
            try:
                return json.loads(text, parse_float=self._parse_float)
            except RecursionError:
                raise ValueError("the message is not JSON: it is nested too deeply") from None
            except ValueError as broken:
                raise ValueError(f"the message is not JSON: {broken}") from None
        lines = read_rows(text)
        if len(lines) != 1:
            raise ValueError(f"the message has {len(lines)} lines; one row was expected")
        if len(lines[0]) != len(self._columns):
            expected = ", ".join(self._columns)
            raise ValueError(f"the message has {len(lines[0])} fields, {len(self._columns)} were expected: {expected}")
        return dict(zip(self._columns, (field or None for field in lines[0]), strict=True))

    @staticmethod
    def _locate(messages: pa.Table) -> Locate:
        def locate(row: int) -> tuple[str, str]:
            part, number, line = (column[row].as_py() for column in messages.columns)
            return readable((line or b"")[:-1].decode("utf-8", "surrogateescape")), f"{part}:{number}"

        return locate


def _text(values: pa.Array) -> tuple[pa.Buffer, npt.NDArray[np.int64]]:
    """The bytes of all values without a copy, and the end of each value, after a zero."""
    wide = pa.types.is_large_binary(values.type)
    _, places, data = values.buffers()
    ends = np.frombuffer(places, np.int64 if wide else np.int32)[values.offset : values.offset + len(values) + 1]
    first, last = int(ends[0]), int(ends[-1])
    return data.slice(first, last - first), ends.astype(np.int64) - first
