"""FILTERs of SPARQL as native conditions, over values of the event and columns of a table.

Only whether a filter is true matters: false and error both reject. So negations move down to the comparisons, where a
comparison and its opposite fail on the same values, and each comparison is true exactly where SPARQL's is. In SPARQL,
unlike in our language, NaN is neither less nor greater than a number, nor equal to itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from presage.lang import syntax as s
from presage.model import types as t
from presage.model.types import DataType
from presage.operators.knowledge import sparql_syntax as q
from presage.operators.knowledge import tables as k

TRUE, FALSE = s.Literal(True), s.Literal(False)
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_SWAPPED = {"=": "=", "!=": "!=", "<": ">", ">=": "<=", ">": "<", "<=": ">="}
# The kind of an IRI, in addition to those of literals.
THING = "thing"


class NotNativeError(Exception):
    """Only the store can evaluate the pattern."""


@dataclass(frozen=True)
class Operand:
    """One side of a comparison. `kind` is None for a variable of the knowledge bases, which may have any kind."""

    kind: str | None
    expr: s.Expr | None = None
    may_be_nan: bool = False
    may_be_null: bool = False
    variable: str = ""


@dataclass(frozen=True)
class FilterReader:
    """`given` are values of the event by variable; `column` gives the table's column for a variable and kind."""

    given: Mapping[str, tuple[s.Expr, DataType]]
    column: Callable[[str, str], s.Expr]

    def condition(self, expression: q.Expression, negated: bool = False) -> s.Expr:
        match expression:
            case q.Not(operand=operand):
                return self.condition(operand, not negated)
            case q.And(operands=operands) | q.Or(operands=operands):
                parts = [self.condition(operand, negated) for operand in operands]
                return all_of(parts) if isinstance(expression, q.And) != negated else any_of(parts)
            case q.Compare(op=op, left=left, right=right):
                return self._compare(_OPPOSITE[op] if negated else op, self._operand(left), self._operand(right))
            case q.In(operand=operand, choices=choices, negated=not_in):
                op, join = ("=", any_of) if not_in == negated else ("!=", all_of)
                return join([self._compare(op, self._operand(operand), self._operand(c)) for c in choices])
            case q.Var() | q.Literal():
                found = self._operand(expression)
                if found.kind == k.TRUTH and found.expr is not None:
                    return s.Not(found.expr) if negated else found.expr
        raise NotNativeError

    def _compare(self, op: str, left: Operand, right: Operand) -> s.Expr:
        unknown = [side for side in (left, right) if side.kind in (None, THING)]
        if len(unknown) == 2:
            raise NotNativeError
        if left.kind is None:
            return self._compare(_SWAPPED[op], right, left)
        assert left.kind is not None
        if right.kind is None:
            return self._compare_column(op, left, right.variable)
        if left.kind != right.kind:
            return TRUE if op == "!=" else FALSE
        if left.kind == k.TRUTH:
            return _truths(op, left, right)
        return _comparison(op, left, right)

    def _compare_column(self, op: str, left: Operand, variable: str) -> s.Expr:
        assert left.kind is not None
        column = self.column(variable, left.kind)
        compare = _truths if left.kind == k.TRUTH else _comparison
        same_kind = compare(op, left, Operand(left.kind, column, left.kind == k.NUMBER, may_be_null=True))
        if op != "!=":
            return same_kind
        other_kind = all_of([s.IsNull(column, False), self.column(variable, k.COMPARABLE)])
        return any_of([same_kind, other_kind])

    def _operand(self, expression: q.Expression) -> Operand:
        match expression:
            case q.Var(name=name) if name in self.given:
                expr, data_type = self.given[name]
                if data_type in (t.INT, t.LONG):
                    return Operand(k.NUMBER, s.Cast(expr, t.LONG) if data_type == t.INT else expr)
                kinds = {t.DOUBLE: k.NUMBER, t.STRING: k.TEXT, t.BOOLEAN: k.TRUTH}
                if data_type in kinds:
                    return Operand(kinds[data_type], expr, data_type == t.DOUBLE)
            case q.Var(name=name):
                return Operand(None, variable=name)
            case q.Literal():
                return _literal(expression)
            case q.Iri():
                return Operand(THING)
            case q.Neg(operand=operand) | q.Pos(operand=operand):
                inner = self._number(operand)
                sign = "-" if isinstance(expression, q.Neg) else "+"
                return replace(inner, expr=s.Unary(sign, _expr(inner)))
            case q.Arith(op=op, left=left, right=right) if op != "/":
                one, other = self._number(left), self._number(right)
                # inf - inf is NaN.
                nan, null = one.may_be_nan or other.may_be_nan, one.may_be_null or other.may_be_null
                return Operand(k.NUMBER, s.Binary(op, _expr(one), _expr(other)), nan, null)
        raise NotNativeError

    def _number(self, expression: q.Expression) -> Operand:
        found = self._operand(expression)
        if found.kind is None:
            return Operand(k.NUMBER, self.column(found.variable, k.NUMBER), True, may_be_null=True)
        if found.kind != k.NUMBER:
            raise NotNativeError
        return found


