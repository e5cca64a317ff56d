"""Arrays that share memory and are not reference-counted, for compiled loops.

Numba counts the references to each array that a function gets, at each call, by an atomic operation; that is dear where
a call is a few nanoseconds long. Who borrows must keep the array itself for as long.
"""

from __future__ import annotations

from typing import Any

from numba import carray, njit, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.extending import intrinsic


def _pointer(context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


pointer: Any = intrinsic(_pointer)


def _borrowed(array: Any) -> Any:
    return carray(pointer(array.ctypes.data), array.shape, array.dtype)


borrowed: Any = njit(nogil=True, forceinline=True)(_borrowed)
