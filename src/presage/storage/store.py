"""Stores: where the files of a home lie. A file is written as a whole, and under its name at most once or replaced.

A store has four acts: put, put if absent (`create`), read a range, list. It needs no rename, no append and no lock.
Paths are `Path` in a file system; elsewhere pure paths, whose first part is the bucket.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import PurePath
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeVar

if TYPE_CHECKING:
    from deltalake import DeltaTable


Item = TypeVar("Item")
Found = TypeVar("Found")


class Writes(Protocol):
    """Where new files are written: a store, or memory."""

    def writer(self, path: PurePath) -> AbstractContextManager[BinaryIO]: ...


class StoreError(OSError):
    """A request to an object store failed, for another reason than that the object is missing or exists: the store is
    not reached, refuses the credentials, or is too busy. It says nothing about what is stored."""


class Store(ABC):
    """Missing files raise FileNotFoundError, other failures OSError. `durable=False`: without flushing, for a temporary
    home."""

    durable: bool = True
    is_local: bool = False  # whether its paths are those of a file system
    is_distant: bool = False  # whether a request takes so long that a thread for it is worth its while

    @abstractmethod
    def put(self, path: PurePath, data: bytes) -> None:
        """Write or replace a file, as a whole or not at all. It is durable when this returns."""

    @abstractmethod
    def create(self, path: PurePath, data: bytes, before_name: Callable[[], None] | None = None) -> None:
        """Like `put`, but raises FileExistsError if the file exists, also if another process creates it just now.

        `before_name` is called before the file can appear.
        """

    @abstractmethod
    def read(self, path: PurePath, start: int = 0, length: int | None = None) -> bytes:
        """The bytes of a file from `start` on; fewer than `length` at its end."""

    @abstractmethod
    def names(self, folder: PurePath) -> list[str]:
        """The names of the files and folders in a folder, sorted, without unfinished files; none if it is missing."""

    @abstractmethod
    def size(self, path: PurePath) -> int: ...

    @abstractmethod
    def delete(self, path: PurePath) -> None:
        """Delete a file; no effect if it is missing."""

    def delete_all(self, paths: Collection[PurePath]) -> None:
        """Delete files, in as few requests as the store allows."""
        for path in paths:
            self.delete(path)

    @abstractmethod
    def delete_folder(self, folder: PurePath) -> None:
        """Delete a folder with all that is below it; no effect if it is missing."""

    @abstractmethod
    def reader(self, path: PurePath) -> AbstractContextManager[BinaryIO]:
        """A file, opened for reading at any place."""

    @abstractmethod
    def writer(self, path: PurePath) -> AbstractContextManager[BinaryIO]:
        """A new file, opened for writing and reading. It appears at the latest when the block ends, and only if it ends
        well; it is durable after `flush` of its folder."""

    def write_new(self, files: Mapping[PurePath, bytes], written: Callable[[PurePath], None]) -> None:
        """Write new files, perhaps several at a time. They are durable after `flush` of their folders. `written` is
        called by this thread after each."""
        for path, data in files.items():
            with self.writer(path) as file:
                file.write(data)
            written(path)

    @abstractmethod
    def flush(self, path: PurePath) -> None:
        """Make durable a file that another library wrote; of a folder, the names of its files."""

    @abstractmethod
    def address(self, path: PurePath) -> str:
        """The address of a file by which `data_files` and other libraries open it."""

    def register(self) -> None:  # noqa: B027  a file system needs none
        """Let this store open the addresses of its files in this process; paths need none."""

    @abstractmethod
    def delta_table(self, folder: PurePath) -> DeltaTable:
        """The Delta table in a folder, at its newest version."""

    def exists(self, path: PurePath) -> bool:
        try:
            self.size(path)
        except FileNotFoundError:
            return False
        return True

    def walk(self, folder: PurePath) -> Iterator[PurePath]:
        """All files below a folder."""
        for name in self.names(folder):
            below = folder / name
            if self.is_folder(below):
                yield from self.walk(below)
            else:
                yield below

    def sizes(self, folder: PurePath) -> Iterator[tuple[PurePath, int]]:
        """All files below a folder with their sizes; without those that are deleted meanwhile."""
        for path in self.walk(folder):
            with suppress(FileNotFoundError):
                yield path, self.size(path)

    def each(self, act: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
        """The result of an act that reads, for each item; several at once where a request takes its time."""
        return [act(item) for item in items]

    @abstractmethod
    def is_folder(self, path: PurePath) -> bool:
        """Whether there is a file below a path, or an empty folder of a file system."""


def create_own(store: Store, path: PurePath, data: bytes) -> None:
    """`create`, of data that no other process can write: if it is there after a failure, only the reply was lost."""
    try:
        store.create(path, data)
    except OSError:
        try:
            if store.read(path) == data:
                return
        except FileNotFoundError:
            pass  # it did not take effect
        raise
