"""The store of a home in a folder of a file system, local or mounted."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, BinaryIO, cast

from presage.storage.store import Store

if TYPE_CHECKING:
    from deltalake import DeltaTable

# Errors of file systems without hard links.
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class FileStore(Store):
    """Files have their names only when they are whole: they are written under hidden names first."""

    is_local = True

    def __init__(self, durable: bool = True) -> None:
        self.durable = durable

    def put(self, path: PurePath, data: bytes) -> None:
        temporary = path.with_name(f".{path.name}.tmp")
        self._write(temporary, data)
        os.replace(temporary, path)
        self.flush(path.parent)

    def create(self, path: PurePath, data: bytes, before_name: Callable[[], None] | None = None) -> None:
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
        self._write(temporary, data)
        if before_name:
            before_name()
        try:
            os.link(temporary, path)
        except FileExistsError:
            # A network file system may repeat a request that has already succeeded.
            if not os.path.samefile(temporary, path):
                raise
        except OSError as failure:
            if failure.errno not in NO_LINKS or os.path.exists(path):
                raise
            os.replace(temporary, path)
        finally:
            Path(temporary).unlink(missing_ok=True)
        self.flush(path.parent)

    def _write(self, path: PurePath, data: bytes) -> None:
        try:
            with self._made(path, "wb") as file:
                file.write(data)
                file.flush()
                if self.durable:
                    os.fsync(file.fileno())
        except OSError:
            Path(path).unlink(missing_ok=True)  # the disk may be full
            raise

    def _made(self, path: PurePath, mode: str) -> BinaryIO:
        """A file that is opened for writing, in a folder that is made if it is missing."""
        try:
            return cast(BinaryIO, open(path, mode))
        except FileNotFoundError:
            self._make(path.parent)
            return cast(BinaryIO, open(path, mode))

    def _make(self, folder: PurePath) -> None:
        """Make a folder and those above it, durably."""
        missing = [folder, *(parent for parent in folder.parents if not os.path.isdir(parent))]
        Path(folder).mkdir(parents=True, exist_ok=True)
        for each in missing:
            self.flush(each.parent)

    def read(self, path: PurePath, start: int = 0, length: int | None = None) -> bytes:
        with open(path, "rb") as file:
            file.seek(start)
            return file.read(-1 if length is None else length)

    def names(self, folder: PurePath) -> list[str]:
        try:
            return sorted(name for name in os.listdir(folder) if not name.startswith("."))
        except FileNotFoundError:
            return []

    def size(self, path: PurePath) -> int:
        return os.stat(path).st_size

    def delete(self, path: PurePath) -> None:
        Path(path).unlink(missing_ok=True)

    def delete_folder(self, folder: PurePath) -> None:
        if os.path.isdir(folder):
            shutil.rmtree(folder)
            self.flush(folder.parent)

    @contextmanager
    def reader(self, path: PurePath) -> Iterator[BinaryIO]:
        with open(path, "rb") as file:
            yield file

    @contextmanager
    def writer(self, path: PurePath) -> Iterator[BinaryIO]:
        # Under its final name: no reader knows it before a record names it.
        try:
            with self._made(path, "x+b") as file:
                yield file
                file.flush()
                if self.durable:
                    os.fsync(file.fileno())
        except FileExistsError:
            raise
        except BaseException:
            Path(path).unlink(missing_ok=True)
            raise

    def flush(self, path: PurePath) -> None:
        if self.durable and os.path.exists(path):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def address(self, path: PurePath) -> str:
        return str(path)

    def delta_table(self, folder: PurePath) -> DeltaTable:
        from deltalake import DeltaTable  # its loading takes longer than a small query

        return DeltaTable(str(folder))

    def exists(self, path: PurePath) -> bool:
        return os.path.exists(path)

    def is_folder(self, path: PurePath) -> bool:
        return os.path.isdir(path)
