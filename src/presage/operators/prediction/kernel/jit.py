"""Compilation of this folder's loops: parts without reference counts, and tuples of arrays as their arguments.

The evaluation step is made of many small parts that pass arrays on. Parts that make no array need no count of
references to them, as their callers hold what they are given. Numba has no public option for that, only `_nrt`. With
counts, a join of 600 objects over 180 seconds takes 2.1 seconds of processor time, without them 1.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from numba import njit

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=tuple[Any, ...])


def bare(function: Callable[P, R]) -> Callable[P, R]:
    """Called only from compiled code, as `inlined` of `presage.arrays.jit` is."""
    # Not among the options that Numba's types know.
    options: Any = {"nogil": True, "_nrt": False}
    return cast("Callable[P, R]", njit(**options)(function))


def read_only(arrays: T) -> T:
    """A NamedTuple of arrays with contiguous, read-only views of them: one signature, whatever the arrays are."""
    views = [np.ascontiguousarray(array).view() for array in arrays]
    for view in views:
        view.setflags(write=False)
    return type(arrays)(*views)
