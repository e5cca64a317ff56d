"""`sink = 'parquet'`: writes files into a folder, every row exactly once.

A file is written under a hidden name and flushed; the sink's position announces it; then it is renamed. After a crash,
the batch was delivered if and only if the hidden file is gone, even if a reader has already removed the renamed file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pyarrow.parquet as pq

from presage.model.catalog import Sink
from presage.model.time import parse_duration
from presage.sinks.sink import Batch, Target
from presage.storage.home import Home

ROWS = 100_000
EVERY = "10 sec"
LONGEST_NAME = 100  # characters of a sink's name in the names of its files


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
        self._named: Path | None = None  # the file that was renamed last
        self._swept = False

    def prepare(self, batch: Batch) -> None:
        folder = self._resolve(self._path)
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            self._store.flush(folder.parent)
        hidden = self._hidden(folder, batch.number, batch.first, batch.end)
        if self._named == self._final(folder, batch.number, batch.first, batch.end):
            return  # delivered, and a later step failed
        self._sweep(folder, hidden)
        with open(hidden, "wb") as file:
            try:
                pq.write_table(batch.with_ids(), file)
                file.flush()
            except BaseException:
                # Free the space, but keep the file: it shows that the rows are not delivered.
                file.truncate(0)
                raise
            if self._store.durable:
                os.fsync(file.fileno())
        self._store.flush(folder)

    def deliver(self, batch: Batch) -> int:
        folder = self._resolve(self._path)
        final = self._final(folder, batch.number, batch.first, batch.end)
        if self._named != final:
            os.replace(self._hidden(folder, batch.number, batch.first, batch.end), final)
            self._named = final
        self._store.flush(folder)
        return int(batch.rows.num_rows)

    def was_delivered(self, number: int, first: int, end: int) -> bool:
        """An announced batch was prepared: if its hidden file is gone, it was renamed. A missing folder proves nothing:
        its disk may not be mounted."""
        folder = self._resolve(self._path)
        if not folder.is_dir():
            why = f"the folder '{folder}' is not there, and a file was on its way to it: bring it back"
            raise FileNotFoundError(why)
        return not self._hidden(folder, number, first, end).exists()

    def _sweep(self, folder: Path, keep: Path) -> None:
        """Remove hidden files of batches that were never announced, because of a crash."""
        if not self._swept:
            for path in folder.glob(f".{self._prefix}*.parquet.tmp"):
                if path != keep:
                    path.unlink()
            self._swept = True

    def _final(self, folder: Path, number: int, first: int, end: int) -> Path:
        return folder / f"{self._prefix}{number:06d}-{first:012d}-{end - 1:012d}.parquet"

    def _hidden(self, folder: Path, number: int, first: int, end: int) -> Path:
        return folder / f".{self._final(folder, number, first, end).name}.tmp"


def _plain(name: str) -> str:
    """A name as part of a file name, without patterns of a shell or Spark."""
    return quote(name, safe="").replace("%", "~")[:LONGEST_NAME]
