"""A bucket in memory that fails where it is told to: before an act took effect, after it, or with an effect that comes
later than its sender gave it up."""

from __future__ import annotations

import io
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO
from unittest.mock import patch

from presage.storage import home_lease
from presage.storage.object_store import ObjectStore
from presage.storage.store import Store, StoreError

if TYPE_CHECKING:
    from deltalake import DeltaTable

ADDRESS = "s3://memory/home"
BEFORE, AFTER, LATER = "before", "after", "later"
FAULTS = (BEFORE, AFTER, LATER)
PATIENCE = 3  # changing acts, before one that was given up takes effect
Files = dict[PurePath, bytes]
Act = Callable[[Files], None]


class FaultyStore(Store):
    """`faults`: by the number of a changing act, from 1 on. `read_faults`: numbers of reads and listings that fail.
    `slow`: called between the making of a listing and its arrival. `pauses`: by the number of a request of any kind,
    what happens before it takes effect: its process is paused for so long."""

    def __init__(self, files: Files | None = None) -> None:
        self.files = {} if files is None else files
        self.faults: dict[int, str] = {}
        self.acts = 0
        self.read_faults: set[int] = set()
        self.reads = 0
        self.slow: Callable[[], None] | None = None
        self.pauses: dict[int, Callable[[], None]] = {}
        self.requests = 0
        self._underway: list[tuple[int, Act]] = []

    def _pause(self) -> None:
        self.requests += 1
        pause = self.pauses.pop(self.requests, None)
        if pause is not None:
            pause()

    def _change(self, act: Act) -> None:
        self._pause()
        self.acts += 1
        self.arrive(self.acts)
        fault = self.faults.get(self.acts)
        if fault == BEFORE:
            raise StoreError("the store does not answer")
        if fault == LATER:
            self._underway.append((self.acts + PATIENCE, act))
            raise StoreError("the store did not answer in time")
        act(self.files)
        if fault == AFTER:
            raise StoreError("the reply was lost")

    def arrive(self, until: int = 2**62) -> None:
        """Let requests take effect that were given up."""
        due = [act for when, act in self._underway if when <= until]
        self._underway = [each for each in self._underway if each[0] > until]
        for act in due:
            with suppress(FileExistsError):  # nobody waits for the reply
                act(self.files)

    def _look(self) -> None:
        self._pause()
        self.reads += 1
        if self.reads in self.read_faults:
            raise StoreError("the store does not answer")

    def put(self, path: PurePath, data: bytes) -> None:
        self._change(lambda files: files.update({path: data}))

    def create(self, path: PurePath, data: bytes, before_name: Callable[[], None] | None = None) -> None:
        def act(files: Files) -> None:
            if files.setdefault(path, data) is not data:
                raise FileExistsError(str(path))

        if before_name:
            before_name()
        self._change(act)

    def read(self, path: PurePath, start: int = 0, length: int | None = None) -> bytes:
        self._look()
        if path not in self.files:
            raise FileNotFoundError(2, "missing", str(path))
        return self.files[path][start : None if length is None else start + length]

    def names(self, folder: PurePath) -> list[str]:
        self._look()
        found = sorted({path.relative_to(folder).parts[0] for path in list(self.files) if folder in path.parents})
        if self.slow is not None:
            self.slow()
        return found

    def size(self, path: PurePath) -> int:
        return len(self.read(path))

    def delete(self, path: PurePath) -> None:
        self._change(lambda files: files.pop(path, None) and None)

    def delete_folder(self, folder: PurePath) -> None:
        for path in [path for path in self.files if folder in path.parents]:
            self.delete(path)

    @contextmanager
    def reader(self, path: PurePath) -> Iterator[BinaryIO]:
        yield io.BytesIO(self.read(path))

    @contextmanager
    def writer(self, path: PurePath) -> Iterator[BinaryIO]:
        file = io.BytesIO()
        yield file
        self.put(path, file.getvalue())

    def flush(self, path: PurePath) -> None:
        """What is in memory is as durable as it will be."""

    def address(self, path: PurePath) -> str:
        return f"s3:/{path}"

    def path(self, address: str) -> PurePosixPath:
        return PurePosixPath("/" + address.partition("://")[2])

    def delta_table(self, folder: PurePath) -> DeltaTable:
        """delta-rs reads files only: it gets a copy of the table's log."""
        from deltalake import DeltaTable

        copy = tempfile.mkdtemp()
        log = Path(copy) / "_delta_log"
        log.mkdir()
        for path in [path for path in self.files if path.parent == folder / "_delta_log"]:
            (log / path.name).write_bytes(self.read(path))
        table = DeltaTable(copy)
        weakref.finalize(table, shutil.rmtree, copy)  # it reads some entries only when it is asked
        return table

    def is_folder(self, path: PurePath) -> bool:
        return bool(self.names(path))

    def probe(self, folder: PurePath) -> None:
        ObjectStore.probe(self, folder)  # type: ignore[arg-type]

    def copied(self) -> FaultyStore:
        """A store with what this one holds once nothing is on its way any more."""
        copy = FaultyStore(dict(self.files))
        copy._underway = [*self._underway]
        copy.arrive()
        return copy


class Bucket:
    """The bucket in memory. Its store may be replaced, by a copy of an earlier time."""

    def __init__(self) -> None:
        self.store = FaultyStore()

    def open(self, address: str, options: Any = None) -> tuple[FaultyStore, PurePosixPath]:
        return self.store, self.store.path(address)


@contextmanager
def bucket_in_memory() -> Iterator[Bucket]:
    """Let addresses lead to a bucket in memory. Leases end at once, and no heartbeat counts as an act."""
    bucket = Bucket()
    with (
        patch("presage.storage.object_store.open_bucket", bucket.open),
        patch("presage.storage.object_store.opened_at", bucket.open),
        patch.object(home_lease, "SECONDS", 0.0),
        patch.object(home_lease, "BEAT", 1e6),
    ):
        yield bucket
