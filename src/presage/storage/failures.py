"""Failures of the file system and of Delta's library, told as errors with a code: where the log is entered and left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deltalake.exceptions import DeltaError

from presage.errors import PresageError, error
from presage.storage.disk import is_full

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
