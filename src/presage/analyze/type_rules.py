"""Type rules: implicit conversions, arithmetic and comparisons.

INT widens to LONG, DECIMAL and DOUBLE, DATE to TIMESTAMP, and NULL fits any type. Beside a TIMESTAMP or DATE an ISO
8601 literal becomes one, beside a DECIMAL a number in the text.
"""

from __future__ import annotations

from presage.errors import error
from presage.lang import syntax as s
from presage.model import types as t
from presage.model.decimals import literal_of, result_of, type_of
from presage.model.text import Span
from presage.model.time import MICROS, parse_date, parse_timestamp
from presage.model.types import DataType, DecimalOf
from presage.plan import expr as e
from presage.plan.constants import widened


def cast_to(expr: e.Expr, target: DataType) -> e.Expr:
    """The expression in the wider type `target`; constants are converted at once."""
    if expr.type == target:
        return expr
    if isinstance(expr, e.Constant):
        if expr.value is None:
            return e.Constant(target, None, span=expr.span)
        if isinstance(expr.type, t.Scalar) and t.common_type(expr.type, target) == target:
            return e.Constant(target, widened(expr.value, expr.type, target), span=expr.span)
    return e.CastTo(target, expr, span=expr.span)


def coerce_literal(expr: e.Expr, target: DataType) -> e.Expr:
    """A string literal as a TIMESTAMP or DATE where `target` is one, a number as a DECIMAL; any other expression
    unchanged."""
    if not isinstance(expr, e.Constant):
        return expr
    if isinstance(target, DecimalOf) and expr.type in t.NUMERIC:
        exact = literal_of(expr.value)
        return expr if exact is None else e.Constant(type_of(exact), exact, span=expr.span)
    if not isinstance(expr.value, str) or expr.type != t.STRING:
        return expr
    if target == t.TIMESTAMP:
        micros = parse_timestamp(expr.value)
        if micros is None:
            raise error("BAD_TIMESTAMP", expr.span, found=expr.value)
        return e.Constant(t.TIMESTAMP, micros, span=expr.span)
    if target == t.DATE:
        days = parse_date(expr.value.strip())
        if days is None:
            expected, fix = "a day, like '2024-01-31'", "leave the time out, or write TIMESTAMP '…' to compare with it"
            raise error("BAD_VALUE", expr.span, what="the DATE", found=f"'{expr.value}'", expected=expected, fix=fix)
        return e.Constant(t.DATE, days, span=expr.span)
    return expr


def unify(left: e.Expr, right: e.Expr) -> tuple[e.Expr, e.Expr] | None:
    """Both sides in their common type, or None if they have none."""
    left, right = coerce_literal(left, right.type), coerce_literal(right, left.type)
    common = t.common_type(left.type, right.type)
    return (cast_to(left, common), cast_to(right, common)) if common else None


def arithmetic(node: s.Binary, left: e.Expr, right: e.Expr) -> e.Expr:
    op = node.op
    if any(isinstance(each, e.Duration) or each.type in (t.TIMESTAMP, t.DATE) for each in (left, right)):
        return _time_arithmetic(node, left, right)
    for side, bound in ((node.left, left), (node.right, right)):
        if not t.is_number(bound.type):
            raise error("TYPE_MISMATCH", side.span, what=f"'{op}'", expected="a number", found=bound.type)
    left, right = coerce_literal(left, right.type), coerce_literal(right, left.type)
    if any(isinstance(each.type, DecimalOf) for each in (left, right)) and t.DOUBLE not in (left.type, right.type):
        return _decimal_arithmetic(node, left, right)
    common = t.common_type(left.type, right.type)
    assert common is not None
    if op == "/" or common == t.NULL:
        common = t.DOUBLE
    return e.Arithmetic(common, op, cast_to(left, common), cast_to(right, common), span=node.span)


def _decimal_arithmetic(node: s.Binary, left: e.Expr, right: e.Expr) -> e.Expr:
    """The operands keep their own types: that of the result follows from both."""
    a, b = t.as_decimal(left.type), t.as_decimal(right.type)
    a, b = a or b, b or a  # the other one is NULL
    assert a is not None
    assert b is not None
    if node.op == "%" and a.whole + b.scale > t.MOST_DIGITS:
        found, fix = f"{a} % {b}, whose quotient may have more", "CAST one side to a DECIMAL with fewer digits"
        expected = f"a quotient of at most {t.MOST_DIGITS} digits"
        raise error("TYPE_MISMATCH", node.span, what="'%'", expected=expected, found=found, fix=fix)
    return e.Arithmetic(result_of(node.op, a, b), node.op, cast_to(left, a), cast_to(right, b), span=node.span)


def _date_arithmetic(node: s.Binary, left: e.Expr, right: e.Expr) -> e.Expr | None:
    """DATE ± days or months, as the functions compute it; None for what is computed with the times at 00:00."""
    op, (day, moved) = node.op, (left, right) if left.type == t.DATE else (right, left)
    if op not in "+-" or moved.type == t.DATE or (op == "-" and day is right):
        return None
    if isinstance(moved, e.Duration):
        days, rest = divmod(moved.rest, MICROS["day"])
        if rest:
            return None
        months = moved.months if op == "+" else -moved.months
        if months:
            day = _moved_day("add_months", day, e.Constant(t.INT, months), node.span)
        if not days:
            return day
        moved = e.Constant(t.INT, days)
    elif moved.type not in (t.INT, t.NULL):
        return None
    name = "date_add" if op == "+" else "date_sub"
    return _moved_day(name, day, cast_to(moved, t.INT), node.span)


def _moved_day(function: str, day: e.Expr, by: e.Expr, span: Span) -> e.Expr:
    moved = e.FunctionCall(t.TIMESTAMP, function, (cast_to(day, t.TIMESTAMP), by), span=span)
    return e.CastTo(t.DATE, moved, span=span)


def _time_arithmetic(node: s.Binary, left: e.Expr, right: e.Expr) -> e.Expr:
    op, found = node.op, f"{described(left)} {node.op} {described(right)}"
    if t.DATE in (left.type, right.type):
        by_days = _date_arithmetic(node, left, right)
        if by_days is not None:
            return by_days
    if op in "+-":
        left, right = (cast_to(each, t.TIMESTAMP) if each.type == t.DATE else each for each in (left, right))
    if left.type == t.TIMESTAMP and isinstance(right, e.Duration) and op in "+-":
        return e.Arithmetic(t.TIMESTAMP, op, left, right, span=node.span)
    if isinstance(left, e.Duration) and right.type == t.TIMESTAMP and op == "+":
        return e.Arithmetic(t.TIMESTAMP, op, right, left, span=node.span)
    left, right = coerce_literal(left, t.TIMESTAMP), coerce_literal(right, t.TIMESTAMP)
    if left.type == right.type == t.TIMESTAMP and op == "-":
        return e.Arithmetic(t.DOUBLE, op, left, right, span=node.span)
    expected = "TIMESTAMP ± duration or TIMESTAMP − TIMESTAMP"
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
