"""Failures of a home's store as errors with a code."""

from __future__ import annotations

import errno
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath

from presage.errors import PresageError, error
from presage.storage.store import StoreError

_OF_A_STORE = re.compile("Generic (?:S3|GCS|MicrosoftAzure) error")  # as delta-rs reports it


def is_of_storage(failure: BaseException) -> bool:
    """Whether the file system failed, or delta-rs, which is loaded if it did."""
    delta = sys.modules.get("deltalake.exceptions")
    return isinstance(failure, OSError) or (delta is not None and isinstance(failure, delta.DeltaError))


def is_unanswered(failure: BaseException) -> bool:
    """Whether an object store did not answer, or refused a request, of ours or of delta-rs."""
    return isinstance(failure, StoreError) or (is_of_storage(failure) and _OF_A_STORE.search(str(failure)) is not None)


def is_full(failure: BaseException) -> bool:
    """Whether a failure means that the disk or the user's quota is full."""
    if isinstance(failure, OSError) and failure.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return f"(os error {errno.ENOSPC})" in str(failure)  # as delta-rs reports it


TEMPORARY_PREFIX = "presage-"  # of the folders of temporary homes

NOT_DONE = "and try again; nothing has been written"
KEPT = "; the request is committed and will be finished: do not send it again"
UNKNOWN = "; the request may be committed: send it again only with the `once` key that it had"
REPAIR = "run presage log HOME repair, which repairs what the rest of the home tells, and names what is lost"


def corrupt(what: str, path: PurePath | str, why: object, fix: str) -> PresageError:
    """The error for something damaged. `why`: may be an exception; a store that does not answer has damaged nothing."""
    if isinstance(why, Exception):
        if is_unanswered(why):
            return storage_error(path, why, "and try again")
        why = first_line(why)
    return error("HOME_CORRUPT", what=what, path=path, why=why, fix=fix)


def storage_error(home: PurePath | str, failure: Exception, then: str = NOT_DONE) -> PresageError:
    """The error for a failure to read or write a file of a home. `then`: what happens once there is space."""
    then = then if then.startswith(";") else f" {then}"
    if is_full(failure):
        if (path := Path(home)).name.startswith(TEMPORARY_PREFIX) and path.parent == Path(tempfile.gettempdir()):
            then = ", or set TMPDIR to a folder on another disk"
        return error("DISK_FULL", path=home, fix=f"free some space{then}")
    why = first_line(failure)
    if isinstance(failure, OSError) and failure.strerror:
        named = [str(name) for name in (failure.filename, failure.filename2) if name is not None]
        why = ": ".join([failure.strerror, *named[:1]])
    check = "the bucket, its credentials and the network" if is_unanswered(failure) else "the disk and the permissions"
    return error("STORAGE_FAILED", path=home, why=why, fix=f"check {check}{then}")


@contextmanager
def storage(home: PurePath | str, then: str = NOT_DONE) -> Iterator[None]:
    """Convert failures of the file system and of delta-rs inside the block to errors with a code."""
    try:
        yield
    except Exception as failure:
        if not is_of_storage(failure):
            raise
        raise storage_error(home, failure, then) from failure


def first_line(failure: BaseException) -> str:
    return (str(failure).strip().splitlines() or [type(failure).__name__])[0]
