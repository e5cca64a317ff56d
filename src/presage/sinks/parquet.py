"""`sink = 'parquet'`: writes files into a folder, every row exactly once.

A file is written under a hidden name and flushed; the sink's position announces it; then it is renamed. The rename is
the delivery, and there is one only: the hidden name is unique to the batch and the opening of the home that announced
it, and nothing writes an announced file again. So the batch was delivered if and only if the hidden file is gone, even
if a reader has already removed the renamed file. That holds after a crash, and also while a process that was paused
finishes the batch that it had announced: it and its successor rename the same file, and one of them finds it gone. A
hidden file that was not announced is never renamed: the position refuses announcements of a process that was overtaken.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from presage.model.catalog import Sink
from presage.model.time import parse_duration
from presage.sinks.sink import Batch, Target
from presage.storage.home import Home

ROWS = 100_000
EVERY = "10 sec"
LONGEST_NAME = 100  # characters of a sink's name in the names of its files
_GENERATION = re.compile(r"\.(\d{14,})\.tmp")


class ParquetTarget(Target):
    """`resolve` returns the real path of one in a statement, or refuses it."""

    def __init__(self, sink: Sink, home: Home, resolve: Callable[[str], Path]) -> None:
        self.most = int(sink.options.get("rows", ROWS))
        self.every = (parse_duration(sink.options.get("every", EVERY)) or 0) / 1e6
        self._path = sink.options["path"]
        self._resolve = resolve
        self._store = home.store
        # Sinks, of one home or several, may share a folder: names must be unique.
        token = hashlib.sha256(f"{home.id}/{sink.version}".encode()).hexdigest()[:8]
        self._prefix = f"{_plain(sink.name)}-{token}-"
        self._prepared: Path | None = None  # the hidden file that was written last
        self._swept = False

    def prepare(self, batch: Batch) -> None:
        folder = self._resolve(self._path)
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            self._store.flush(folder.parent)
        self._sweep(folder, batch.by)
        hidden = self._hidden(folder, batch.number, batch.first, batch.end, batch.by)
        try:
            with open(hidden, "wb") as file:
                self._write(file, batch)
        except BaseException:
            hidden.unlink(missing_ok=True)  # the disk may be full
            raise
        self._store.flush(folder)
        self._prepared = hidden

    def _write(self, file: BinaryIO, batch: Batch) -> None:
        pq.write_table(batch.with_ids(), file)
        file.flush()
        if self._store.durable:
            os.fsync(file.fileno())

    def deliver(self, batch: Batch) -> int:
        folder = self._resolve(self._path)
        hidden = self._hidden(folder, batch.number, batch.first, batch.end, batch.by)
        try:
            if hidden != self._prepared:
                self._mend(hidden, batch)
            os.replace(hidden, self._final(folder, batch.number, batch.first, batch.end))
        except FileNotFoundError:
            self._check_there(folder)  # then it was renamed, by the other process or before a failure
        self._store.flush(folder)
        return int(batch.rows.num_rows)

    def was_delivered(self, number: int, first: int, end: int, by: int) -> bool:
        """An announced batch was prepared: if its hidden file is gone, it was renamed."""
        folder = self._resolve(self._path)
        self._check_there(folder)
        if self._hidden(folder, number, first, end, by).exists():
            return False
        self._store.flush(folder)  # who renamed it may not have come to that
        return True

    def _check_there(self, folder: Path) -> None:
        """A missing folder proves nothing: its disk may not be mounted."""
        if not folder.is_dir():
            why = f"the folder '{folder}' is not there, and a file was on its way to it: bring it back"
            raise FileNotFoundError(why)

    def _mend(self, hidden: Path, batch: Batch) -> None:
        """Write an announced file again, if it is not whole: earlier versions emptied it when the disk was full."""
        try:
            if pq.read_metadata(hidden).num_rows == batch.rows.num_rows:
                return
        except pa.ArrowInvalid:
            pass
        # Never a new file: it may just be renamed by another process.
        with os.fdopen(os.open(hidden, os.O_RDWR), "r+b") as file:
            file.truncate(0)
            self._write(file, batch)

    def _sweep(self, folder: Path, generation: int) -> None:
        """Remove hidden files of batches that were never announced, because of a crash; not those of a process that has
        taken over the home meanwhile."""
        if not self._swept:
            for path in folder.glob(f".{self._prefix}*.tmp"):
                made = _GENERATION.search(path.name)
                if made is None or int(made[1]) <= generation:
                    path.unlink(missing_ok=True)
            self._swept = True

    def _final(self, folder: Path, number: int, first: int, end: int) -> Path:
        return folder / f"{self._prefix}{number:06d}-{first:012d}-{end - 1:012d}.parquet"

    def _hidden(self, folder: Path, number: int, first: int, end: int, by: int) -> Path:
        name = self._final(folder, number, first, end).name
        return folder / (f".{name}.{by:014d}.tmp" if by else f".{name}.tmp")  # earlier versions had no openings


def _plain(name: str) -> str:
    """A name as part of a file name, without patterns of a shell or Spark."""
    return quote(name, safe="").replace("%", "~")[:LONGEST_NAME]
