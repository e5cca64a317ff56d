"""Implicit conversions: INT to LONG to DOUBLE, NULL to any type, an ISO 8601 literal to TIMESTAMP."""

from __future__ import annotations

from presage.errors import error
from presage.model import types as t
from presage.model.time import parse_timestamp
from presage.model.types import DataType
from presage.plan.expr import CastTo, Constant, Expr


def cast_to(expr: Expr, target: DataType) -> Expr:
    """The expression in the wider type `target`; constants are converted at once."""
    if expr.type == target:
        return expr
    if isinstance(expr, Constant):
        if expr.value is None:
            return Constant(target, None, span=expr.span)
        if target == t.DOUBLE and t.is_integral(expr.type):
            return Constant(target, float(expr.value), span=expr.span)  # type: ignore[arg-type]
        if target == t.LONG and expr.type == t.INT:
            return Constant(target, expr.value, span=expr.span)
    return CastTo(target, expr, span=expr.span)


def coerce_literal(expr: Expr, target: DataType) -> Expr:
    """A string literal as a TIMESTAMP where `target` is one; any other expression unchanged."""
    if target == t.TIMESTAMP and isinstance(expr, Constant) and isinstance(expr.value, str):
        micros = parse_timestamp(expr.value)
        if micros is None:
            raise error("BAD_TIMESTAMP", expr.span, found=expr.value)
        return Constant(t.TIMESTAMP, micros, span=expr.span)
    return expr


def unify(left: Expr, right: Expr) -> tuple[Expr, Expr] | None:
    """Both sides in their common type, or None if they have none."""
    left, right = coerce_literal(left, right.type), coerce_literal(right, left.type)
    common = t.common_type(left.type, right.type)
    return (cast_to(left, common), cast_to(right, common)) if common else None
