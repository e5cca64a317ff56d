"""A path in, a locked home folder out: its format file, its lock, and the places of things in it."""

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
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from presage.errors import PresageError, error
from presage.model.paths import home_path
from presage.storage.disk import Disk
from presage.storage.lock import LOCK_FILE, HomeLock
from presage.storage.sealed_json import seal, unseal

FORMAT = 1
FORMAT_FILE = "presage.json"
PRIVATE = "private"  # in the format file: the folder was closed to other users once
LONGEST_STEP = 255  # characters of a name that file systems take
FOLDERS = ("catalog", "streams", "journal", "derived", "states")
# Tables that no user declares: rows of standing statements, and those that INSERT INTO makes of them. No stream's name
# can hold the sign.
RESULTS = "#results"
DERIVED = "#derived:"


class HomeLayout:
    """Where things are in a home."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.catalog, self.streams, self.journal, self.derived, self.states = (path / name for name in FOLDERS)
        self._known: dict[str, Path] = {}

    def stream_folder(self, name: str) -> Path:
        """The folder of a stream's tables: that which it has, else the one that it will be given."""
        if name == RESULTS:
            return self.path / "results"
        if name not in self._known:
            of_statements = name.startswith(DERIVED)
            found, there = _folder(self.derived if of_statements else self.streams, name.removeprefix(DERIVED))
            if not there:
                return found
            self._known[name] = found
        return self._known[name]

    def forget_folder(self, name: str) -> None:
        """The stream is gone; one that is made later may be given another folder."""
        self._known.pop(name, None)

    def table_folder(self, stream: str, table: str) -> Path:
        return self.stream_folder(stream) / table


