"""Bytes in, a durable file out: the few operations that the log needs from the file system."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable
from pathlib import Path

# What file systems without hard links answer.
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class Disk:
    """Durable writes. `durable=False` (a home that lives as long as its engine) leaves out the flushing."""

    def __init__(self, durable: bool = True) -> None:
        self.durable = durable

    def write_atomically(self, path: Path, data: bytes) -> None:
        """The file appears whole or not at all, and survives the loss of power once this returns."""
        temporary = path.with_name(f".{path.name}.tmp")
        self._write(temporary, data)
        os.replace(temporary, path)
        self.sync_folder(path.parent)

    def write_new(self, path: Path, data: bytes, before_name: Callable[[], None] | None = None) -> None:
        """As `write_atomically`, but a file that is there already is left alone: FileExistsError."""
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
        self._write(temporary, data)
        if before_name:
            before_name()
        try:
            os.link(temporary, path)
        except FileExistsError:
            # A file system over a network may have done it, and answer to the second attempt.
            if not temporary.samefile(path):
                raise
        except OSError as failure:
            if failure.errno not in NO_LINKS or path.exists():
                raise
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        self.sync_folder(path.parent)

    def _write(self, path: Path, data: bytes) -> None:
        try:
            with open(path, "wb") as file:
                file.write(data)
                file.flush()
                if self.durable:
                    os.fsync(file.fileno())
        except OSError:
            path.unlink(missing_ok=True)  # the disk may be full
            raise

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
