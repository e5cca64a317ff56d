"""Calls of allowed functions in, kernels over vectors out; None for what only Spark computes exactly."""

from __future__ import annotations

from presage.columnar.functions.arrays import ARRAYS
from presage.columnar.functions.call import Builder, Kernel
from presage.columnar.functions.maps import MAPS
from presage.columnar.functions.numbers import NUMBERS
from presage.columnar.functions.patterns import PATTERNS
from presage.columnar.functions.text import TEXT
from presage.columnar.functions.time import TIME
from presage.plan.expr import FunctionCall

BUILDERS: dict[str, Builder] = {**NUMBERS, **TEXT, **PATTERNS, **TIME, **ARRAYS, **MAPS}


def compile_function(call: FunctionCall) -> Kernel | None:
    builder = BUILDERS.get(call.name)
    return builder(call) if builder else None
