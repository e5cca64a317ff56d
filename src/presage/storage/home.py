"""The home folder: its layout, format file and lock; and temporary homes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import stat
import tempfile
import uuid
import weakref
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from presage.errors import PresageError, error
from presage.model.paths import home_path
from presage.storage.columns import TABLES
from presage.storage.disk import TEMPORARY_PREFIX, Disk, corrupt
from presage.storage.lock import LOCK_FILE, HomeLock
from presage.storage.sealed_json import seal, unseal

FORMAT = 1
FORMAT_FILE = "presage.json"
PRIVATE = "private"  # in the format file: the folder was closed to other users once
LONGEST_NAME = 255  # characters of a file name
FOLDERS = ("catalog", "streams", "journal", "derived", "states")
# Internal tables: rows of deployed statements, and of derived streams. No stream's name can contain the sign.
RESULTS = "#results"
DERIVED = "#derived:"


class HomeLayout:
    """The paths in a home."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.catalog, self.streams, self.journal, self.derived, self.states = (path / name for name in FOLDERS)
        self._folders: dict[str, Path] = {}  # of streams

    def stream_folder(self, name: str) -> Path:
        """The folder of a stream's tables, also of one that does not exist yet."""
        if name == RESULTS:
            return self.path / "results"
        if name not in self._folders:
            parent = self.derived if name.startswith(DERIVED) else self.streams
            folder, exists = _folder(parent, name.removeprefix(DERIVED))
            if not exists:
                return folder
            self._folders[name] = folder
        return self._folders[name]

    def forget_folder(self, name: str) -> None:
        """Forget the folder of a dropped stream; a new one of its name may get another folder."""
        self._folders.pop(name, None)

    def table_folder(self, stream: str, table: str) -> Path:
        return self.stream_folder(stream) / table

    def tables(self, streams: Iterable[str]) -> list[tuple[str, str]]:
        """(stream, table) of the existing tables of these streams."""
        return [(s, table) for s in streams for table in TABLES if self.table_folder(s, table).is_dir()]


