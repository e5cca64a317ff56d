"""The lock of a home: the one process that may write it, and only as long as it is the process that took the lock.

Two locks are taken. The home folder itself is locked, because nobody can delete its lock without deleting the home. The
file `lock` is locked too: it names the owner, and file systems that lock no folders (NFS) have at least this one.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import weakref
from datetime import UTC, datetime
from pathlib import Path

from presage.errors import error

LOCK_FILE = "lock"
LOCK_WIDTH = 400  # a host's name has at most 253 characters
# What file systems answer that cannot lock a folder.
NO_FOLDER_LOCKS = (errno.EBADF, errno.EINVAL, errno.EISDIR, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP)


class HomeLock:
    """Held by the process that took it, until `release` or its end. A forked child holds nothing."""

    def __init__(self, folder: Path, handles: list[int]) -> None:
        self._folder = folder
        self._handles = handles
        self._pid = os.getpid()
        _taken.add(self)

    @classmethod
    def take(cls, folder: Path) -> HomeLock:
        """Lock a home; HOME_LOCKED names who has it."""
        handles: list[int] = []
        try:
            handles.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
            _flock(handles[0], folder, NO_FOLDER_LOCKS)
            handles.append(os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600))
            _flock(handles[1], folder)
            since = datetime.now(UTC).isoformat(timespec="seconds")
            # Written over the last owner's line, and blanks over the rest of it.
            line = f"process {os.getpid()} on {socket.gethostname()} since {since}".ljust(LOCK_WIDTH) + "\n"
            os.pwrite(handles[1], line.encode(), 0)
        except BaseException:
            for handle in handles:
                os.close(handle)
            raise
        return cls(folder, handles)

    @property
    def is_own(self) -> bool:
        """Whether this process took it; a fork of that process did not."""
        return os.getpid() == self._pid

    @property
    def is_held(self) -> bool:
        """Whether this process has it still."""
        return self.is_own and bool(self._handles)

    def check(self) -> None:
        """Refuse a process that is a fork of the one that opened the home."""
        if not self.is_own:
            raise error("ENGINE_FORKED", path=self._folder, owner=self._pid, pid=os.getpid())

    def release(self) -> None:
        """Give the lock up. Releasing it twice is fine."""
        while self._handles:
            os.close(self._handles.pop())


def is_locked(folder: Path) -> bool:
    """Whether somebody has the lock, as far as the system tells. It is not tried: whoever opens the home at that moment
    would be refused."""
    return _holder(folder) is not None


def owner_line(folder: Path) -> str:
    """Who had the home last, as the lock's file says; whether it still has is another question."""
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
    """The process that has one of the two locks, as the system tells."""
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return None
    nodes = {str(path.stat().st_ino) for path in (folder, folder / LOCK_FILE) if path.exists()}
    locks = [line.split() for line in lines if " FLOCK " in line and "->" not in line]
    return next((int(p[4]) for p in locks if len(p) > 5 and p[5].rpartition(":")[2] in nodes), None)


_taken: weakref.WeakSet[HomeLock] = weakref.WeakSet()


def _release_in_child() -> None:
    # A lock belongs to all processes that have the file open: without this, a child that outlives the engine's process
    # would keep the home locked. The parent's lock stays.
    for lock in list(_taken):
        lock.release()


os.register_at_fork(after_in_child=_release_in_child)
