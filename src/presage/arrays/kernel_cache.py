"""The cache of compiled kernels: the user's folder first, then the kernels that a wheel brought.

Numba's own cache would take settings of the whole process (`NUMBA_CACHE_DIR`, `NUMBA_CPU_NAME`), which the user's own
functions would follow. It keeps an index for each function, which two processes at once can leave with a wrong entry.
Here each kernel is a file of its own, named by a hash of all that it depends on, and written under another name first.

A file begins with a checksum, because LLVM ends the process when it is given damaged code. What cannot be read is
compiled.
"""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from contextlib import suppress
from functools import cache
from hashlib import sha256
from io import BytesIO
from typing import Any
from uuid import uuid4

from numba.core import serialize
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime.nrt import rtsys

from presage.arrays.kernel_folders import BUNDLED, PACKAGE, UserFolder, folder_name, reason, user_folder
from presage.errors import PresageWarning, warning

# Numba has no types for these.
_dumps: Any = serialize.dumps
_rebuild: Any = CompileResult._rebuild
_known: Any = lookup_environment

MAGIC = b"presage kernel 1\n"
ENDING = ".kernel"
_DIGEST = 32

# The processor that the kernels of a wheel are compiled for: any of its architecture, without features.
BASELINE = ("generic", "")


class BundledKernels:
    """Whether kernels of the wheel are taken. Not while compiling for this machine or for a wheel."""

    wanted = True


class KernelCache(_Cache):
    """The compiled code of one function; in place of Numba's cache in its dispatcher."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._enabled = True

    @property
    def cache_path(self) -> str:
        return str(_folder().path)

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        for path in _folder().path.glob(f"{self._prefix()}-*{ENDING}"):
            path.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if not self._enabled:
            return None
        # What compiled code calls. `refresh` would also load the compiler's libraries, which takes longer than a small
        # query; Numba calls it before it compiles.
        rtsys.initialize(target_context)
        architecture, *processor = target_context.codegen().magic_tuple()
        content = _read_own(self._file(sig, architecture, *processor))
        kernel = _restored(content, sig, target_context)
        if kernel is None and BundledKernels.wanted:
            content = _read_bundled(self._file(sig, architecture, *BASELINE))
            kernel = _restored(content, sig, target_context)
        return kernel

    def save_overload(self, sig: Any, data: Any) -> None:
        # As Numba: such code holds addresses of this process.
        if not self._enabled or data.library.has_dynamic_globals or any(not each.can_cache for each in data.lifted):
            return
        payload = _dumps((sig, data._reduce()))
        _write(self._file(sig, *data.codegen.magic_tuple()), MAGIC + sha256(payload).digest() + payload)

    def _file(self, sig: Any, *target: str) -> str:
        function = self._function
        cells = _dumps(tuple(each.cell_contents for each in function.__closure__)) if function.__closure__ else b""
        what = (function.__module__, function.__code__.co_firstlineno, function.__code__.co_code, cells)
        named = sha256(repr((what, str(sig), target)).encode()).hexdigest()[:24]
        return f"{self._prefix()}-{named}{ENDING}"

    def _prefix(self) -> str:
        return f"{self._function.__module__.rpartition('.')[2]}.{self._function.__name__}"


@cache
def _folder() -> UserFolder:
    return user_folder()


def _read_own(file: str) -> bytes:
    folder = _folder()
    try:
        return (folder.path / file).read_bytes() if folder.readable else b""
    except OSError:
        return b""


def _read_bundled(file: str) -> bytes:
    # By the loader: the package may be in a zip file.
    loader: Any = __spec__.loader
    try:
        return bytes(loader.get_data(str(PACKAGE / BUNDLED / folder_name() / file)))
    except OSError:
        return b""


def _restored(content: bytes, sig: Any, target_context: Any) -> Any:
    """The kernel of a file; None if there is none, or if it is damaged or that of another signature."""
    head, payload = content[: len(MAGIC) + _DIGEST], content[len(MAGIC) + _DIGEST :]
    if head != MAGIC + sha256(payload).digest():
        return None
    try:
        stored, reduced = _Unpickler(BytesIO(payload)).load()
        # Two types may have one name.
        return _rebuild(target_context, *reduced) if stored == sig else None
    except Exception:  # written by libraries of other versions
        return None


class _Unpickler(pickle.Unpickler):
    """Reads a kernel without the modules of Numba that its functions came from, which are half the time of loading it.
    Only interpreted code looks up names in a module."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("numba.core.environment", "_rebuild_env"):
            return _environment
        return super().find_class(module, name)


def _environment(module: str, constants: list[Any], name: str) -> Any:
    """The constants that compiled code refers to, as Numba restores them."""
    known = _known(name)
    if known is None:
        loaded = sys.modules.get(module)
        known = Environment({"__name__": module} if loaded is None else vars(loaded))
        known.consts[:] = constants
        known.env_name = name
        Environment._memo[name] = known
    return known


def _write(file: str, content: bytes) -> None:
    folder = _folder()
    problem = folder.problem
    if not problem:
        unfinished = folder.path / f"{file}.{uuid4().hex}"
        try:
            unfinished.write_bytes(content)
            os.replace(unfinished, folder.path / file)
        except OSError as found:
            problem = reason(found, folder.path)
            with suppress(OSError):
                unfinished.unlink()
    if problem:
        _warn(problem)


@cache
def _warn(problem: str) -> None:
    """Once for each problem."""
    warnings.warn(PresageWarning(warning("KERNELS_NOT_KEPT", why=problem)), stacklevel=2)
