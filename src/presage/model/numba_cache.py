"""Where compiled kernels are kept between processes: sets NUMBA_CACHE_DIR to a private folder of the user.

Numba stores machine code next to a pickled index, so whoever can write to the folder can run code as the user: it is
made for the owner alone (0700), and a folder that belongs to someone else is not used.

Numba files its code by the path of the source. A cluster puts the package into another folder for every executor, or
leaves it in the zip file as which it was shipped: each executor would compile all kernels anew. `KernelLocator` files
the code by the name of the module, with the hash of all kernels as its version, wherever the sources lie.
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
# Those that Numba goes through by itself: the functions of others are kept where they always were.
_OF_NUMBA = "UserProvidedCacheLocator,InTreeCacheLocator,UserWideCacheLocator,IPythonCacheLocator,ZipCacheLocator"


def use_user_cache() -> Path:
    """Point Numba at the folder and return it; call it before Numba is imported. A folder that the user chose stays."""
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
    # A user's own import of Numba may have come first; it read the variable then.
    numba = sys.modules.get("numba")
    if numba is not None:
        numba.config.CACHE_DIR = str(folder)
    return folder


class KernelLocator:
    """Tells Numba where the compiled form of a function of ours lies; it has the methods of Numba's own locators."""

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
            return None  # Numba asks the next one
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
    # XDG says that a relative path in the variable is to be ignored.
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
    """The fingerprint of what this process runs: asked once for each function."""
    return _fingerprint()


def _fingerprint() -> str:
    """Hash of all kernel sources. Numba looks only at the file of the compiled function, not at those of its callees
    in other files, and would go on with old machine code after one of them changed."""
    digest = hashlib.sha256()
    for name, content in sorted(_sources(Path(__file__).parents[1])):
        digest.update(name.rpartition("/")[2].encode())
        digest.update(content)
    return digest.hexdigest()[:12]


_COMPILED = "model/calendar.py"  # which kernels compile as well


def _sources(package: Path) -> Iterator[tuple[str, bytes]]:
    """The kernels' files, by their names below the package, from a folder or from the zip file that it lies in."""
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
            beside = name == _COMPILED or parts[0] == "arrays"
            if ours and (parts[2:3] == ["kernel"] or beside):
                yield name, shipped.read(entry)


def _make_private(folder: Path) -> None:
    """Create the folder for its owner alone; OSError if it cannot be, or if it is not the user's."""
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
    # Functions marked cache=True refuse to compile without any folder, so the process gets one that goes with it.
    folder = Path(tempfile.mkdtemp(prefix="presage-numba-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
