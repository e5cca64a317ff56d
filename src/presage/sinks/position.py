"""The durable position of a sink, in a file of the home; and the rows that it has skipped.

The file is replaced twice for each batch: first `end` announces which rows are about to be delivered, then `row` says
that they were. No other writer of the home waits for it.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from presage.model.catalog import Sink
from presage.model.time import wall_clock
from presage.storage.disk import corrupt
from presage.storage.home import Home
from presage.storage.sealed_json import seal, unseal

FOLDER = "sinks"
SKIPPED_SCHEMA = pa.schema([("id", pa.string()), ("reason", pa.string()), ("at", pa.timestamp("us", "UTC"))])
MOST_REASON = 1_000  # characters


@dataclass(frozen=True)
class SinkPosition:
    """The next row is row `row` of statement `number`, in record `record` of the log or a later one. If `end` is set,
    the rows before it may already be delivered."""

    number: int
    row: int
    record: int = 1
    end: int | None = None
    delivered: int = 0
    skipped: int = 0


class PositionFile:
    """The file with the position of one sink. A sink that is created again under the same name has another file."""

    def __init__(self, home: Home, sink: Sink) -> None:
        self._home = home
        self._sink = sink
        self._path = home.path / FOLDER / f"{sink.version:014d}.json"
        self._skipped = self._path.with_suffix(".skipped")

    def read(self) -> SinkPosition:
        """The position; for a sink that has not begun, the start from its declaration."""
        number, row = self._sink.begin
        try:
            return SinkPosition(**unseal(self._path.read_bytes()))
        except FileNotFoundError:
            return SinkPosition(number, row)
        except (OSError, ValueError, TypeError) as broken:
            fix = "restore the file from a copy of the home, or drop the sink and create it again"
            raise corrupt(f"the position of sink '{self._sink.name}'", self._path, broken, fix) from broken

    def write(self, position: SinkPosition) -> None:
        self._folder()
        self._home.disk.write_atomically(self._path, seal(asdict(position)))

    def skip(self, row: str, reason: str) -> None:
        """Store which row is skipped, and why. After a crash it may be stored twice."""
        self._folder()
        entry = {"id": row, "reason": reason[:MOST_REASON], "at": wall_clock()}
        with open(self._skipped, "ab") as file:
            if file.tell() and not self._ends_whole():
                file.write(b"\n")  # a crash cut the last entry: its row is processed again
            file.write(json.dumps(entry).encode() + b"\n")
            file.flush()
            if self._home.disk.durable:
                os.fsync(file.fileno())

    def skipped(self) -> pa.Table:
        """The skipped rows, each once, in order."""
        entries: dict[str, dict[str, Any]] = {}
        lines = self._skipped.read_bytes().split(b"\n") if self._skipped.exists() else []
        for line in lines:
            entry = _entry(line)
            if entry is not None:
                entries.setdefault(entry["id"], entry)
        # Arrow converts integers to timestamps as microseconds.
        return pa.Table.from_pylist(list(entries.values()), schema=SKIPPED_SCHEMA)

    def _ends_whole(self) -> bool:
        with open(self._skipped, "rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"

    def _folder(self) -> None:
        if not self._path.parent.exists():
            self._path.parent.mkdir()
            self._home.disk.sync_folder(self._home.path)


def clear_positions(home: Home, known: set[int]) -> None:
    """Remove the files of dropped sinks. `known`: versions of the declared ones."""
    folder = home.path / FOLDER
    for path in list(folder.iterdir()) if folder.is_dir() else []:
        version = path.name.removeprefix(".").split(".")[0]
        if not version.isdigit() or int(version) not in known:
            path.unlink()


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None  # cut by a crash, or the end of the file
    return entry if isinstance(entry, dict) else None
