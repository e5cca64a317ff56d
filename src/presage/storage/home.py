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
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any, NamedTuple
from urllib.parse import quote

from presage.errors import PresageError, error
from presage.model.paths import home_place
from presage.storage.columns import EVENTS, TABLES
from presage.storage.failures import TEMPORARY_PREFIX, corrupt
from presage.storage.file_store import FileStore
from presage.storage.home_lease import HomeLease, Watch, await_end, read_lease, this_machine
from presage.storage.lock import LOCK_FILE, HomeLock
from presage.storage.sealed_json import seal, unseal
from presage.storage.store import Store

EARLIER, FORMAT = 1, 2  # the format of journals with marks, which is read, and the present one
FORMAT_FILE = "presage.json"
APPLICATION = "application"  # in the format file of a copy: the identity that tables know it by
UNFINISHED = "copy.json"  # in a copy that is not complete yet: the identity of its source
PRIVATE = "private"  # in the format file: the folder was closed to other users once
LONGEST_NAME = 255  # characters of a file name
FOLDERS = ("catalog", "streams", "journal", "derived", "states")
# Internal tables: rows of deployed statements, and of derived streams. No stream's name can contain the sign.
RESULTS = "#results"
DERIVED = "#derived:"


def open_place(path: str | os.PathLike[str], options: Mapping[str, str] | None = None) -> tuple[Store, PurePath]:
    """The store and the path of a home, given by a path or an address."""
    place = home_place(path)
    if isinstance(place, Path):
        return FileStore(), place.resolve()
    from presage.storage.object_store import open_bucket  # loads obstore, which a home in a folder does not need

    return open_bucket(place, options)


class Identity(NamedTuple):
    """The identity of a home, and that by which its tables know its transactions: that of the home it is a copy of."""

    id: str
    application: str

    @classmethod
    def of(cls, content: dict[str, Any]) -> Identity:
        """By the content of the format file."""
        return cls(str(content["id"]), str(content.get(APPLICATION, content["id"])))


class HomeLayout:
    """The paths in a home, and the store that they belong to."""

    def __init__(self, store: Store, path: PurePath) -> None:
        self.store = store
        self.path = path
        self.catalog, self.streams, self.journal, self.derived, self.states = (path / name for name in FOLDERS)
        self._folders: dict[str, PurePath] = {}  # of streams
        self._existing: dict[PurePath, set[str]] = {}  # names in the folders of streams, as last listed

    @property
    def address(self) -> str:
        return self.store.address(self.path)

    def stream_folder(self, name: str) -> PurePath:
        """The folder of a stream's tables, also of one that does not exist yet."""
        if name == RESULTS:
            return self.path / "results"
        if name not in self._folders:
            parent = self.derived if name.startswith(DERIVED) else self.streams
            if parent not in self._existing:
                self._existing[parent] = set(self.store.names(parent))
            folder, exists = _folder(parent, self._existing[parent], name.removeprefix(DERIVED))
            if not exists:
                return folder
            self._folders[name] = folder
        return self._folders[name]

    def forget_folder(self, name: str) -> None:
        """Forget the folder of a stream that was created or dropped; a new one of its name may get another folder."""
        self._folders.pop(name, None)
        self._existing.clear()

    def table_folder(self, stream: str, table: str) -> PurePath:
        return self.stream_folder(stream) / table

    def tables(self, streams: Iterable[str]) -> list[tuple[str, str]]:
        """(stream, table) of the tables of these streams."""
        return [(stream, table) for stream in streams for table in tables_of(stream)]


def tables_of(stream: str) -> tuple[str, ...]:
    """The tables of a stream; internal ones have events only."""
    return (EVENTS,) if stream.startswith("#") else TABLES


