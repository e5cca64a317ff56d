"""The copy of a home to another folder or bucket: every file with its digest, the format file last.

The source is opened, as by an engine, and held until the copy is complete: it is recovered first, and nobody writes it
meanwhile. An interrupted copy is no home, because it has no format file; the same copy begun again goes on.
"""

from __future__ import annotations

import os
import uuid
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, cast

from presage.errors import PresageError, error
from presage.storage import Log
from presage.storage.data_files import PIECE
from presage.storage.delta_log import CHECKPOINT, seal_of
from presage.storage.delta_replay import replay
from presage.storage.failures import REPAIR, corrupt, storage
from presage.storage.home import (
    APPLICATION,
    FORMAT_FILE,
    UNFINISHED,
    Home,
    check_folder,
    new_format,
    open_place,
    read_format,
)
from presage.storage.home_lease import FILE as LEASE
from presage.storage.home_lease import LeaseState
from presage.storage.lock import LOCK_FILE
from presage.storage.sealed_json import seal, unseal
from presage.storage.store import Store

if TYPE_CHECKING:
    from presage.storage.object_store import ObjectStore

REPORT = "running.json"
# Of a process and its opening, not of the home.
LEFT_OUT = {LOCK_FILE, LEASE, FORMAT_FILE, REPORT, UNFINISHED}
THREADS = 16
SMALL = 8 << 20  # bytes of a file that is read at once


@dataclass(frozen=True)
class CopyReport:
    """`files` and `bytes` of the copy; `kept`: files that an interrupted copy had left there."""

    id: str
    files: int
    bytes: int
    kept: int


class Copy:
    """`keep_identity`: for a home that moves. Else the copy gets its own, so that brokers and the targets of sinks tell
    the two apart."""

    def __init__(self, home: str | os.PathLike[str], to: str | os.PathLike[str], keep_identity: bool = False) -> None:
        self._source, self._to, self._keep_identity = home, to, keep_identity

    def run(self) -> CopyReport:
        (store, place), (source, path) = open_place(self._to), open_place(self._source)
        with storage(source.address(path), "and start the copy again"):
            identity = read_format(source, path).id
        with storage(store.address(place), "and start the copy again: it goes on"):
            self._check_target(store, place, source.address(path), identity)
            with Log.open(self._source) as log:
                self._check_source(log.home, store)
                report = self._copy(log, store, place)
                log.home.lease.renew()
                if not log.home.is_locked:
                    raise error("HOME_OVERTAKEN", what="the lease", path=log.home.address)
                # From here on it is a home.
                store.create(place / FORMAT_FILE, seal(self._format(log.home, report.id)))
                store.delete(place / UNFINISHED)
                store.flush(place)
        return report

    def _check_target(self, store: Store, place: PurePath, source: str, identity: str) -> None:
        target = store.address(place)
        if target == source or f"{target}/".startswith(f"{source}/") or f"{source}/".startswith(f"{target}/"):
            raise _refused(source, f"'{target}' lies in the same place", "choose another place")
        names = os.listdir(place) if store.is_local and os.path.isdir(place) else store.names(place)
        if FORMAT_FILE in names:
            raise _refused(source, f"'{target}' is a home already", "choose an empty place")
        if UNFINISHED in names:
            try:
                begun = unseal(store.read(place / UNFINISHED))["of"]
            except (ValueError, KeyError, TypeError):
                begun = "another home"
            if begun == identity:
                return
            raise _refused(
                source, f"'{target}' holds an unfinished copy of another home", "remove it, or choose an empty place"
            )
        if names:
            raise _refused(source, f"'{target}' holds '{sorted(names)[0]}'", "choose an empty place")
        if store.is_local:
            check_folder(Path(place))
            Path(place).mkdir(mode=0o700, parents=True, exist_ok=True)
        else:
            cast("ObjectStore", store).probe(place)
        store.put(place / UNFINISHED, seal({"of": identity}))

    def _check_source(self, home: Home, store: Store) -> None:
        if not store.is_local and any(path.suffix == ".spool" for path in home.store.walk(home.path / "spool")):
            why = "it has a spool of an MQTT source, which needs a folder"
            raise _refused(home.address, why, "drop the stream with the source first, or copy to a folder")
        for name in () if self._keep_identity else home.store.names(home.path / "sinks"):
            if name.endswith(".json") and self._is_delivering(home, home.path / "sinks" / name):
                why = "a delivery of a sink was interrupted; only a home of the same identity knows how far it came"
                raise _refused(home.address, why, "let an engine finish it, or copy with --keep-identity")

    @staticmethod
    def _is_delivering(home: Home, path: PurePath) -> bool:
        try:
            return unseal(home.store.read(path)).get("end") is not None
        except ValueError as broken:
            raise corrupt(f"the file '{path.name}'", home.path, broken, "restore it from a copy") from broken

    def _copy(self, log: Log, store: Store, place: PurePath) -> CopyReport:
        home = log.home
        files = {file.name: file for file in _files_of(log)}
        there = {path.relative_to(place): size for path, size in store.sizes(place) if path != place / UNFINISHED}
        for name in there.keys() - files.keys():
            store.delete(place / name)  # of an earlier attempt
        with ThreadPoolExecutor(THREADS) as threads:
            jobs = [
                threads.submit(_copied, home, store, place / name, file, there.get(name))
                for name, file in sorted(files.items())
            ]
            try:
                done = [job.result() for job in jobs]
            finally:
                threads.shutdown(cancel_futures=True)
        for folder in sorted({(place / name).parent for name in files}):
            store.flush(folder)
        if log.holder:
            # The process that took over the source last has released the copy.
            lease = LeaseState(log.holder, "the copying process", released=True)
            store.put(place / LEASE, seal(asdict(lease)))
        identity = home.id if self._keep_identity else str(uuid.uuid4())
        return CopyReport(identity, len(files), sum(file.size for file in files.values()), sum(done))

    def _format(self, home: Home, identity: str) -> dict[str, object]:
        content = unseal(home.store.read(home.path / FORMAT_FILE))
        copied = datetime.now(UTC).isoformat(timespec="seconds")
        # Tables know the transactions of the home by the identity that it had when it was created.
        return {**new_format(), **content, "id": identity, APPLICATION: home.application, "copied": copied}


