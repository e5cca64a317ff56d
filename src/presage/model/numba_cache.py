"""Where compiled kernels are kept between processes: sets NUMBA_CACHE_DIR to a private folder of the user.

Numba stores machine code next to a pickled index, so whoever can write to the folder can run code as the user: it is
made for the owner alone (0700), and a folder that belongs to someone else is not used.
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
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

VARIABLE = "NUMBA_CACHE_DIR"


def use_user_cache() -> Path:
    """Point Numba at the folder and return it; call it before Numba is imported. A folder that the user chose stays."""
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


def _fingerprint() -> str:
    """Hash of all kernel sources. Numba looks only at the file of the compiled function, not at those of its callees
    in other files, and would go on with old machine code after one of them changed."""
    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    for path in sorted([*package.glob("*/kernel/**/*.py"), *package.glob("arrays/*.py")]):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


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
