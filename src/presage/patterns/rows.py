"""Bound terms over several rows -> parts: columns computed on single rows, and programs over them.

A part of a term that speaks of one row only becomes a prepared column, which Catalyst computes before the kernel runs:
the kernel then loads a value instead of evaluating it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from presage.plan import expr as e
from presage.plan.nodes import Named

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


@dataclass
class Prepared:
    """Columns over single rows, each made once: an expression in, the column's name out."""

    prefix: str
    named: list[Named] = field(default_factory=list)
    _names: dict[Hashable, str] = field(default_factory=dict)

    def name(self, value: e.Expr) -> str:
        found = self._names.get(value)
        if found is None:
            found = f"{self.prefix}{len(self.named)}"
            self._names[value] = found
            self.named.append(Named(found, value))
        return found


def collapse(
    expr: e.Expr,
    place_of: Callable[[e.Expr], Hashable | None],
    value_of: Callable[[e.Expr], e.Expr],
    make: Callable[[e.Expr, e.Expr, e.Expr], e.Expr],
    exists: Callable[[Hashable], bool],
) -> e.Expr:
    """Terms all of whose rows are one row become one leaf.

    `place_of` says which row a leaf speaks of (None: it is no such leaf), `value_of` gives its expression over that
    row, `make(term, leaf, value)` a leaf at the same place; `exists`: whether there is always such a row. Where there
    may be none, only terms go in that are null for it.
    """
    if place_of(expr) is not None:
        return expr
    expr = expr.map_children(lambda child: collapse(child, place_of, value_of, make, exists))
    children = expr.children()
    leaves = [child for child in children if place_of(child) is not None]
    if not leaves or not all(place_of(c) is not None or isinstance(c, e.Constant | e.Duration) for c in children):
        return expr
    places = {place_of(leaf) for leaf in leaves}
    if len(places) > 1 or not (exists(place_of(leaves[0])) or is_strict(expr)):
        return expr
    inner = expr.map_children(lambda child: value_of(child) if place_of(child) is not None else child)
    return make(expr, leaves[0], inner)


def is_strict(expr: e.Expr) -> bool:
    """Whether the expression is null where its operands are."""
    if isinstance(expr, e.FunctionCall):
        return expr.name in STRICT
    kinds = (e.FieldOf, e.ElementOf, e.Arithmetic, e.Negate, e.Comparison, e.Like, e.CastTo, e.InList)
    return isinstance(expr, kinds)
