"""Paths in statements and loads: how relative ones are resolved, and the root folders that files must lie in.

Roots protect a process from statements of other users, as in `presage serve`. A user's own program may read every file
of the user, unless it names roots.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from presage.errors import PresageError, error

if TYPE_CHECKING:
    from collections.abc import Iterator

AnyPath = str | os.PathLike[str]
# `s3://…`, `abfss://…`, and what pathlib makes of them, `s3:/…`; one letter is a drive.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
SCHEMES = ("s3", "s3a", "gs", "az", "abfs", "abfss", "azure", "adl")  # of object stores
_STORE = re.compile(rf"({'|'.join(SCHEMES)}):/+([^/].*)")
MAX_TEXT = 64 * 2**20  # bytes of a file that is read as a whole


def local_path(path: AnyPath, what: str) -> Path:
    """A path of the local file system; URLs of object stores and servers are refused."""
    address = os.fspath(path)
    if _URL.match(address.lstrip()):
        raise error("NOT_LOCAL", path=address if "://" in address else address.replace(":/", "://", 1), what=what)
    return Path(path)


def home_path(path: AnyPath) -> Path:
    """The path of a home, as given by a user."""
    address = os.fspath(path) if isinstance(path, str | os.PathLike) else path
    if not isinstance(address, str) or "\0" in address:
        raise error("BAD_VALUE", what="a home", found=repr(path), expected="a path, as text")
    return local_path(path, "a home")


def is_address(text: str) -> bool:
    """Whether a text is the address of something in an object store."""
    return "://" in text and text.partition("://")[0] in SCHEMES


def home_place(path: AnyPath) -> Path | str:
    """The path of a home, or its address in an object store."""
    # pathlib makes one slash of two.
    parts = _STORE.match(os.fspath(path)) if isinstance(path, str | os.PathLike) else None
    return f"{parts[1]}://{parts[2]}" if parts else home_path(path)


@dataclass(frozen=True)
class Roots:
    """Folders that relative paths are searched in. `bounded`: files outside of them are refused."""

    folders: tuple[AnyPath, ...] = ()
    bounded: bool = True

    @classmethod
    def of(cls, given: Sequence[AnyPath] | Roots | None, otherwise: Sequence[AnyPath] = ()) -> Roots:
        """Roots given by a user. None: files may lie anywhere, and relative paths are searched in `otherwise`."""
        if isinstance(given, Roots):
            return given
        return cls(tuple(given)) if given is not None else cls(tuple(otherwise), bounded=False)

    def resolve(self, path: str, base: AnyPath, must_exist: bool = True) -> Path:
        """The real path of a file that may be read. A relative path is searched in `base`, then in the folders."""
        if not path:  # it would be the base itself
            raise error("BAD_VALUE", what="path", found="empty", expected="that of a file or a folder")
        local_path(path, "a path")
        try:
            places = dict.fromkeys(Path(os.path.realpath(Path(start) / path)) for start in (base, *self.folders))
            found = [place for place in places if self.contains(place)]
            if not found:
                raise self._outside(path)
            there = next((place for place in found if place.exists()), None)
        except (OSError, ValueError) as failure:  # too long, or with a character that no name may have
            why = getattr(failure, "strerror", None) or str(failure)
            raise error("FILE_UNREADABLE", path=path, why=why, fix="check the path") from failure
        if must_exist and there is None:
            raise error("FILE_NOT_FOUND", path=path, fix=f"looked for {', '.join(map(str, found))}")
        return there if must_exist and there is not None else found[0]

    def contains(self, real: Path) -> bool:
        """Whether a real path (without links) lies in the folders."""
        allowed = [Path(os.path.realpath(root)) for root in self.folders]
        return not self.bounded or any(real == root or root in real.parents for root in allowed)

    @contextmanager
    def opened(self, path: AnyPath) -> Iterator[BinaryIO]:
        """Opens a file for reading. Checked after opening: a link may lead out of a folder, and the name may become
        another file's between a check and the opening."""
        with os.fdopen(self._open(path), "rb") as file:
            yield file

    def _open(self, path: AnyPath) -> int:
        # Non-blocking: opening a pipe without a writer would hang.
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                raise error("FILE_UNREADABLE", path=path, why="it is no file", fix="name a file, or a folder of files")
            if self.bounded and not self.contains(_real_path(opened, path)):
                raise self._outside(path)
        except BaseException:
            os.close(opened)
            raise
        return opened

    def _outside(self, path: AnyPath) -> PresageError:
        return error("PATH_OUTSIDE_ROOTS", path=path, roots=", ".join(os.path.realpath(root) for root in self.folders))


ANYWHERE = Roots(bounded=False)


def _real_path(opened: int, path: AnyPath) -> Path:
    """The real path of an open file."""
    try:
        return Path(os.readlink(f"/proc/self/fd/{opened}"))
    except OSError:  # another system than Linux
        real = os.path.realpath(path)
        if not os.path.samestat(os.stat(real), os.fstat(opened)):
            raise FileNotFoundError(f"'{path}' is another file by now") from None
        return Path(real)


def read_text(path: str, roots: Roots = ANYWHERE) -> str:
    """The content of a text file, up to the size that a home stores."""
    try:
        with roots.opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_TEXT:
                what = f"the file '{path}' with {size} bytes"
                raise error("LIMIT", what=what, limit_name="bytes of a file of text", limit=MAX_TEXT)
            return file.read().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as failure:
        raise error("FILE_UNREADABLE", path=path, why=str(failure), fix="give a file of text in UTF-8") from failure