def _expr(operand: Operand) -> s.Expr:
    assert operand.expr is not None
    return operand.expr


def _literal(literal: q.Literal) -> Operand:
    if literal.language is None and literal.datatype == k.STRING:
        return Operand(k.TEXT, s.Literal(literal.lexical))
    if literal.datatype == k.BOOLEAN and literal.lexical in ("true", "false", "1", "0"):
        return Operand(k.TRUTH, s.Literal(literal.lexical in ("true", "1")))
    if literal.datatype in k.NUMBERS:
        number = k.number_of(literal.lexical, literal.datatype)
        if number is not None:
            whole = literal.datatype in k.WHOLE_NUMBERS and abs(number) < 2**53
            return Operand(k.NUMBER, signed(int(number) if whole else number), number != number)
    raise NotNativeError


def signed(number: float) -> s.Expr:
    """A number as an expression: literals of the language have no sign."""
    return s.Unary("-", s.Literal(-number)) if number < 0 else s.Literal(number)


def _truths(op: str, left: Operand, right: Operand) -> s.Expr:
    """Compare truth values: they have no order, but equal ones satisfy `<=` and `>=`."""
    if op in ("<", ">"):
        return FALSE
    return _comparison("=" if op in ("<=", ">=") else op, left, right)


def _comparison(op: str, left: Operand, right: Operand) -> s.Expr:
    one, other = _expr(left), _expr(right)
    written = s.Binary("<>" if op == "!=" else op, one, other)
    if op == "!=":
        # NaN equals nothing, not even itself.
        unequal = all_of([_is_nan(one), *([s.IsNull(other, True)] if right.may_be_null else [])])
        return any_of([written, unequal]) if left.may_be_nan else written
    # The language treats NaN as the greatest number, and as equal to itself.
    side = right if op in ("<", "<=") else left
    ordered = all_of([s.Not(_is_nan(_expr(side))), written]) if side.may_be_nan else written
    if op in ("<=", ">=") and left.may_be_nan and right.may_be_nan:
        # In the store, the same NaN term satisfies `<=` and `>=`.
        return any_of([ordered, all_of([_is_nan(one), _is_nan(other)])])
    return ordered


def _is_nan(expr: s.Expr) -> s.Expr:
    return s.Call("isnan", (expr,))


def all_of(parts: list[s.Expr]) -> s.Expr:
    """AND, without parts that are always true."""
    return _joined(parts, TRUE, FALSE, s.AllOf)


def any_of(parts: list[s.Expr]) -> s.Expr:
    """OR, without parts that are always false."""
    return _joined(parts, FALSE, TRUE, s.AnyOf)


def _joined(parts: list[s.Expr], neutral: s.Expr, decisive: s.Expr, node: type[s.AllOf | s.AnyOf]) -> s.Expr:
    if decisive in parts:
        return decisive
    rest = tuple(part for part in parts if part != neutral)
    return neutral if not rest else rest[0] if len(rest) == 1 else node(rest)
