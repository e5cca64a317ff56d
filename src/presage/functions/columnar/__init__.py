"""Scalar functions as kernels over vectors."""

from __future__ import annotations

from presage.functions.columnar.arrays import ARRAYS
from presage.functions.columnar.call import Builder, Kernel
from presage.functions.columnar.maps import MAPS
from presage.functions.columnar.numbers import NUMBERS
from presage.functions.columnar.patterns import PATTERNS
from presage.functions.columnar.text import TEXT
from presage.functions.columnar.time import TIME
from presage.functions.scalars import BY_NAME
from presage.plan.expr import FunctionCall

BUILDERS: dict[str, Builder] = {**NUMBERS, **TEXT, **PATTERNS, **TIME, **ARRAYS, **MAPS}


def compile_function(call: FunctionCall) -> Kernel | None:
    """The kernel of a call; None if only Spark computes it exactly."""
    builder = BUILDERS.get(call.name) or BY_NAME[call.name].columnar
    return builder(call) if builder else None
