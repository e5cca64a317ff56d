"""Arrays without reference counting, for compiled loops.

Numba updates the reference count of an array, atomically, whenever the array is passed to a function or taken out of a
tuple. That is expensive where a call takes a few nanoseconds. The caller must hold the arrays for as long as they are
borrowed: arguments of a compiled loop are.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils as untyped_cgutils
from numba.extending import intrinsic

cgutils: Any = untyped_cgutils
TUPLES: Any = types.BaseTuple


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        for field in ("meminfo", "parent"):
            setattr(array, field, cgutils.get_null_value(getattr(array, field).type))
        return array._getvalue()
    if isinstance(kind, TUPLES):
        fields = zip(kind, cgutils.unpack_tuple(builder, value), strict=True)
        return context.make_tuple(builder, kind, [_without_owner(context, builder, *field) for field in fields])
    return value


def _borrowed(context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _without_owner(context, builder, signature.return_type, arguments[0])

    return value(value), generate


# An array, or a tuple of arrays, numbers and such tuples.
borrowed: Any = intrinsic(_borrowed)
