"""Paths that statements name: kept under the folders that the user allowed."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from presage.errors import error

# `s3://…`, `abfss://…`, and what pathlib makes of them, `s3:/…`; one letter is a drive.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
MAX_TEXT = 64 * 2**20  # bytes of a file that is taken in as a whole


def local_path(path: str | os.PathLike[str], what: str) -> Path:
    """A path of this machine's file system; the address of an object store or a server is refused."""
    address = os.fspath(path)
    if _URL.match(address):
        raise error("NOT_LOCAL", path=address if "://" in address else address.replace(":/", "://", 1), what=what)
    return Path(path)


def resolve_under_roots(
    path: str, roots: Sequence[str | os.PathLike[str]], base: str | os.PathLike[str], must_exist: bool = True
) -> Path:
    """The file that a path of a statement means, links followed, if it lies in one of the allowed folders.

    A relative one begins at `base`; what is not there is looked for in the allowed folders."""
    if not path:  # it would be the base itself
        raise error("BAD_VALUE", what="path", found="empty", expected="that of a file or a folder")
    local_path(path, "a path")
    try:
        allowed = [Path(os.path.realpath(root)) for root in roots]
        places = dict.fromkeys(Path(os.path.realpath(Path(start) / path)) for start in (base, *allowed))
        found = [place for place in places if any(place == root or root in place.parents for root in allowed)]
        if not found:
            raise error("PATH_OUTSIDE_ROOTS", path=path, roots=", ".join(map(str, allowed)))
        there = next((place for place in found if place.exists()), None)
    except (OSError, ValueError) as failure:  # too long, or with a character that no name may have
        why = getattr(failure, "strerror", None) or str(failure)
        raise error("FILE_UNREADABLE", path=path, why=why, fix="check the path") from failure
    if must_exist and there is None:
        raise error("FILE_NOT_FOUND", path=path, fix=f"looked for {', '.join(map(str, found))}")
    return there if must_exist and there is not None else found[0]


def read_text(path: str) -> str:
    """What a file says, if that is text of a size that the home can keep."""
    try:
        size = os.stat(path).st_size
        if size > MAX_TEXT:
            raise error("LIMIT", what=f"the file '{path}' with {size} bytes", limit_name="bytes of a file of text",
                        limit=MAX_TEXT)  # fmt: skip
        return Path(path).read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as failure:
        raise error("FILE_UNREADABLE", path=path, why=str(failure), fix="give a file of text in UTF-8") from failure
