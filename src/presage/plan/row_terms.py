"""Leaves of conditions over several rows, which EPL patterns and MATCH_RECOGNIZE put in place of names."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from presage.plan import expr as e
from presage.plan.expr import Expr

# Functions that are NULL wherever an argument is: so they are NULL on a row that does not exist, as its columns are.
_STRICT = """
abs acos asin atan cbrt ceil ceiling char_length character_length concat cos cosh date_format date_trunc day
dayofmonth dayofweek dayofyear degrees exp floor hour initcap instr lcase left length levenshtein ln log log10 log2
lower lpad ltrim md5 minute month pow power quarter radians repeat replace reverse right round rpad rtrim second sha1
sha2 sign signum sin sinh size sqrt substr substring tan tanh trim trunc ucase unix_micros unix_millis unix_seconds
upper weekday weekofyear year
"""
STRICT = frozenset(_STRICT.split())


class OneRow(Expr):
    """Base of the leaves that stand for an expression over one row, `value`."""

    value: Expr

    @property
    def row(self) -> Hashable:
        raise NotImplementedError

    @property
    def exists(self) -> bool:
        """Whether the row always exists."""
        raise NotImplementedError

    def over(self, term: Expr, value: Expr) -> Expr:
        """The leaf for a term that is `value` over the same row."""
        return replace(self, type=term.type, value=value, span=term.span)  # type: ignore[call-arg]


@dataclass(frozen=True)
class RowValue(Expr):
    """A column of the row at a place of the condition; NULL if the row does not exist."""

    place: int
    column: str


@dataclass(frozen=True)
class HostValue(Expr):
    """A value that the kernel's host passes in, by number: an aggregate, a label, the match number. A STRING is
    passed as its rank among the texts of the step."""

    number: int


def collapse(expr: Expr) -> Expr:
    """Merges a term over one row into one leaf, which becomes a column that Catalyst computes before the kernel runs.
    Where the row may not exist, only strict terms are merged."""
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


def is_strict(expr: Expr) -> bool:
    """Whether the expression is NULL where one of its operands is."""
    if isinstance(expr, e.FunctionCall):
        return expr.name in STRICT
    kinds = (e.FieldOf, e.ElementOf, e.Arithmetic, e.Negate, e.Comparison, e.Like, e.CastTo, e.InList)
    return isinstance(expr, kinds)
