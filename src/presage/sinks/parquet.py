"""`sink = 'parquet'`: rows in, files of a folder out, every row in one file and in one only.

A file is written whole under a hidden name and flushed; the sink notes that it is about to go; then it gets its name.
After a crash the hidden name tells what happened: if it is there the file has not gone, and if not, it has, even if
somebody has taken the file away since.
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
from presage.sinks.sink import Batch
from presage.storage.home import Home

ROWS = 100_000
EVERY = "10 sec"
LONGEST_NAME = 100  # characters of a sink's name in the names of its files


class ParquetTarget:
    """`resolve` gives the real path of one that a statement names, or refuses it."""

    why = ""

    def __init__(self, sink: Sink, home: Home, resolve: Callable[[str], Path]) -> None:
        self.most = int(sink.options.get("rows", ROWS))
        self.every = (parse_duration(sink.options.get("every", EVERY)) or 0) / 1e6
        self._path = sink.options["path"]
        self._resolve = resolve
        self._disk = home.disk
        # Two sinks, of one home or of two, may share a folder: no name is ever given twice.
        token = hashlib.sha256(f"{home.id}/{sink.version}".encode()).hexdigest()[:8]
        self._prefix = f"{_plain(sink.name)}-{token}-"
        self._named: Path | None = None  # the file that got its name last
        self._swept = False

    def prepare(self, batch: Batch) -> None:
        folder = self._resolve(self._path)
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            self._disk.sync_folder(folder.parent)
        hidden = self._hidden(folder, batch.number, batch.first, batch.end)
        if self._named == self._final(folder, batch.number, batch.first, batch.end):
            return  # it has gone, and something failed after that
        self._sweep(folder, hidden)
        with open(hidden, "wb") as file:
            try:
                pq.write_table(batch.with_ids(), file)
                file.flush()
            except BaseException:
                # It gives its space back and stays: that there is one says that the rows have not gone.
                file.truncate(0)
                raise
            if self._disk.durable:
                os.fsync(file.fileno())
        self._disk.sync_folder(folder)

    def deliver(self, batch: Batch) -> int:
        folder = self._resolve(self._path)
        final = self._final(folder, batch.number, batch.first, batch.end)
        if self._named != final:
            os.replace(self._hidden(folder, batch.number, batch.first, batch.end), final)
            self._named = final
        self._disk.sync_folder(folder)
        return int(batch.rows.num_rows)

    def was_delivered(self, number: int, first: int, end: int) -> bool:
        """Only a batch that was prepared is noted as about to go, so that a hidden file that is not there has gone. A
        folder that is not there says nothing: it may be on a disk that is not mounted."""
        folder = self._resolve(self._path)
        if not folder.is_dir():
            raise FileNotFoundError(
                f"the folder '{folder}' is not there, and a file was on its way to it: bring it back"
            )
        return not self._hidden(folder, number, first, end).exists()

    def _sweep(self, folder: Path, keep: Path) -> None:
        """Remove hidden files of batches that a crash prevented from being noted."""
        if not self._swept:
            for path in folder.glob(f".{self._prefix}*.parquet.tmp"):
                if path != keep:
                    path.unlink()
            self._swept = True

    def close(self) -> None:
        """Files are closed when they are written."""

    def masked(self, text: str) -> str:
        return text

    def _final(self, folder: Path, number: int, first: int, end: int) -> Path:
        return folder / f"{self._prefix}{number:06d}-{first:012d}-{end - 1:012d}.parquet"

    def _hidden(self, folder: Path, number: int, first: int, end: int) -> Path:
        return folder / f".{self._final(folder, number, first, end).name}.tmp"


def _plain(name: str) -> str:
    """A name as one step of a path that neither a shell nor Spark reads as a pattern."""
    return quote(name, safe="").replace("%", "~")[:LONGEST_NAME]
