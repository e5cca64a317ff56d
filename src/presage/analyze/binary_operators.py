"""Type rules of `+ - * / %` and of comparisons: numbers widen, durations are added to times."""

from __future__ import annotations

from presage.analyze.coerce import cast_to, coerce_literal, unify
from presage.errors import error
from presage.lang import syntax as s
from presage.model import types as t
from presage.model.text import Span
from presage.plan import expr as e


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
