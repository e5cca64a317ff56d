"""How far a sink is in, a durable file of the home out, and back; and the rows that it has left out.

The file is replaced as a whole, twice for each batch: `end` says which rows are about to go, then `row` that they have
gone. It is the sink's own: no other writer of the home waits for it.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from presage.errors import error
from presage.model.catalog import Sink
from presage.storage.home import Home
from presage.storage.sealed_json import seal, unseal

FOLDER = "sinks"
SKIPPED_SCHEMA = pa.schema([("id", pa.string()), ("reason", pa.string()), ("at", pa.timestamp("us", "UTC"))])
MOST_REASON = 1_000  # characters


@dataclass(frozen=True)
class SinkPosition:
    """The next row is row `row` of statement `number`; no record of the log before `record` holds it. If `end` is set,
    the rows before it may have gone already."""

    number: int
    row: int
    record: int = 1
    end: int | None = None
    delivered: int = 0
    skipped: int = 0


class PositionFile:
    """Where the place of one sink is kept. A sink that is declared anew under the same name has another file."""

    def __init__(self, home: Home, sink: Sink) -> None:
        self._home = home
        self._sink = sink
        self._path = home.path / FOLDER / f"{sink.version:014d}.json"
        self._skipped = self._path.with_suffix(".skipped")

    def read(self) -> SinkPosition:
        """The place; of a sink that has not begun, where its declaration says."""
        number, row = self._sink.begin
        try:
            return SinkPosition(**unseal(self._path.read_bytes()))
        except FileNotFoundError:
            return SinkPosition(number, row)
        except (OSError, ValueError, TypeError) as broken:
            fix = "restore the file from a copy of the home, or drop the sink and create it again"
            what = f"the place of sink '{self._sink.name}'"
            raise error("HOME_CORRUPT", what=what, path=self._path, why=str(broken), fix=fix) from broken

    def write(self, place: SinkPosition) -> None:
        self._folder()
        self._home.disk.write_atomically(self._path, seal(asdict(place)))

    def skip(self, row: str, reason: str) -> None:
        """Keep which row is left out, and why. A crash may keep it twice."""
        self._folder()
        entry = {"id": row, "reason": reason[:MOST_REASON], "at": time.time_ns() // 1_000}
        with open(self._skipped, "ab") as file:
            if file.tell() and not self._ends_whole():
                file.write(b"\n")  # the last entry was cut by a crash, and its row comes again
            file.write(json.dumps(entry).encode() + b"\n")
            file.flush()
            if self._home.disk.durable:
                os.fsync(file.fileno())

    def skipped(self) -> pa.Table:
        """The rows that were left out, each once, in order."""
        found: dict[str, dict[str, Any]] = {}
        lines = self._skipped.read_bytes().split(b"\n") if self._skipped.exists() else []
        for line in lines:
            entry = _entry(line)
            if entry is not None:
                found.setdefault(entry["id"], entry)
        columns = [pa.array([entry[f.name] for entry in found.values()], _stored(f.type)) for f in SKIPPED_SCHEMA]
        return pa.table([c.cast(f.type) for c, f in zip(columns, SKIPPED_SCHEMA, strict=True)], schema=SKIPPED_SCHEMA)

    def _ends_whole(self) -> bool:
        with open(self._skipped, "rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"

    def _folder(self) -> None:
        if not self._path.parent.exists():
            self._path.parent.mkdir()
            self._home.disk.sync_folder(self._home.path)


def clear_positions(home: Home, known: set[int]) -> None:
    """Remove what is kept of sinks that are not declared any more."""
    folder = home.path / FOLDER
    for path in list(folder.iterdir()) if folder.is_dir() else []:
        version = path.name.removeprefix(".").split(".")[0]
        if not version.isdigit() or int(version) not in known:
            path.unlink()


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None  # cut by a crash, or the end of the file
    return found if isinstance(found, dict) else None


def _stored(wanted: pa.DataType) -> pa.DataType:
    return pa.int64() if pa.types.is_timestamp(wanted) else wanted
