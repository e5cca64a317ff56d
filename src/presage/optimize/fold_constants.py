"""Rule fold_constants: constant expressions are computed before the first event.

before   Filter price > 10 * 2 AND TRUE      after   Filter price > 20
before   Filter TRUE                         after   (nothing)

Only operations whose result is the same to the bit in Python and Spark are folded; Catalyst folds the rest.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from presage.model import types as t
from presage.plan import expr as e
from presage.plan.constants import widened
from presage.plan.nodes import Filter, Node

LIMITS = {t.INT: 2**31, t.LONG: 2**63}
COMPARE: dict[str, Callable[[object, object], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,  # type: ignore[dict-item]
    "<=": operator.le,  # type: ignore[dict-item]
    ">": operator.gt,  # type: ignore[dict-item]
    ">=": operator.ge,  # type: ignore[dict-item]
}
INTEGERS: dict[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def fold_constants(plan: Node) -> Node:
    def change(node: Node) -> Node:
        node = node.map_expressions(lambda x: x.rewrite(_fold))
        if isinstance(node, Filter) and node.condition == e.TRUE:
            return node.input
        return node

    return plan.rewrite(change)


def folded(expr: e.Expr) -> e.Expr:
    """An expression with its constant parts computed."""
    return expr.rewrite(_fold)


def _fold(expr: e.Expr) -> e.Expr:
    match expr:
        case e.And():
            return _fold_logic(expr, absorbing=e.FALSE, neutral=e.TRUE)
        case e.Or():
            return _fold_logic(expr, absorbing=e.TRUE, neutral=e.FALSE)
        case e.Not(operand=e.Constant(value=value)):
            return e.Constant(t.BOOLEAN, None if value is None else not value, span=expr.span)
        case e.IsNull(operand=e.Constant(value=value)):
            return e.Constant(t.BOOLEAN, value is None, span=expr.span)
        case e.Comparison(left=e.Constant(), right=e.Constant()):
            return _fold_comparison(expr, expr.left, expr.right)  # type: ignore[arg-type]
        case e.Arithmetic(left=e.Constant(), right=e.Constant()):
            return _fold_arithmetic(expr, expr.left, expr.right)  # type: ignore[arg-type]
        case e.CaseWhen():
            return _fold_case(expr)
        case e.CastTo(operand=e.Constant()):
            return _fold_cast(expr, expr.operand)  # type: ignore[arg-type]
    return expr


def _fold_logic(expr: e.And | e.Or, absorbing: e.Constant, neutral: e.Constant) -> e.Expr:
    """AND with FALSE is FALSE, even with a NULL operand; TRUE is dropped. OR likewise, with both exchanged."""
    if any(o == absorbing for o in expr.operands):
        return e.Constant(t.BOOLEAN, absorbing.value, span=expr.span)
    kept = tuple(o for o in expr.operands if o != neutral)
    if len(kept) == len(expr.operands):
        return expr
    if not kept:
        return e.Constant(t.BOOLEAN, neutral.value, span=expr.span)
    return kept[0] if len(kept) == 1 else type(expr)(t.BOOLEAN, kept, span=expr.span)


def _fold_comparison(expr: e.Comparison, left: e.Constant, right: e.Constant) -> e.Expr:
    if left.value is None or right.value is None:
        return e.Constant(t.BOOLEAN, None, span=expr.span)
    if left.value != left.value or right.value != right.value:
        return expr  # NaN equals itself here, as in Spark, and not in Python
    return e.Constant(t.BOOLEAN, COMPARE[expr.op](left.value, right.value), span=expr.span)


def _fold_arithmetic(expr: e.Arithmetic, left: e.Constant, right: e.Constant) -> e.Expr:
    if left.value is None or right.value is None:
        return e.Constant(expr.type, None, span=expr.span)
    if expr.type in LIMITS and expr.op in INTEGERS and isinstance(left.value, int) and isinstance(right.value, int):
        value = INTEGERS[expr.op](left.value, right.value)
        fits = -LIMITS[expr.type] <= value < LIMITS[expr.type]
        return e.Constant(expr.type, value if fits else None, span=expr.span)
    if expr.type == t.DOUBLE and isinstance(left.value, float) and isinstance(right.value, float):
        return _fold_double(expr, left.value, right.value)
    return expr


def _fold_double(expr: e.Arithmetic, left: float, right: float) -> e.Expr:
    if expr.op == "/":
        return e.Constant(t.DOUBLE, None if right == 0 else left / right, span=expr.span)
    if expr.op in INTEGERS:
        return e.Constant(t.DOUBLE, INTEGERS[expr.op](left, right), span=expr.span)  # type: ignore[arg-type]
    return expr


def _fold_cast(expr: e.CastTo, operand: e.Constant) -> e.Expr:
    """NULL is cast to any type, and a number or a day to a wider one."""
    if operand.value is None:
        return e.Constant(expr.type, None, span=expr.span)
    wider = isinstance(operand.type, t.Scalar) and t.common_type(operand.type, expr.type) == expr.type
    return e.Constant(expr.type, widened(operand.value, operand.type, expr.type), span=expr.span) if wider else expr


def _fold_case(expr: e.CaseWhen) -> e.Expr:
    """Drops branches that are never taken, and those after one that is always taken."""
    kept: list[e.Expr] = []
    otherwise = expr.otherwise
    for condition, value in zip(expr.branches[::2], expr.branches[1::2], strict=True):
        if isinstance(condition, e.Constant):
            if condition.value is not True:
                continue
            otherwise = value
            break
        kept += [condition, value]
    if not kept:
        return otherwise
    if len(kept) == len(expr.branches) and otherwise is expr.otherwise:
        return expr
    return e.CaseWhen(expr.type, tuple(kept), otherwise, span=expr.span)
