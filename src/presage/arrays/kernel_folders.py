"""Where compiled kernels lie: a private folder of the user, and a folder of the package if a wheel brought it.

Compiled kernels are pickles, so whoever can write to a folder can run code as the user who reads it. The user's folder
is private to its owner (0700), and a folder of another user is not used. The package's folder is trusted as its code.

Both are named by Python, Numba and a hash of all kernels. Paths do not count: on a cluster, each executor has the
package in another folder, or in a zip file.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from zipfile import ZipFile

VARIABLE = "NUMBA_CACHE_DIR"
PACKAGE = Path(__file__).parents[1]
BUNDLED = "kernels"  # folder of the package


@dataclass(frozen=True)
class UserFolder:
    path: Path
    readable: bool  # what is there was written by this user
    problem: str  # why nothing can be written; empty if it can


def user_folder() -> UserFolder:
    """The user's folder, made if need be. The variable of Numba's own folder says where it is."""
    chosen = os.environ.get(VARIABLE)
    base = Path(chosen) if chosen else _cache_home() / "presage"
    folder = base / folder_name()
    problem = ""
    try:
        if chosen:
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            _refuse_open(base)
        else:
            _make_private(base)
        _make_private(folder)
    except OSError as found:
        problem = reason(found, folder)
    safe = not problem or (_is_private(folder) and (_is_shared_well(base) if chosen else _is_private(base)))
    return UserFolder(folder, safe, problem)


def reason(found: OSError, folder: Path) -> str:
    """Why a folder cannot be written to, with the path that the system refused."""
    if found.strerror is None:
        return str(found)
    refused = folder if found.filename is None else found.filename
    return f"{refused} is a file" if isinstance(found, FileExistsError) else f"{refused}: {found.strerror}"


@cache
def folder_name() -> str:
    """Numba and LLVM read what only the same version has written; machine code is filed within the folder."""
    tag = f"{sys.implementation.cache_tag}{sys.abiflags}"
    return f"{tag}-numba-{version('numba')}-llvmlite-{version('llvmlite')}-{fingerprint(PACKAGE)}"


def fingerprint(package: Path) -> str:
    """Hash of all kernel sources. A change of one file compiles all anew, because loops contain functions of others."""
    digest = sha256()
    for name, content in sorted(_sources(package)):
        digest.update(name.rpartition("/")[2].encode())
        digest.update(content)
    return digest.hexdigest()[:12]


_COMPILED = "model/calendar.py"  # compiled into kernels as well


def _sources(package: Path) -> Iterator[tuple[str, bytes]]:
    """The kernels' files, by their paths in the package, from a folder or from a zip file."""
    if package.is_dir():
        for path in [
            *package.glob("operators/*/kernel/**/*.py"),
            *package.glob("arrays/**/*.py"),
            *package.glob(_COMPILED),
        ]:
            yield path.relative_to(package).as_posix(), path.read_bytes()
        return
    archive = next(parent for parent in package.parents if parent.is_file())
    prefix = package.relative_to(archive).as_posix() + "/"
    with ZipFile(archive) as shipped:
        for entry in shipped.namelist():
            name = entry.removeprefix(prefix)
            parts = name.split("/")
            ours = entry.startswith(prefix) and name.endswith(".py")
            if ours and (parts[2:3] == ["kernel"] or name == _COMPILED or parts[0] == "arrays"):
                yield name, shipped.read(entry)


def _cache_home() -> Path:
    # XDG: a relative path in the variable is ignored.
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return base if base.is_absolute() else Path(os.path.expanduser("~")) / ".cache"


def _make_private(folder: Path) -> None:
    """Create the folder, private to its owner; OSError if that fails, or if it belongs to another user."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(f"{folder} is not a folder")
    if found.st_uid != os.geteuid():
        raise PermissionError(f"{folder} belongs to another user")
    if found.st_mode & 0o077:
        folder.chmod(0o700)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder} cannot be written to")


def _is_private(folder: Path) -> bool:
    """Only this user can have written to the folder: also true of one on a disk that cannot be written to."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _refuse_open(folder: Path) -> None:
    if not _is_shared_well(folder):
        raise PermissionError(f"everybody can replace what lies in {folder}")


def _is_shared_well(folder: Path) -> bool:
    """Others may have folders beside ours, as in /tmp, but cannot put theirs in its place."""
    mode = folder.stat().st_mode if folder.is_dir() else 0o777
    return not mode & 0o002 or bool(mode & stat.S_ISVTX)
