"""Folders of Delta tables in, checkpoints of their logs out, each written by a thread of its own.

A checkpoint takes as long as tens of commits. It reads entries that never change and puts its file in place at once, so
that commits need not wait for it; only the removal of the folder must.
"""

from __future__ import annotations

import threading
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from presage.storage.delta_log import seal_checkpoint
from presage.storage.disk import Disk


class Checkpoints:
    """Not thread-safe: one thread starts and waits at a time, as the committer's lock sees to."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._running: dict[Path, threading.Thread] = {}

    def start(self, folder: Path) -> None:
        """Write a checkpoint of the version that is newest now, or of a later one, unless one is being written."""
        if folder not in self._running or not self._running[folder].is_alive():
            self._running[folder] = threading.Thread(target=self._write, args=(folder,), name="presage-checkpoint")
            self._running[folder].start()

    def wait(self, under: Path) -> None:
        """Return when nothing is written any more into a folder or one of its own."""
        for folder in [folder for folder in self._running if folder.is_relative_to(under)]:
            self._running.pop(folder).join()

    def _write(self, folder: Path) -> None:
        try:
            handle = DeltaTable(str(folder))
            handle.create_checkpoint()
            seal = seal_checkpoint(folder, handle.version())
            if self._disk.durable:
                log = folder / "_delta_log"
                self._disk.sync_file(seal)
                self._disk.sync_file(log / f"{handle.version():020d}.checkpoint.parquet")
                self._disk.sync_file(log / "_last_checkpoint")
                self._disk.sync_folder(log)
        except (OSError, DeltaError):
            # It only shortens the way of readers, and the disk may be full: the next one will do.
            return
