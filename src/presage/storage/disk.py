"""Bytes in, a durable file out: the few operations that the log needs from the file system."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from deltalake.exceptions import DeltaError

from presage.errors import PresageError, error

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


NOT_DONE = "and try again; nothing of what was asked for has happened"
KEPT = "; what was asked for is kept and will be finished: do not send it again"


def storage_error(home: Path, failure: Exception, then: str = NOT_DONE) -> PresageError:
    """The error for a failure to read or write a file of a home. `then`: what comes of it once there is space."""
    then = then if then.startswith(";") else f" {then}"
    if is_full(failure):
        return error("DISK_FULL", path=home, fix=f"free some space{then}")
    why = first_line(failure)
    if isinstance(failure, OSError) and failure.strerror:
        named = [str(name) for name in (failure.filename, failure.filename2) if name is not None]
        why = ": ".join([failure.strerror, *named[:1]])
    return error("STORAGE_FAILED", path=home, why=why, fix=f"check the disk and the permissions{then}")


@contextmanager
def storage(home: Path, then: str = NOT_DONE) -> Iterator[None]:
    """Run what reads and writes a home: a failure of the file system leaves as an error of ours, with its cause."""
    try:
        yield
    except (OSError, DeltaError) as failure:
        raise storage_error(home, failure, then) from failure


def first_line(failure: BaseException) -> str:
    return (str(failure).strip().splitlines() or [type(failure).__name__])[0]
