"""Compilation of functions without reference counting.

The evaluation step consists of many small functions that pass arrays on. A function that allocates no array needs no
reference counts, because its caller holds the arrays. Numba has no public option for that, only `_nrt`. With counts, a
join of 600 objects over 180 seconds takes 2.1 seconds of processor time, without them 1.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")


def bare(function: Callable[P, R]) -> Callable[P, R]:
    """Called only from compiled code, like `inlined` of `presage.arrays.jit`."""
    # Not among the options that Numba's types know.
    options: Any = {"nogil": True, "_nrt": False}
    return cast("Callable[P, R]", njit(**options)(function))


def bare_inlined(function: Callable[P, R]) -> Callable[P, R]:
    """As `bare`, always inlined: a call would copy seven numbers for each array. For small functions with few callers,
    as compiling takes longer."""
    options: Any = {"nogil": True, "_nrt": False, "forceinline": True}
    return cast("Callable[P, R]", njit(**options)(function))
