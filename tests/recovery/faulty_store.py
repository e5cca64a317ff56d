"""A store in memory that fails where it is told to: before an act took effect, or after it, as if a reply were lost."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any, BinaryIO

from presage.storage.store import Store

BEFORE, AFTER = "before", "after"


class FaultyStore(Store):
    """`faults`: by the number of a changing act, from 1 on."""

    def __init__(self, files: dict[PurePath, bytes] | None = None) -> None:
        self.files = {} if files is None else files
        self.faults: dict[int, str] = {}
        self.acts = 0

    def _change(self, act: Callable[[], None]) -> None:
        self.acts += 1
        fault = self.faults.get(self.acts)
        if fault == BEFORE:
            raise OSError("the store does not answer")
        act()
        if fault == AFTER:
            raise OSError("the reply was lost")

    def put(self, path: PurePath, data: bytes) -> None:
        self._change(lambda: self.files.update({path: data}))

    def create(self, path: PurePath, data: bytes, before_name: Callable[[], None] | None = None) -> None:
        def act() -> None:
            if path in self.files:
                raise FileExistsError(str(path))
            self.files[path] = data

        if before_name:
            before_name()
        self._change(act)

    def read(self, path: PurePath, start: int = 0, length: int | None = None) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(2, "missing", str(path))
        return self.files[path][start : None if length is None else start + length]

    def names(self, folder: PurePath) -> list[str]:
        return sorted({path.relative_to(folder).parts[0] for path in self.files if folder in path.parents})

    def size(self, path: PurePath) -> int:
        return len(self.read(path))

    def modified(self, path: PurePath) -> float:
        self.read(path)
        return 0.0

    def delete(self, path: PurePath) -> None:
        self._change(lambda: self.files.pop(path, None) and None)

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
        return str(path)

    def delta_table(self, folder: PurePath) -> Any:
        raise AssertionError("tables are not in this store")

    def is_folder(self, path: PurePath) -> bool:
        return bool(self.names(path))
