"""The cache of compiled kernels: sets NUMBA_CACHE_DIR to a private folder of the user.

Numba stores machine code next to a pickled index, so whoever can write to the folder can run code as the user: it is
private to its owner (0700), and a folder of another user is not used.

Numba keys its cache by the path of the source. On a cluster, each executor has the package in another folder, or in a
zip file, and would compile all kernels again. `KernelLocator` keys it by module name, and by a hash of all kernels.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self
from zipfile import ZipFile

VARIABLE = "NUMBA_CACHE_DIR"
LOCATORS = "NUMBA_CACHE_LOCATOR_CLASSES"
# Numba's own locators: functions of other packages stay where they are.
_OF_NUMBA = "UserProvidedCacheLocator,InTreeCacheLocator,UserWideCacheLocator,IPythonCacheLocator,ZipCacheLocator"


def use_user_cache() -> Path:
    """Point Numba at the folder and return it; called before Numba is imported. A folder set by the user is kept."""
    _use_locator()
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen)
    folder = _user_folder()
    try:
        _make_private(folder.parent)
        _make_private(folder)
    except OSError as problem:
        folder = _folder_of_this_process()
        warnings.warn(
            f"compiled kernels are not kept for the next start: {problem}; set {VARIABLE} to a folder of your own",
            RuntimeWarning,
            stacklevel=2,
        )
    os.environ[VARIABLE] = str(folder)
    # If the user imported Numba first, it has read the variable already.
    numba = sys.modules.get("numba")
    if numba is not None:
        numba.config.CACHE_DIR = str(folder)
    return folder


class KernelLocator:
    """The cache location of one of our functions; has the methods of Numba's own locators."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._folder = os.path.join(os.environ[VARIABLE], function.__module__)
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> Self | None:
        if not os.environ.get(VARIABLE) or not function.__module__.startswith("presage."):
            return None
        self = cls(function)
        try:
            self.ensure_cache_path()
        except OSError:
            return None  # Numba tries the next locator
        return self

    def ensure_cache_path(self) -> None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        tempfile.TemporaryFile(dir=self._folder).close()

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> str:
        return _stamp()

    def get_disambiguator(self) -> str:
        return str(self._line)


def _use_locator() -> None:
    known = os.environ.get(LOCATORS) or _OF_NUMBA
    ours = f"{__name__}.{KernelLocator.__name__}"
    if ours not in known.split(","):
        known = f"{ours},{known}"
        os.environ[LOCATORS] = known
    numba = sys.modules.get("numba")
    if numba is not None:
        numba.config.CACHE_LOCATOR_CLASSES = known


def _user_folder() -> Path:
    # XDG: a relative path in the variable is ignored.
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():
        base = Path(os.path.expanduser("~")) / ".cache"
    return base / "presage" / f"numba-{_version('numba')}-{_version('presage')}-{_fingerprint()}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "source"


@cache
def _stamp() -> str:
    """The fingerprint of this process's kernels: needed for each function, computed once."""
    return _fingerprint()


def _fingerprint() -> str:
    """Hash of all kernel sources. Numba checks only the file of the compiled function, not those of its callees, and
    would use old machine code after one of them changed."""
    digest = hashlib.sha256()
    for name, content in sorted(_sources(Path(__file__).parents[1])):
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


def _folder_of_this_process() -> Path:
    # Numba refuses to compile cache=True functions without a folder: use a temporary one, deleted at exit.
    folder = Path(tempfile.mkdtemp(prefix="presage-numba-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
