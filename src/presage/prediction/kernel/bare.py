"""A part of a loop that allocates nothing comes in, its compiled form without reference counts goes out.

The evaluation step is made of many small parts that pass arrays on. Counting references to them took half of its time;
parts that make no array have no need of it, as their callers hold what they are given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")


def bare(function: Callable[P, R]) -> Callable[P, R]:
    """Called only from compiled code, as `inlined` of `presage.arrays.jit` is."""
    # Not among the options that Numba's types know.
    options: Any = {"nogil": True, "_nrt": False}
    return cast("Callable[P, R]", njit(**options)(function))
