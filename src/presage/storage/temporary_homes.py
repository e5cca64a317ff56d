"""Temporary homes: made for engines without a home, and removed when their process was killed before it could.

A folder is removed only if its format file says that it is a temporary home of this host, if it is this user's, and if
its lock can be taken: the system frees the lock of a dead process, however it ended, and a process that has its number
now does not have it. What earlier versions left behind does not say that it is temporary, and stays.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import tempfile
from pathlib import Path

from presage.errors import PresageError
from presage.storage.lock import HomeLock

PREFIX = "presage-"
TEMPORARY = "temporary"  # in the format file: the host whose process made the home


def make_temporary() -> Path:
    """A folder for a temporary home; those of processes that are dead are removed first."""
    folder = Path(tempfile.gettempdir())
    remove_abandoned(folder)
    return Path(tempfile.mkdtemp(prefix=PREFIX, dir=folder))


def temporary_mark() -> dict[str, str]:
    """What the format file of a temporary home says beside the rest."""
    return {TEMPORARY: socket.gethostname()}


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary homes in a folder that no process has open any more."""
    for path in folder.glob(f"{PREFIX}*"):
        if not _is_ours(path):
            continue
        try:
            lock = HomeLock.take(path)
        except (PresageError, OSError):
            continue  # in use, or just removed by another process
        shutil.rmtree(path, ignore_errors=True)
        lock.release()


def _is_ours(path: Path) -> bool:
    try:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return False
        content = json.loads((path / "presage.json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get(TEMPORARY) == socket.gethostname()
