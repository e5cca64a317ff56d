"""Durable writes to the file system, and its failures as errors with a code."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from presage.errors import PresageError, error

# Errors of file systems without hard links.
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class Disk:
    """Durable writes. `durable=False` skips flushing, for a temporary home."""

    def __init__(self, durable: bool = True) -> None:
        self.durable = durable

    def write_atomically(self, path: Path, data: bytes) -> None:
        """Write a file as a whole or not at all. It survives a loss of power once this returns."""
        temporary = path.with_name(f".{path.name}.tmp")
        self._write(temporary, data)
        os.replace(temporary, path)
        self.sync_folder(path.parent)

    def write_new(self, path: Path, data: bytes, before_name: Callable[[], None] | None = None) -> None:
        """Like `write_atomically`, but raises FileExistsError if the file exists."""
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
        self._write(temporary, data)
        if before_name:
            before_name()
        try:
            os.link(temporary, path)
        except FileExistsError:
            # A network file system may repeat a request that has already succeeded.
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
        """Flush a folder: a new name in it is durable only then."""
        self.sync_file(path)


def is_of_storage(failure: BaseException) -> bool:
    """Whether the file system failed, or delta-rs, which is loaded if it did."""
    delta = sys.modules.get("deltalake.exceptions")
    return isinstance(failure, OSError) or (delta is not None and isinstance(failure, delta.DeltaError))


def is_full(failure: BaseException) -> bool:
    """Whether a failure means that the disk or the user's quota is full."""
    if isinstance(failure, OSError) and failure.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return f"(os error {errno.ENOSPC})" in str(failure)  # as delta-rs reports it


TEMPORARY_PREFIX = "presage-"  # of the folders of temporary homes

NOT_DONE = "and try again; nothing has been written"
KEPT = "; the request is committed and will be finished: do not send it again"
VERIFY = "restore the home from a copy; presage log HOME verify names all that is damaged"


def corrupt(what: str, path: Path | str, why: object, fix: str) -> PresageError:
    return error("HOME_CORRUPT", what=what, path=path, why=why, fix=fix)


def storage_error(home: Path, failure: Exception, then: str = NOT_DONE) -> PresageError:
    """The error for a failure to read or write a file of a home. `then`: what happens once there is space."""
    then = then if then.startswith(";") else f" {then}"
    if is_full(failure):
        if home.name.startswith(TEMPORARY_PREFIX) and home.parent == Path(tempfile.gettempdir()):
            then = ", or set TMPDIR to a folder on another disk"
        return error("DISK_FULL", path=home, fix=f"free some space{then}")
    why = first_line(failure)
    if isinstance(failure, OSError) and failure.strerror:
        named = [str(name) for name in (failure.filename, failure.filename2) if name is not None]
        why = ": ".join([failure.strerror, *named[:1]])
    return error("STORAGE_FAILED", path=home, why=why, fix=f"check the disk and the permissions{then}")


@contextmanager
def storage(home: Path, then: str = NOT_DONE) -> Iterator[None]:
    """Convert failures of the file system and of delta-rs inside the block to errors with a code."""
    try:
        yield
    except Exception as failure:
        if not is_of_storage(failure):
            raise
        raise storage_error(home, failure, then) from failure


def first_line(failure: BaseException) -> str:
    return (str(failure).strip().splitlines() or [type(failure).__name__])[0]
