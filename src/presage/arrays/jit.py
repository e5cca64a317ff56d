"""Compilation of loops over arrays with Numba: one signature for all queries, cached on disk."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

from presage.arrays.kernel_cache import KernelCache

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

P = ParamSpec("P")
R = TypeVar("R")

# Every compiled loop by name: `warm` must compile all of them, and a test counts their signatures.
LOOPS: dict[str, Any] = {}


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop that only reads its array arguments.

    Arrow has read-only views, NumPy writable arrays. Numba would compile each mixture of the two, so every array is
    passed as a read-only, contiguous view: there is one signature.
    """
    dispatcher = _loop(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        result: R = dispatcher(*[_read_only(a) for a in args], **kwargs)
        return result

    return call


def compiled_in_place(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop that writes to its array arguments, which must all be writable and contiguous."""
    dispatcher = _loop(function)
    return cast("Callable[P, R]", dispatcher)


def compiled_into(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop that writes to its first argument, a contiguous array, and only reads the others."""
    dispatcher = _loop(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        result: R = dispatcher(*args[:1], *[_read_only(a) for a in args[1:]], **kwargs)
        return result

    return call


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """A function that is called only from compiled code. The cache folder is named by a hash of all kernels, so a
    change of one file recompiles the loops of others."""
    return cast("Callable[P, R]", njit(nogil=True)(function))


def inlined_always(function: Callable[P, R]) -> Callable[P, R]:
    """As `inlined`, for functions that cost less than their call, which passes seven numbers for each array. Measure
    it: some loops are no longer vectorized after inlining."""
    return cast("Callable[P, R]", njit(nogil=True, forceinline=True)(function))


def _loop(function: Callable[..., Any]) -> Any:
    loop: Any = njit(nogil=True)(function)
    if hasattr(loop, "enable_caching"):  # not with NUMBA_DISABLE_JIT
        loop._cache = KernelCache(function)
    LOOPS[f"{function.__module__.rpartition('.')[2]}.{function.__name__}"] = loop
    return loop


def _read_only(argument: Any) -> Any:
    if not isinstance(argument, np.ndarray):
        # A NamedTuple of arrays; plain tuples are passed as they are. Not by `_make`, which uses `__len__`: some of
        # them define it as their number of rows.
        return type(argument)(*map(_read_only, argument)) if hasattr(argument, "_fields") else argument
    flags = argument.flags
    if flags.c_contiguous and not flags.writeable:
        return argument
    view = argument.view() if flags.c_contiguous else np.ascontiguousarray(argument).view()
    # A positional argument is three times as fast as a keyword, and a small query has a hundred arrays.
    view.setflags(False)  # type: ignore[call-arg]
    return view
