"""Which terms over several rows a kernel's program can compute; the evaluator computes the others, or they are refused.

Apart from `columnar/programs.py`, so that checking a query does not load NumPy.
"""

from __future__ import annotations

from presage.model import types as t
from presage.model.types import DataType, DecimalOf
from presage.plan import expr as e
from presage.plan.row_terms import HostValue, RowValue

FUNCTIONS = frozenset({"abs", "coalesce", "if", "nullif", "nvl"})
_TYPES = (t.BOOLEAN, t.INT, t.LONG, t.TIMESTAMP, t.NULL, t.DOUBLE, t.STRING, t.DATE, t.BYTES)
_TERMS = (
    *(RowValue, HostValue, e.Constant, e.Duration, e.Arithmetic, e.Negate, e.CastTo, e.FunctionCall, e.Comparison),
    *(e.And, e.Or, e.InList, e.Not, e.IsNull, e.CaseWhen),
)


def expressible(expr: e.Expr) -> bool:
    """Whether a program can compute the expression."""
    return all(map(_node_expressible, expr.walk()))


def _node_expressible(expr: e.Expr) -> bool:
    match expr:
        case _ if expr.type not in _TYPES and not isinstance(expr.type, DecimalOf):
            return False
        case e.Arithmetic() | e.Negate() | e.FunctionCall(name="abs") if _decimal_in(expr):
            return False
        case e.CastTo():
            return _convertible(expr.operand.type, expr.type)
        case e.Arithmetic():
            return expr.op != "||"
        case e.FunctionCall():
            return expr.name in FUNCTIONS
        case e.Duration():
            return not expr.months
    return isinstance(expr, _TERMS)


def _decimal_in(expr: e.Expr) -> bool:
    return any(isinstance(each.type, DecimalOf) for each in (expr, *expr.children()))


def _convertible(source: DataType, target: DataType) -> bool:
    if source in (target, t.NULL):
        return True
    numbers = (t.BOOLEAN, t.INT, t.LONG)
    return source in (*numbers, t.DOUBLE) and target in ((t.BOOLEAN,) if source == t.DOUBLE else (*numbers, t.DOUBLE))