class Home(HomeLayout):
    """A home folder, locked for this process until `close`."""

    def __init__(self, path: Path, lock: HomeLock, identity: str, disk: Disk, temporary: bool) -> None:
        super().__init__(path)
        self.id = identity
        self.disk = disk
        self.is_temporary = temporary  # removed when it is closed
        self._lock = lock
        # An engine that is garbage-collected without `close` leaves neither a lock nor a temporary folder behind.
        weakref.finalize(self, lock.release)
        self._remover = weakref.finalize(self, _remove, path, lock) if temporary else None

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None, durable: bool = True) -> Home:
        """Open or create a home; None creates a temporary one, which is removed when it is closed."""
        temporary = path is None
        folder = make_temporary() if path is None else home_path(path).resolve()
        disk = Disk(durable and not temporary)
        _check_ours(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = HomeLock.take(folder)
        try:
            mark = {TEMPORARY: socket.gethostname()} if temporary else {}
            identity = _read_or_write_format(folder, disk, mark)
            for name in FOLDERS:
                (folder / name).mkdir(exist_ok=True)
            disk.sync_folder(folder)
        except BaseException:
            lock.release()
            raise
        return cls(folder, lock, identity, disk, temporary)

    @property
    def is_own(self) -> bool:
        """Whether this process opened it; false in a fork of that process."""
        return self._lock.is_own

    @property
    def is_locked(self) -> bool:
        """Whether this process still has the lock; without it, nothing may be written."""
        return self._lock.is_held

    def check_owner(self) -> None:
        """Raise an error in a fork of the process that opened the home."""
        self._lock.check()

    def unlock(self) -> None:
        """Release the lock only, as the end of the process would."""
        self._lock.release()

    def close(self) -> None:
        """Release the lock, and remove a temporary home. Does nothing in a fork of the process that opened it."""
        if self._remover:
            self._remover()
        self.unlock()


def _remove(folder: Path, lock: HomeLock) -> None:
    if lock.is_own:
        shutil.rmtree(folder, ignore_errors=True)


def _folder(parent: Path, name: str) -> tuple[Path, bool]:
    """The folder of a stream's tables, and whether it exists. On some file systems, names that differ only in case are
    one folder: the later one gets a digest of its name."""
    existing = set(os.listdir(parent)) if parent.is_dir() else set()
    plain = _escaped(name)
    unique = _with_digest(plain, name)
    for folder in (plain, unique):
        if folder in existing:
            return parent / folder, True
    taken = any(other.lower() == plain.lower() for other in existing)
    return parent / (unique if taken else plain), False


def _escaped(name: str) -> str:
    # A name must not contain separators of paths, nor percent signs: delta-rs would decode them as in a URL.
    escaped = quote(name, safe="").replace("~", "%7E").replace(".", "%2E").replace("%", "~")
    # A letter of another script takes nine characters.
    return escaped if len(escaped) <= LONGEST_NAME else _with_digest(escaped, name)


def _with_digest(escaped: str, name: str) -> str:
    # No escaped name contains two signs in a row.
    return f"{escaped[:150]}~~{hashlib.sha256(name.encode()).hexdigest()}"


# delta-rs decodes percent signs in a path; Spark expands the others as patterns.
UNSAFE = frozenset("%[]{}*?\\")


def _check_ours(folder: Path) -> None:
    fix = "choose an empty folder"
    unsafe = sorted(UNSAFE & set(str(folder)))
    if unsafe:
        why = f"its path holds {' '.join(unsafe)}, which Spark would misread"
        raise error("NOT_A_HOME", path=folder, why=why, fix=fix)
    if not folder.exists():
        return
    if not folder.is_dir():
        raise error("NOT_A_HOME", path=folder, why="it is a file", fix=fix)
    # After a crash during creation, a home contains a lock and perhaps a half-written format file.
    ours = {LOCK_FILE, FORMAT_FILE, f".{FORMAT_FILE}.tmp"}
    foreign = sorted(entry.name for entry in folder.iterdir() if entry.name not in ours)
    if foreign and not (folder / FORMAT_FILE).exists():
        raise error("NOT_A_HOME", path=folder, why=f"it holds '{foreign[0]}' and no {FORMAT_FILE}", fix=fix)


def _read_or_write_format(folder: Path, disk: Disk, more: dict[str, str]) -> str:
    """The home's id. Creates the format file of a new home, under the lock."""
    path = folder / FORMAT_FILE
    if path.exists():
        content = _content(folder)
    else:
        created = datetime.now(UTC).isoformat(timespec="seconds")
        content = {"format": FORMAT, "id": str(uuid.uuid4()), "created": created, **more}
    if PRIVATE not in content and folder.stat().st_uid == os.geteuid():
        # Once only: an administrator may give others access afterwards, for workers of another user.
        folder.chmod(0o700)
        content = {**content, PRIVATE: True}
    if not path.exists() or content != _content(folder):
        disk.write_atomically(path, seal(content))
    return str(content["id"])


def read_format(folder: Path) -> str:
    """The id of an existing home; an error if it is none, or of another format."""
    if not (folder / FORMAT_FILE).exists():
        why = f"it holds no {FORMAT_FILE}" if folder.is_dir() else "it is a file"
        why = why if folder.exists() else "there is no such folder"
        raise error("NOT_A_HOME", path=folder, why=why, fix="name the folder that an engine was given as its home")
    return str(_content(folder)["id"])


def _content(folder: Path) -> dict[str, Any]:
    """The content of the format file."""
    try:
        content: dict[str, Any] = unseal((folder / FORMAT_FILE).read_bytes())
        version, _ = content["format"], content["id"]
    except (OSError, ValueError, KeyError, TypeError) as broken:
        raise corrupt(FORMAT_FILE, folder, broken, "restore the file from a copy of the home") from broken
    if version != FORMAT:
        fix = "use the version of Presage that made it, or a new home"
        raise error("HOME_VERSION", path=folder, found=version, expected=FORMAT, fix=fix)
    return content


# Temporary homes are removed when they are closed, and those of killed processes by the next process that creates one.
# Such a folder is removed only if its format file says that it is a temporary home of this host, if it belongs to this
# user, and if its lock is free: the system releases the lock of a dead process, even if its pid is used again.
TEMPORARY = "temporary"  # in the format file: the host whose process made the home


def temporary_folder() -> Path:
    """Where temporary homes are made."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as none:
        tried = str(none).partition("[")[2].partition("[")[2].rstrip("]")
        raise error("NO_TEMPORARY_FOLDER", tried=tried) from none


def make_temporary() -> Path:
    """A folder for a temporary home; removes those of dead processes first."""
    folder = temporary_folder()
    remove_abandoned(folder)
    return Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=folder))


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary homes in a folder that no process has open."""
    for path in folder.glob(f"{TEMPORARY_PREFIX}*"):
        if not _is_ours(path):
            continue
        try:
            lock = HomeLock.take(path)
        except (PresageError, OSError):
            continue  # in use, or removed by another process
        shutil.rmtree(path, ignore_errors=True)
        lock.release()


def _is_ours(path: Path) -> bool:
    try:
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return False
        content = json.loads((path / FORMAT_FILE).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get(TEMPORARY) == socket.gethostname()