class Home(HomeLayout):
    """A home folder, locked for this process until `close`."""

    def __init__(
        self,
        store: Store,
        path: PurePath,
        lock: HomeLock,
        identity: Identity,
        temporary: bool = False,
        abandoned: bool = False,
        locked: bool = True,
        watch: Watch | None = None,
    ) -> None:
        super().__init__(store, path)
        self._watch = watch
        self.id, self.application = identity
        # Not flushed: if a loss of power undoes a beat, nothing is lost.
        self.lease = HomeLease(FileStore(durable=False) if store.is_local else store, path, locked)
        self.was_abandoned = abandoned  # the process that had the home before did not release it
        self.is_temporary = temporary  # removed when it is closed
        # Of this opening, in names of files: greater than that of any process that had the home before. Files of a
        # greater one belong to a process that has taken over the home.
        self.generation = 0
        self._lock = lock
        self._is_closed = False
        # An engine that is garbage-collected without `close` leaves neither a lock nor a temporary folder behind.
        weakref.finalize(self, lock.release)
        self._remover = weakref.finalize(self, _remove, Path(path), lock) if temporary else None

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None,
        durable: bool = True,
        options: Mapping[str, str] | None = None,
        without_lock: bool = False,
        watch: Watch | None = None,
    ) -> Home:
        """Open or create a home; None creates a temporary one, which is removed when it is closed. `options`: of the
        object store of an address. `without_lock`: of a folder, which a process that is paused has. `watch`: has seen
        the lease of the process that has the home."""
        place = home_place(path) if path is not None else make_temporary()
        if isinstance(place, str):
            return cls._open_bucket(place, options, watch)
        temporary, folder = path is None, place.resolve()
        store = FileStore(durable and not temporary)
        check_folder(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = HomeLock(folder, []) if without_lock else _take_lock(store, folder)
        try:
            abandoned = not temporary and (without_lock or _is_abandoned(store, folder, watch))
            mark = {TEMPORARY: socket.gethostname()} if temporary else {}
            identity = _read_or_write_format(folder, store, mark)
            for name in FOLDERS:
                (folder / name).mkdir(exist_ok=True)
            store.flush(folder)
        except BaseException:
            lock.release()
            raise
        return cls(store, folder, lock, identity, temporary, abandoned, locked=not without_lock)

    @classmethod
    def _open_bucket(cls, address: str, options: Mapping[str, str] | None, watch: Watch | None) -> Home:
        from presage.storage.object_store import PROBE, open_bucket

        store, path = open_bucket(address, options)
        names = [name for name in store.names(path) if not name.startswith(PROBE)]
        if FORMAT_FILE not in names:
            if names:
                why = f"it holds '{names[0]}' and no {FORMAT_FILE}"
                raise error("NOT_A_HOME", path=address, why=why, fix="choose an empty prefix")
            store.probe(path)
            with suppress(FileExistsError):  # another process creates it, too
                store.create(path / FORMAT_FILE, seal(new_format()))
        identity = read_format(store, path)
        store.register()
        # No lock: each opening is a takeover, so that of two at once one is refused.
        return cls(store, path, HomeLock(path, []), identity, abandoned=True, locked=False, watch=watch)

    @property
    def folder(self) -> Path:
        """The home's folder, for what needs a file system; NOT_LOCAL if it is in a bucket."""
        if not self.store.is_local:
            raise error("NOT_LOCAL", path=self.store.address(self.path), what="the home of an engine with this source")
        return Path(self.path)

    @property
    def is_own(self) -> bool:
        """Whether this process opened it; false in a fork of that process."""
        return self._lock.is_own

    @property
    def is_locked(self) -> bool:
        """Whether this process still has the lock; without it, nothing may be written."""
        held = self._lock.is_held if self.lease.state.locked else self.is_own and not self._is_closed
        return held and not self.lease.lost

    def check_owner(self) -> None:
        """Raise an error in a fork of the process that opened the home."""
        self._lock.check()

    def await_free(self, holder: str, takeover: int) -> None:
        """Wait until no other process has the home; HOME_LOCKED if one does. `holder`, `takeover`: the lease and the
        number of the last takeover in the journal."""
        if self.store.is_local:
            lease = read_lease(self.store, self.path)
            # Then a process that was overtaken wrote it over the lease of the one that has the home.
            is_old = lease is not None and 0 < lease.generation <= takeover and lease.holder != holder
            if not is_old:
                return
            self.was_abandoned = True
        if not await_end(self.store, self.path, holder, self._watch):
            raise self.in_use()

    def in_use(self) -> PresageError:
        return _in_use(self.store, self.path)

    def begin(self) -> None:
        """Tell other processes that this one has the home, until `close`."""
        if not self.is_temporary:
            self.lease.begin(self.generation)

    def unlock(self) -> None:
        """Release the lock only, as the end of the process would."""
        self.lease.stop()
        self._lock.release()
        self._is_closed = True

    def close(self) -> None:
        """Release the lock, and remove a temporary home. Does nothing in a fork of the process that opened it."""
        if self._remover:
            self._remover()
        elif self.is_locked:
            # Without it the next process takes over, as after a crash.
            with suppress(OSError):
                self.lease.release()
        self.unlock()


def _is_abandoned(store: Store, folder: PurePath, watch: Watch | None) -> bool:
    """Whether the last process that had the home did not release it. HOME_LOCKED if it is at work without the lock."""
    lease = read_lease(store, folder)
    if lease is None:
        return has_leases(store, folder)  # it was deleted or damaged
    if lease.released:
        return False
    # Who took over from a process that was paused does not have the lock, which that one still has until it ends. A
    # lock of another machine may not count here.
    is_seen = lease.locked and lease.machine in ("", this_machine())
    if not is_seen and not await_end(store, folder, watch=watch):
        raise _in_use(store, folder)
    return True


def has_leases(store: Store, folder: PurePath) -> bool:
    """Whether a home is of the present format: the processes of earlier versions have no lease."""
    return store.exists(folder / FORMAT_FILE) and _content(store, folder)["format"] == FORMAT


def _take_lock(store: Store, folder: Path) -> HomeLock:
    try:
        return HomeLock.take(folder)
    except PresageError as refused:
        lease = read_lease(store, folder)
        if lease is None or lease.released:
            raise
        # It may be another process than the one that has the lock, which is paused.
        raise _in_use(store, folder) from refused


def _in_use(store: Store, folder: PurePath) -> PresageError:
    lease = read_lease(store, folder)
    owner = "another engine" if lease is None else lease.shown
    return error("HOME_LOCKED", path=store.address(folder), owner=owner)


def _remove(folder: Path, lock: HomeLock) -> None:
    if lock.is_own:
        shutil.rmtree(folder, ignore_errors=True)


def _folder(parent: PurePath, existing: set[str], name: str) -> tuple[PurePath, bool]:
    """The folder of a stream's tables, and whether it exists. On some file systems, names that differ only in case are
    one folder: the later one gets a digest of its name."""
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


def check_folder(folder: Path) -> None:
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


def _read_or_write_format(folder: Path, store: Store, more: dict[str, str]) -> Identity:
    """The home's identity. Creates the format file of a new home, under the lock."""
    path = folder / FORMAT_FILE
    content = _content(store, folder) if path.exists() else {**new_format(), **more}
    if PRIVATE not in content and folder.stat().st_uid == os.geteuid():
        # Once only: an administrator may give others access afterwards, for workers of another user.
        folder.chmod(0o700)
        content = {**content, PRIVATE: True}
    content = {**content, "format": FORMAT}
    if not path.exists() or content != _content(store, folder):
        store.put(path, seal(content))
    return Identity.of(content)


def new_format() -> dict[str, Any]:
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return {"format": FORMAT, "id": str(uuid.uuid4()), "created": created}


def read_format(store: Store, folder: PurePath) -> Identity:
    """The identity of an existing home; an error if it is none, or of another format."""
    if not store.exists(folder / FORMAT_FILE):
        why = f"it holds no {FORMAT_FILE}" if store.is_folder(folder) else "it is a file"
        why = why if store.is_folder(folder) or store.exists(folder) else "there is no such folder"
        raise error("NOT_A_HOME", path=folder, why=why, fix="name the folder that an engine was given as its home")
    return Identity.of(_content(store, folder))


def _content(store: Store, folder: PurePath) -> dict[str, Any]:
    """The content of the format file."""
    try:
        content: dict[str, Any] = unseal(store.read(folder / FORMAT_FILE))
        version, _ = content["format"], content["id"]
    except (OSError, ValueError, KeyError, TypeError) as broken:
        raise corrupt(FORMAT_FILE, folder, broken, "restore the file from a copy of the home") from broken
    if version not in (EARLIER, FORMAT):
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
