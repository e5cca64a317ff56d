"""Reader of event files in pieces of bounded size, from a position on.

The boundaries of the pieces depend only on the file, so that neither a restart nor the load of the machine changes
which rows arrive together.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from presage.errors import PresageError
from presage.model.catalog import EventType
from presage.model.paths import ANYWHERE, Roots
from presage.storage import ROW, Arrival, Checked, Taken
from presage.storage.columns import attributes_schema
from presage.storage.data_files import open_data
from presage.storage.delta_folder import DeltaFile
from presage.storage.ingest import Rejected, check_table
from presage.storage.text_csv import BOM, read_csv_rows, read_header, read_nulls, readable, whole_rows
from presage.storage.text_json import is_array, read_json, read_json_lines

PIECE_BYTES = 16 << 20  # of text
PIECE_ROWS = 250_000  # of Parquet
HEADER_BYTES = 1 << 20  # limit of the first line of a CSV file
RECORD_BYTES = 256 << 20  # limit of a row, or of an array of JSON
DECODED_ROWS = 65_536
SHOWN_BYTES = 1_000  # of a file that cannot be read
CSV, JSON, PARQUET = "csv", "json", "parquet"
SUFFIXES = {".csv": CSV, ".json": JSON, ".jsonl": JSON, ".ndjson": JSON, ".parquet": PARQUET}
# The first bytes of other formats: reject the whole file, not each line.
SIGNATURES = {
    b"\x1f\x8b": "it is compressed (gzip); unpack it first",
    b"PK\x03\x04": "it is an archive (zip); unpack it first",
    b"\x28\xb5\x2f\xfd": "it is compressed (zstd); unpack it first",
    b"\xff\xfe": "it is UTF-16; save it as UTF-8",
    b"\xfe\xff": "it is UTF-16; save it as UTF-8",
    b"PAR1": "it is Parquet; let its name end in .parquet, or say format = 'parquet'",
}


@dataclass(frozen=True)
class FilePosition:
    """The position of the next row in a file: a byte of text, or a row of Parquet. Plain values, as in the cursor."""

    file: str
    size: int
    modified: int  # nanoseconds
    at: int = 0
    lines: int = 0  # before the position
    rows: int = 0  # before the position, including rejected ones
    rejected: int = 0
    names: list[str] | None = None  # the columns of a CSV file

    def taken(self, note: str = "") -> Taken:
        return Taken(self.file, self.size, self.modified // 1_000, self.rows - self.rejected, self.rejected, note)


@dataclass(frozen=True)
class Piece:
    """Rows of a file that arrive together. `done`: the file is finished; `note`: why, if before its end."""

    arrival: Arrival
    place: FilePosition
    done: bool
    note: str = ""


class _Unreadable(Exception):  # noqa: N818 (rejects a file, not the source)
    """Why the rest of a file can never be read."""


class FileReader:
    """Reads the files of a stream. Its only state is the open Parquet file."""

    def __init__(self, event_type: EventType, roots: Roots = ANYWHERE) -> None:
        self._roots = roots
        self._nulls = read_nulls(event_type.options.get("nulls"))
        self._attributes = event_type.attributes
        self._required = event_type.event_time
        self._open: tuple[FilePosition, _ParquetRows] | None = None

    def read(self, path: Path, kind: str, place: FilePosition, of: DeltaFile | None = None) -> Piece:
        """The next piece; `OSError` if the file cannot be opened now. `of`: the entry of a file of a Delta table."""
        try:
            status = os.stat(path)
            if (status.st_size, status.st_mtime_ns) != (place.size, place.modified):
                if not place.at:
                    raise FileNotFoundError(f"'{place.file}' is another by now")
                raise _Unreadable("it was changed while it was read; the rest of it is left out")
            if place.size == 0:
                return Piece(Arrival(place.file, self._with_rows(self._nothing(), place)), place, True)
            return self._parquet(path, place, of) if kind == PARQUET else self._text(path, kind, place)
        except FileNotFoundError:
            # A missing folder may come back with all its files.
            if not place.at or not path.parent.exists():
                raise
            return self._given_up(place, "it vanished while it was read", b"")
        except (PresageError, pa.ArrowException, OSError, UnicodeDecodeError, _Unreadable) as failure:
            # A failure of the system has a number and may pass; Arrow raises OSError without one for a damaged file.
            if isinstance(failure, OSError) and failure.errno is not None:
                raise
            why = failure.message if isinstance(failure, PresageError) else str(failure).splitlines()[0]
            shown = b"" if kind == PARQUET else self._shown(path, place.at)
            return self._given_up(place, why, shown)

    def _text(self, path: Path, kind: str, place: FilePosition) -> Piece:
        if place.at == 0 or (kind == CSV and place.names is None):
            head = self._bytes(path, place.at, min(HEADER_BYTES, place.size - place.at))
            if place.at == 0 and kind == JSON and is_array(head.removeprefix(BOM)):
                return self._array(path, place)
            place = _begun(head, kind, place)
        most, size = PIECE_BYTES, 0
        while size == 0 and place.at < place.size:
            data = self._bytes(path, place.at, min(most, place.size - place.at))
            if place.at + len(data) >= place.size:
                size = len(data)
            else:
                size = whole_rows(data) if kind == CSV else data.rfind(b"\n") + 1
            if size == 0 and most >= RECORD_BYTES:
                raise _Unreadable(f"a record is longer than {RECORD_BYTES >> 20} MB; the rest of the file is left out")
            most *= 2
        data = data[:size] if size else b""
        arguments = self._attributes, self._required
        if kind == JSON:
            checked = read_json_lines(data, place.file, *arguments, place.lines)
        else:
            checked = read_csv_rows(data, place.file, place.names or [], *arguments, place.lines, self._nulls)
        lines = data.count(b"\n") + (data.replace(b"\r\n", b"").count(b"\r") if kind == CSV else 0)
        return self._piece(checked, place, place.at + size, lines)

    def _array(self, path: Path, place: FilePosition) -> Piece:
        """An array is read as a whole: its rows can only be found from its start."""
        if place.size > RECORD_BYTES:
            raise _Unreadable(f"it is one array of more than {RECORD_BYTES >> 20} MB; write one object on each line")
        data = self._bytes(path, 0, place.size)
        return self._piece(read_json(data, place.file, self._attributes, self._required), place, place.size, 0)

    def _parquet(self, path: Path, place: FilePosition, of: DeltaFile | None) -> Piece:
        opened_at, reader = self._open or (None, None)
        if reader is None or opened_at != place:
            self.close()
            reader = _ParquetRows(path, place.at, self._roots)
        table = reader.read(PIECE_ROWS)
        rows, numbers = (of or DeltaFile(place.file)).shaped(table, place.at)
        origin = lambda row: f"{place.file}:{numbers[row] + 1}"  # noqa: E731
        checked = check_table(self._attributes, self._required, rows, f"the file '{place.file}'", origin)
        piece = self._piece(checked, place, place.at + table.num_rows, 0, reader.rows)
        self._open = (piece.place, reader)
        if piece.done:
            self.close()
        return piece

    def close(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def _piece(self, checked: Checked, place: FilePosition, at: int, lines: int, end: int | None = None) -> Piece:
        records = checked.table.num_rows + len(checked.rejected)
        rows, rejected = place.rows + records, place.rejected + len(checked.rejected)
        after = replace(place, at=at, lines=place.lines + lines, rows=rows, rejected=rejected)
        done = at >= (place.size if end is None else end)
        return Piece(Arrival(place.file, self._with_rows(checked, place)), after, done)

    def _given_up(self, place: FilePosition, why: str, shown: bytes) -> Piece:
        """The rest of a file as one rejected record."""
        self.close()
        by_row = f" from row {place.rows + 1} on" if place.rows else ""
        rest = f" from line {place.lines + 1} on" if place.lines else by_row
        bad = Rejected()
        bad.add(f"the file cannot be read{rest}: {why}", readable(shown.decode("utf-8", "surrogateescape")), place.file)
        checked = Checked(self._nothing().table, bad)
        after = replace(place, rows=place.rows + 1, rejected=place.rejected + 1)
        return Piece(Arrival(place.file, self._with_rows(checked, place)), after, True, why)

    def _bytes(self, path: Path, at: int, count: int) -> bytes:
        with self._roots.opened(path) as file:
            file.seek(at)
            return file.read(count)

    def _shown(self, path: Path, at: int) -> bytes:
        """The beginning of an unreadable file, for the user; nothing if access is denied."""
        try:
            return self._bytes(path, at, SHOWN_BYTES)
        except (PresageError, OSError):
            return b""

    def _nothing(self) -> Checked:
        return Checked(attributes_schema(self._attributes).empty_table())

    def _with_rows(self, checked: Checked, place: FilePosition) -> Checked:
        """The rows with their numbers in the file; rejected records have numbers too."""
        count, locate = checked.table.num_rows, checked.locate
        numbers = place.rows + 1 + np.arange(count)
        if checked.rejected and count:
            assert locate is not None
            lines = np.array([_line(locate(row)[1]) for row in range(count)])
            numbers += np.searchsorted(np.sort([_line(origin) for origin in checked.rejected.origins]), lines)

        def origin(row: int) -> tuple[str, str]:
            raw, where = locate(row) if locate is not None else ("", "")
            return raw, where if where.startswith(place.file) else f"{place.file}, row {numbers[row]}"

        table = checked.table.append_column(ROW, pa.array(numbers, pa.int64()))
        return Checked(table, checked.rejected, checked.ignored, origin)


class _ParquetRows:
    """The rows of a Parquet file from a row on, decoded incrementally."""

    def __init__(self, path: Path, at: int, roots: Roots) -> None:
        self._open = ExitStack()
        opened = self._open.enter_context(roots.opened(path))
        with self._open.pop_all() as failing:  # closes the file if the next line fails
            # Spark's old INT96 times hold years that nanoseconds do not.
            self._file = open_data(opened, coerce_int96_timestamp_unit="us")
            self._open = failing.pop_all()
        self.rows: int = self._file.metadata.num_rows
        sizes = [self._file.metadata.row_group(i).num_rows for i in range(self._file.num_row_groups)]
        ends = np.cumsum(sizes)
        first = int(np.searchsorted(ends, at, side="right"))
        groups = list(range(first, len(sizes)))
        self._skip = at - (int(ends[first - 1]) if first else 0)
        self._batches: Iterator[pa.RecordBatch] = self._file.iter_batches(DECODED_ROWS, groups)
        self._rest = self._file.schema_arrow.empty_table()

    def read(self, count: int) -> pa.Table:
        parts, have = [self._rest], self._rest.num_rows
        while have < count and (batch := next(self._batches, None)) is not None:
            part = pa.Table.from_batches([batch]).slice(self._skip)
            self._skip = max(0, self._skip - batch.num_rows)
            parts.append(part)
            have += part.num_rows
        table = pa.concat_tables(parts)
        # The length of a slice of a table without columns is not limited to its rows.
        count = min(count, table.num_rows)
        self._rest = table.slice(count)
        return table.slice(0, count)

    def close(self) -> None:
        self._file.close()
        self._open.close()


def _begun(head: bytes, kind: str, place: FilePosition) -> FilePosition:
    """The position of the first row, after a byte order mark or the header."""
    for signature, why in SIGNATURES.items():
        if place.at == 0 and head.startswith(signature):
            raise _Unreadable(why)
    if kind == JSON:
        return replace(place, at=len(BOM) if head.startswith(BOM) else 0)
    header = read_header(head, place.file)
    if header is None:
        return replace(place, at=place.at + len(head), lines=place.lines + head.count(b"\n"))
    if header.size >= len(head) and place.at + len(head) < place.size:
        raise _Unreadable("its first line does not end")
    return replace(place, at=place.at + header.size, lines=place.lines + header.lines, names=header.names)


def _line(origin: str) -> int:
    return int(origin.rpartition(":")[2])