class Home(HomeLayout):
    """A home folder that this object alone may write, until `close`."""

    def __init__(self, path: Path, lock: HomeLock, identity: str, disk: Disk, temporary: bool) -> None:
        super().__init__(path)
        self.id = identity
        self.disk = disk
        self._lock = lock
        self._temporary = temporary
        # An engine that nobody closed leaves neither a lock nor a folder behind.
        weakref.finalize(self, lock.release)
        self._remover = weakref.finalize(self, _remove, path, lock) if temporary else None

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None, durable: bool = True) -> Home:
        """Open or make a home; None makes a temporary one, which goes when it is closed."""
        temporary = path is None
        folder = make_temporary() if path is None else home_path(path).resolve()
        disk = Disk(durable and not temporary)
        _check_ours(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = HomeLock.take(folder)
        try:
            identity = _read_or_write_format(folder, disk, temporary_mark() if temporary else {})
            for name in FOLDERS:
                (folder / name).mkdir(exist_ok=True)
            disk.sync_folder(folder)
        except BaseException:
            lock.release()
            raise
        return cls(folder, lock, identity, disk, temporary)

    @property
    def is_temporary(self) -> bool:
        """Whether it goes when it is closed."""
        return self._temporary

    @property
    def is_own(self) -> bool:
        """Whether this process opened it; a fork of that process did not."""
        return self._lock.is_own

    @property
    def is_locked(self) -> bool:
        """Whether this process still has the lock; without it, nothing may be written."""
        return self._lock.is_held

    def check_owner(self) -> None:
        """Refuse a process that is a fork of the one that opened the home."""
        self._lock.check()

    def unlock(self) -> None:
        """Give up the lock and nothing else, as the end of the process would."""
        self._lock.release()

    def close(self) -> None:
        """Give up the lock, and remove a temporary home. In a fork of the process that opened it nothing happens."""
        if self._remover:
            self._remover()
        self.unlock()


def _remove(folder: Path, lock: HomeLock) -> None:
    if lock.is_own:
        shutil.rmtree(folder, ignore_errors=True)


def _folder(parent: Path, name: str) -> tuple[Path, bool]:
    """Where a stream's tables are or will be, and whether they are there. Names that differ in case alone would be one
    folder on some file systems, or once the home is copied there: the later one has a digest of its name in it."""
    there = set(os.listdir(parent)) if parent.is_dir() else set()
    plain = _escaped(name)
    apart = _with_digest(plain, name)
    for known in (plain, apart):
        if known in there:
            return parent / known, True
    taken = any(other.lower() == plain.lower() for other in there)
    return parent / (apart if taken else plain), False


def _escaped(name: str) -> str:
    # A name is one step of the path whatever its characters, so that it cannot lead elsewhere. Without percent
    # signs: delta-rs takes a path for a URL and would decode them.
    escaped = quote(name, safe="").replace("~", "%7E").replace(".", "%2E").replace("%", "~")
    # A letter of another script takes nine characters.
    return escaped if len(escaped) <= LONGEST_STEP else _with_digest(escaped, name)


def _with_digest(escaped: str, name: str) -> str:
    # Two signs in a row are in no escaped name.
    return f"{escaped[:150]}~~{hashlib.sha256(name.encode()).hexdigest()}"


# Delta's library decodes percent signs in a path, Spark takes the others for patterns of names.
UNSAFE = frozenset("%[]{}*?\\")


def _check_ours(folder: Path) -> None:
    fix = "choose an empty folder"
    unsafe = sorted(UNSAFE & set(str(folder)))
    if unsafe:
        raise error(
            "NOT_A_HOME", path=folder, why=f"its path holds {' '.join(unsafe)}, which Spark would misread", fix=fix
        )
    if not folder.exists():
        return
    if not folder.is_dir():
        raise error("NOT_A_HOME", path=folder, why="it is a file", fix=fix)
    # A home whose maker died at once holds a lock and perhaps a half-written format file, and nothing else.
    ours = {LOCK_FILE, FORMAT_FILE, f".{FORMAT_FILE}.tmp"}
    foreign = sorted(entry.name for entry in folder.iterdir() if entry.name not in ours)
    if foreign and not (folder / FORMAT_FILE).exists():
        raise error("NOT_A_HOME", path=folder, why=f"it holds '{foreign[0]}' and no {FORMAT_FILE}", fix=fix)


def _read_or_write_format(folder: Path, disk: Disk, more: dict[str, str]) -> str:
    """The home's identity. A new home gets its format file here, under the lock."""
    path = folder / FORMAT_FILE
    if path.exists():
        content = _content(folder)
    else:
        created = datetime.now(UTC).isoformat(timespec="seconds")
        content = {"format": FORMAT, "id": str(uuid.uuid4()), "created": created, **more}
    if PRIVATE not in content and folder.stat().st_uid == os.geteuid():
        # Once: whoever then gives others access, for workers of another user, keeps it.
        folder.chmod(0o700)
        content = {**content, PRIVATE: True}
    if not path.exists() or content != _content(folder):
        disk.write_atomically(path, seal(content))
    return str(content["id"])


def read_format(folder: Path) -> str:
    """The identity of a home that is there; an error if it is none, or of another format."""
    if not (folder / FORMAT_FILE).exists():
        there = f"it holds no {FORMAT_FILE}" if folder.is_dir() else "it is a file"
        what = there if folder.exists() else "there is no such folder"
        raise error("NOT_A_HOME", path=folder, why=what, fix="name the folder that an engine was given as its home")
    return str(_content(folder)["id"])


def _content(folder: Path) -> dict[str, Any]:
    """What the format file says."""
    try:
        content: dict[str, Any] = unseal((folder / FORMAT_FILE).read_bytes())
        found, _ = content["format"], content["id"]
    except (OSError, ValueError, KeyError, TypeError) as broken:
        fix = "restore the file from a copy of the home"
        raise error("HOME_CORRUPT", what=FORMAT_FILE, path=folder, why=str(broken), fix=fix) from broken
    if found != FORMAT:
        fix = "use the version of Presage that made it, or a new home"
        raise error("HOME_VERSION", path=folder, found=found, expected=FORMAT, fix=fix)
    return content


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
