"""Bytes in, a durable file out: the few operations that the log needs from the file system."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path


class Disk:
    """Durable writes. `durable=False` (a home that lives as long as its engine) leaves out the flushing."""

    def __init__(self, durable: bool = True) -> None:
        self.durable = durable

    def write_atomically(self, path: Path, data: bytes, before_rename: Callable[[], None] | None = None) -> None:
        """The file appears whole or not at all, and survives the loss of power once this returns."""
        temporary = path.with_name(f".{path.name}.tmp")
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            if self.durable:
                os.fsync(file.fileno())
        if before_rename:
            before_rename()
        os.replace(temporary, path)
        self.sync_folder(path.parent)

    def sync_file(self, path: Path) -> None:
        if self.durable and path.exists():
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def sync_folder(self, path: Path) -> None:
        """A new name in a folder is durable only when the folder is."""
        self.sync_file(path)


def is_full(failure: BaseException) -> bool:
    """Whether a failure means that there is no space left, or no more of it for this user."""
    if isinstance(failure, OSError) and failure.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return f"(os error {errno.ENOSPC})" in str(failure)  # what delta-rs makes of it
