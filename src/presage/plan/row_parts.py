"""Bound terms over several rows -> parts: columns computed on single rows, and programs over them.

A part of a term that speaks of one row only becomes a prepared column, which Catalyst computes before the kernel runs:
the kernel then loads a value instead of evaluating it.
"""

from __future__ import annotations

from presage.plan import expr as e
from presage.plan.row_terms import OneRow

# Functions that are null wherever an argument is: on a row that does not exist they are null, as the row's columns are.
# fmt: off
STRICT = frozenset((
    "abs", "acos", "asin", "atan", "cbrt", "ceil", "ceiling", "char_length", "character_length", "concat", "cos",
    "cosh", "date_format", "date_trunc", "day", "dayofmonth", "dayofweek", "dayofyear", "degrees", "exp", "floor",
    "hour", "initcap", "instr", "lcase", "left", "length", "levenshtein", "ln", "log", "log10", "log2", "lower",
    "lpad", "ltrim", "md5", "minute", "month", "pow", "power", "quarter", "radians", "repeat", "replace", "reverse",
    "right", "round", "rpad", "rtrim", "second", "sha1", "sha2", "sign", "signum", "sin", "sinh", "size", "sqrt",
    "substr", "substring", "tan", "tanh", "trim", "trunc", "ucase", "unix_micros", "unix_millis", "unix_seconds",
    "upper", "weekday", "weekofyear", "year",
))
# fmt: on


def collapse(expr: e.Expr) -> e.Expr:
    """Terms all of whose rows are one row become one leaf. Where there may be no such row, only terms go in that are
    null for it."""
    if isinstance(expr, OneRow):
        return expr
    expr = expr.map_children(collapse)
    children = expr.children()
    leaves = [child for child in children if isinstance(child, OneRow)]
    if not leaves or not all(isinstance(child, OneRow | e.Constant | e.Duration) for child in children):
        return expr
    if len({leaf.row for leaf in leaves}) > 1 or not (leaves[0].exists or is_strict(expr)):
        return expr
    return leaves[0].over(expr, expr.map_children(lambda child: child.value if isinstance(child, OneRow) else child))


def is_strict(expr: e.Expr) -> bool:
    """Whether the expression is null where its operands are."""
    if isinstance(expr, e.FunctionCall):
        return expr.name in STRICT
    kinds = (e.FieldOf, e.ElementOf, e.Arithmetic, e.Negate, e.Comparison, e.Like, e.CastTo, e.InList)
    return isinstance(expr, kinds)
