"""Constant expressions: the value of a literal, with sign or widening."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from presage.model import types as t
from presage.model.calendar import DAY
from presage.model.types import DataType, DecimalOf
from presage.plan.expr import CastTo, Constant, Expr, Negate


class _NotConstant:
    def __repr__(self) -> str:
        return "NOT_CONSTANT"


NOT_CONSTANT: Final = _NotConstant()


def constant_value(expr: Expr) -> object:
    """The value of a literal, of `-1`, or of a widened literal; else NOT_CONSTANT. None is NULL."""
    if isinstance(expr, Constant):
        return expr.value
    if isinstance(expr, Negate):
        value = constant_value(expr.operand)
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            return NOT_CONSTANT
        return opposite(value)
    if isinstance(expr, CastTo) and t.common_type(expr.operand.type, expr.type) == expr.type:
        value = constant_value(expr.operand)
        return value if value is NOT_CONSTANT else widened(value, expr.operand.type, expr.type)
    return NOT_CONSTANT


def opposite(value: int | float | Decimal) -> int | float | Decimal:
    # The minus of a Decimal would round it to the digits of Python's context.
    return value.copy_negate() if isinstance(value, Decimal) else -value


def widened(value: object, source: DataType, target: DataType) -> object:
    """A constant of a type in a wider one: the value that a cast gives."""
    if value is None or source == target:
        return value
    if isinstance(target, DecimalOf) and isinstance(value, int | Decimal):
        return Decimal(value)
    if target == t.DOUBLE and isinstance(value, int | Decimal):
        return float(value)
    return value * DAY if (source, target) == (t.DATE, t.TIMESTAMP) and isinstance(value, int) else value
