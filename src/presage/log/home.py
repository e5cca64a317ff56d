"""A path in, a locked home folder out: its format file, its lock, and the places of things in it."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import socket
import tempfile
import uuid
import weakref
from datetime import UTC, datetime
from pathlib import Path
from typing import IO
from urllib.parse import quote

from presage.errors import error
from presage.log.disk import Disk

FORMAT = 1
FORMAT_FILE = "presage.json"
LOCK_FILE = "lock"
LOCK_WIDTH = 400  # a host's name has at most 253 characters
LONGEST_STEP = 255  # characters of a name that file systems take
FOLDERS = ("catalog", "streams", "journal", "derived", "states")
# Tables that no user declares: rows of standing statements, and those that INSERT INTO makes of them. No stream's name
# can hold the sign.
RESULTS = "#results"
DERIVED = "#derived:"


class Places:
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


class Home(Places):
    """A home folder that this object alone may write, until `close`."""

    def __init__(self, path: Path, lock: IO[str], identity: str, disk: Disk, temporary: bool) -> None:
        super().__init__(path)
        self.id = identity
        self.disk = disk
        self._lock = lock
        self._temporary = temporary
        # An engine that nobody closed leaves neither a lock nor a folder behind.
        weakref.finalize(self, lock.close)
        self._remover = weakref.finalize(self, shutil.rmtree, path, ignore_errors=True) if temporary else None

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None, durable: bool = True) -> Home:
        """Open or make a home; None makes a temporary one, which goes when it is closed."""
        temporary = path is None
        folder = Path(tempfile.mkdtemp(prefix="presage-")) if path is None else Path(path).resolve()
        disk = Disk(durable and not temporary)
        _check_ours(folder)
        folder.mkdir(parents=True, exist_ok=True)
        lock = _lock(folder)
        try:
            identity = _read_or_write_format(folder, disk)
            for name in FOLDERS:
                (folder / name).mkdir(exist_ok=True)
            disk.sync_folder(folder)
        except BaseException:
            lock.close()
            raise
        return cls(folder, lock, identity, disk, temporary)

    @property
    def is_temporary(self) -> bool:
        """Whether it goes when it is closed."""
        return self._temporary

    def unlock(self) -> None:
        """Give up the lock and nothing else, as the end of the process would."""
        self._lock.close()

    def close(self) -> None:
        self.unlock()
        if self._remover:
            self._remover()


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


def _lock(folder: Path) -> IO[str]:
    descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    lock = open(descriptor, "r+", encoding="utf-8")  # noqa: SIM115 (it stays open as long as the home)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as busy:
        owner = lock.read().strip() or "another engine"
        lock.close()
        raise error("HOME_LOCKED", path=folder, owner=owner) from busy
    since = datetime.now(UTC).isoformat(timespec="seconds")
    # Written over the last owner's line, and blanks over the rest of it.
    lock.write(f"process {os.getpid()} on {socket.gethostname()} since {since}".ljust(LOCK_WIDTH) + "\n")
    lock.flush()
    return lock


def is_locked(folder: Path) -> bool:
    """Whether somebody has the lock, as far as the system tells. It is not tried: whoever opens the home at that moment
    would be refused."""
    try:
        node = os.stat(folder / LOCK_FILE).st_ino
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return False
    locks = [line.split() for line in lines if " FLOCK " in line and "->" not in line]
    return any(parts[5].rpartition(":")[2] == str(node) for parts in locks if len(parts) > 5)


def _read_or_write_format(folder: Path, disk: Disk) -> str:
    """The home's identity. A new home gets its format file here, under the lock."""
    path = folder / FORMAT_FILE
    if not path.exists():
        identity = str(uuid.uuid4())
        content = {"format": FORMAT, "id": identity, "created": datetime.now(UTC).isoformat(timespec="seconds")}
        disk.write_atomically(path, json.dumps(content).encode())
        return identity
    return read_format(folder)


def read_format(folder: Path) -> str:
    """The identity of a home that is there; an error if it is none, or of another format."""
    path = folder / FORMAT_FILE
    if not path.exists():
        there = f"it holds no {FORMAT_FILE}" if folder.is_dir() else "it is a file"
        what = there if folder.exists() else "there is no such folder"
        raise error("NOT_A_HOME", path=folder, why=what, fix="name the folder that an engine was given as its home")
    try:
        content = json.loads(path.read_bytes())
        found, identity = content["format"], content["id"]
    except (ValueError, KeyError, TypeError) as broken:
        fix = "restore the file from a copy of the home"
        raise error("HOME_CORRUPT", what=FORMAT_FILE, path=folder, why=str(broken), fix=fix) from broken
    if found != FORMAT:
        fix = "use the version of Presage that made it, or a new home"
        raise error("HOME_VERSION", path=folder, found=found, expected=FORMAT, fix=fix)
    return str(identity)
