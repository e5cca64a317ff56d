"""The kernel of a scalar function: a function over the vectors of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from presage.columnar.distinct import per_distinct
from presage.columnar.vectors import Vector
from presage.model.types import DataType
from presage.plan.constants import NOT_CONSTANT, constant_value
from presage.plan.expr import FunctionCall

Kernel = Callable[..., Vector]
# None if only Spark computes a call with these types or constants exactly.
Builder = Callable[[FunctionCall], Kernel | None]
# The longest text or array that one call makes; beyond it the result is NULL.
MAX_REPEAT = 1_000_000


def types_of(call: FunctionCall) -> tuple[DataType, ...]:
    return tuple(arg.type for arg in call.args)


def constant_of(call: FunctionCall, index: int, otherwise: Any = NOT_CONSTANT) -> Any:
    """The value of a constant argument; `otherwise` if the call has no such argument."""
    return constant_value(call.args[index]) if index < len(call.args) else otherwise


def by_value(function: Callable[..., Any]) -> Builder:
    """The kernel of a function of single values; NULL for NULL."""
    return lambda call: per_distinct(function, types_of(call), call.type)
