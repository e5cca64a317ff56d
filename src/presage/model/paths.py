"""Paths that statements name: kept under the folders that the user allowed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from presage.errors import error


def resolve_under_roots(path: str, roots: Sequence[str | os.PathLike[str]], base: str | os.PathLike[str]) -> Path:
    """The file that a path of a statement means, links followed, if it lies in one of the allowed folders."""
    resolved = Path(os.path.realpath(Path(base) / path))
    allowed = [Path(os.path.realpath(root)) for root in roots]
    if not any(resolved == root or root in resolved.parents for root in allowed):
        raise error("PATH_OUTSIDE_ROOTS", path=path, roots=", ".join(map(str, allowed)))
    if not resolved.exists():
        raise error("FILE_NOT_FOUND", path=path, fix=f"looked for {resolved}")
    return resolved