@dataclass(frozen=True)
class _File:
    """A file to copy: its path below the home; the digest that was recorded for it, if one was."""

    name: PurePath
    size: int
    digest: int | None = None


def _files_of(log: Log) -> Iterator[_File]:
    """The files of the home: all but those that no table names any more."""
    home = log.home
    store, folders = home.store, dict[PurePath, dict[str, int | None]]()
    for stream, table in log.tables():
        folder = home.table_folder(stream, table)
        live = replay(store, folder, home.application).live
        folders[folder] = {name: file.digest for name, file in live.items()}
    for path, size in store.sizes(home.path):
        name = path.relative_to(home.path)
        if name.parts[0] in LEFT_OUT:
            continue
        if path.parent not in folders:
            yield _File(name, size)
        elif path.name in folders[path.parent]:
            yield _File(name, size, folders[path.parent].pop(path.name))
        # A hidden name, which a folder does not list.
        if store.is_local and name.name.endswith(CHECKPOINT) and store.exists(seal_of(path)):
            yield _File(seal_of(name), store.size(seal_of(path)))
    for folder, missing in folders.items():
        for lost in missing:
            raise corrupt(f"the data file '{lost}'", folder, "it is missing", REPAIR)


def _copied(home: Home, store: Store, target: PurePath, file: _File, there: int | None) -> bool:
    """Copy one file, and compare it. `there`: the size of what an interrupted copy left; the result: whether that was
    complete."""
    source = home.path / file.name
    is_kept, check = False, None
    if there == file.size:
        check = _digest(home.store, source, file.size)
        is_kept = _digest(store, target, file.size) == check
    if not is_kept:
        if there is not None or store.is_local:  # hidden names are not listed
            store.delete(target)
        check = 0
        with store.writer(target) as writing:
            for piece in _pieces(home.store, source, file.size):
                check = zlib.crc32(piece, check)
                writing.write(piece)
        if _digest(store, target, file.size) != check:
            raise _refused(home.address, f"'{store.address(target)}' does not hold what was written", "check the disk")
    if file.digest not in (None, check):
        raise corrupt(f"the data file '{source.name}'", source.parent, "its digest is wrong", REPAIR)
    return is_kept


def _digest(store: Store, path: PurePath, size: int) -> int:
    check = 0
    for piece in _pieces(store, path, size):
        check = zlib.crc32(piece, check)
    return check


def _pieces(store: Store, path: PurePath, size: int) -> Iterator[bytes]:
    if size <= SMALL:
        yield store.read(path)  # one request
        return
    with store.reader(path) as file:
        while piece := file.read(PIECE):
            yield piece


def _refused(home: str, why: str, fix: str) -> PresageError:
    return error("COPY_REFUSED", path=home, why=why, fix=fix)
