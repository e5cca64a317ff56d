"""Type rules: implicit conversions, arithmetic and comparisons.

INT widens to LONG and DOUBLE, NULL fits any type, an ISO 8601 literal becomes a TIMESTAMP.
"""

from __future__ import annotations

from presage.errors import error
from presage.lang import syntax as s
from presage.model import types as t
from presage.model.text import Span
from presage.model.time import parse_timestamp
from presage.model.types import DataType
from presage.plan import expr as e


def cast_to(expr: e.Expr, target: DataType) -> e.Expr:
    """The expression in the wider type `target`; constants are converted at once."""
    if expr.type == target:
        return expr
    if isinstance(expr, e.Constant):
        if expr.value is None:
            return e.Constant(target, None, span=expr.span)
        if target == t.DOUBLE and t.is_integral(expr.type):
            return e.Constant(target, float(expr.value), span=expr.span)  # type: ignore[arg-type]
        if target == t.LONG and expr.type == t.INT:
            return e.Constant(target, expr.value, span=expr.span)
    return e.CastTo(target, expr, span=expr.span)


def coerce_literal(expr: e.Expr, target: DataType) -> e.Expr:
    """A string literal as a TIMESTAMP where `target` is one; any other expression unchanged."""
    if target == t.TIMESTAMP and isinstance(expr, e.Constant) and isinstance(expr.value, str):
        micros = parse_timestamp(expr.value)
        if micros is None:
            raise error("BAD_TIMESTAMP", expr.span, found=expr.value)
        return e.Constant(t.TIMESTAMP, micros, span=expr.span)
    return expr


def unify(left: e.Expr, right: e.Expr) -> tuple[e.Expr, e.Expr] | None:
    """Both sides in their common type, or None if they have none."""
    left, right = coerce_literal(left, right.type), coerce_literal(right, left.type)
    common = t.common_type(left.type, right.type)
    return (cast_to(left, common), cast_to(right, common)) if common else None


def arithmetic(node: s.Binary, left: e.Expr, right: e.Expr) -> e.Expr:
    op = node.op
    if t.TIMESTAMP in (left.type, right.type) or isinstance(left, e.Duration) or isinstance(right, e.Duration):
        return _time_arithmetic(node, left, right)
    for side, bound in ((node.left, left), (node.right, right)):
        if not t.is_numeric(bound.type):
            raise error("TYPE_MISMATCH", side.span, what=f"'{op}'", expected="a number", found=bound.type)
    common = t.common_type(left.type, right.type)
    assert common is not None
    if op == "/" or common == t.NULL:
        common = t.DOUBLE
    return e.Arithmetic(common, op, cast_to(left, common), cast_to(right, common), span=node.span)


def _time_arithmetic(node: s.Binary, left: e.Expr, right: e.Expr) -> e.Expr:
    op = node.op
    if left.type == t.TIMESTAMP and isinstance(right, e.Duration) and op in "+-":
        return e.Arithmetic(t.TIMESTAMP, op, left, right, span=node.span)
    if isinstance(left, e.Duration) and right.type == t.TIMESTAMP and op == "+":
        return e.Arithmetic(t.TIMESTAMP, op, right, left, span=node.span)
    left, right = coerce_literal(left, t.TIMESTAMP), coerce_literal(right, t.TIMESTAMP)
    if left.type == right.type == t.TIMESTAMP and op == "-":
        return e.Arithmetic(t.DOUBLE, op, left, right, span=node.span)
    expected, found = "TIMESTAMP ± duration or TIMESTAMP − TIMESTAMP", f"{described(left)} {op} {described(right)}"
    raise error("TYPE_MISMATCH", node.span, what=f"'{op}' with a time", expected=expected, found=found)


def comparable(left: e.Expr, right: e.Expr, span: Span) -> tuple[e.Expr, e.Expr]:
    pair = unify(left, right)
    if pair is None:
        fix = f"CAST one side to {left.type if left.type != t.STRING else right.type}"
        raise error("NOT_COMPARABLE", span, left=described(left), right=described(right), fix=fix)
    # A MAP has neither order nor equality, nor has a type that contains one.
    if not t.is_orderable(pair[0].type):
        fix = "compare the values at a key: m['key']"
        raise error("NOT_COMPARABLE", span, left=described(left), right=described(right), fix=fix)
    return pair


def described(bound: e.Expr) -> str:
    return "a duration" if isinstance(bound, e.Duration) else str(bound.type)
