"""Constant expressions: the value of a literal, with sign or widening."""

from __future__ import annotations

from typing import Final

from presage.model import types as t
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
        return -value if isinstance(value, int | float) and not isinstance(value, bool) else NOT_CONSTANT
    if isinstance(expr, CastTo) and t.common_type(expr.operand.type, expr.type) == expr.type:
        value = constant_value(expr.operand)
        return float(value) if expr.type == t.DOUBLE and isinstance(value, int) else value
    return NOT_CONSTANT
