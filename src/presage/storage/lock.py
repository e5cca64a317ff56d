"""The lock of a home, which only one process may write.

There are two locks. The home folder itself is locked: this lock cannot be deleted without the home. The file `lock` is
locked too: it names the owner, and works on file systems that cannot lock folders (NFS).
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import weakref
from datetime import UTC, datetime
from pathlib import Path, PurePath

from presage.errors import error

LOCK_FILE = "lock"
LOCK_WIDTH = 400  # a host's name has at most 253 characters
# Errors of file systems that cannot lock a folder.
NO_FOLDER_LOCKS = (errno.EBADF, errno.EINVAL, errno.EISDIR, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP)


class HomeLock:
    """Held by the process that took it, until `release` or its end, but not by forked children."""

    def __init__(self, folder: PurePath, handles: list[int]) -> None:
        self._folder = folder
        self._handles = handles
        self._pid = os.getpid()
        _taken.add(self)

    @classmethod
    def take(cls, folder: Path) -> HomeLock:
        """Lock a home; HOME_LOCKED names the owner."""
        handles: list[int] = []
        try:
            handles.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
            _flock(handles[0], folder, NO_FOLDER_LOCKS)
            handles.append(os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600))
            _flock(handles[1], folder)
            since = datetime.now(UTC).isoformat(timespec="seconds")
            # Padded, to overwrite the whole line of the last owner.
            line = f"process {os.getpid()} on {socket.gethostname()} since {since}".ljust(LOCK_WIDTH) + "\n"
            os.pwrite(handles[1], line.encode(), 0)
        except BaseException:
            for handle in handles:
                os.close(handle)
            raise
        return cls(folder, handles)

    @property
    def is_own(self) -> bool:
        """Whether this process took it; false in a fork of that process."""
        return os.getpid() == self._pid

    @property
    def is_held(self) -> bool:
        """Whether this process still has it."""
        return self.is_own and bool(self._handles)

    def check(self) -> None:
        """Raise an error in a fork of the process that opened the home."""
        if not self.is_own:
            raise error("ENGINE_FORKED", path=self._folder, owner=self._pid, pid=os.getpid())

    def release(self) -> None:
        """Idempotent."""
        while self._handles:
            os.close(self._handles.pop())


def is_locked(folder: Path) -> bool:
    """Whether a process has the lock, as far as the system tells. Trying the lock could refuse a process that opens the
    home at that moment."""
    return _holder(folder) is not None


def owner_line(folder: Path) -> str:
    """The last owner of the home, from the lock's file; it may have released the lock."""
    try:
        return (folder / LOCK_FILE).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _flock(handle: int, folder: Path, unable: tuple[int, ...] = ()) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as busy:
        holder = _holder(folder)
        owner = owner_line(folder) or ("another engine" if holder is None else f"process {holder}")
        raise error("HOME_LOCKED", path=folder, owner=owner) from busy
    except OSError as failure:
        if failure.errno not in unable:
            raise


def _holder(folder: Path) -> int | None:
    """The process that has one of the two locks, from /proc."""
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return None
    nodes = {str(path.stat().st_ino) for path in (folder, folder / LOCK_FILE) if path.exists()}
    locks = [line.split() for line in lines if " FLOCK " in line and "->" not in line]
    return next((int(p[4]) for p in locks if len(p) > 5 and p[5].rpartition(":")[2] in nodes), None)


_taken: weakref.WeakSet[HomeLock] = weakref.WeakSet()


def _release_in_child() -> None:
    # A flock belongs to all processes that have the file open: without this, a child that outlives its parent would
    # keep the home locked. The parent's lock stays.
    for lock in list(_taken):
        lock.release()


os.register_at_fork(after_in_child=_release_in_child)
