"""Conditions over predicted streams, split into terms on values, filters of updates, and the rest of the query.

`ABS(a.x - b.x) <= 400` is a term of two items, `s.temp > 50` of one; MAY and MUST treat the threshold as uncertainty.
A condition without a predicted attribute filters the updates of one stream, or else the rows of the result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from presage.analyze.expressions import ExpressionBinder
from presage.analyze.scope import Scope, ScopeItem
from presage.errors import error
from presage.lang import syntax as s
from presage.lang.tree_walk import nodes_of
from presage.model import types as t
from presage.model.catalog import Catalog
from presage.model.text import Span
from presage.operators.prediction.kernel.spec import GREATER, LESS, Comparator, JoinTerm, Mode, ValueTerm
from presage.optimize.fold_constants import folded
from presage.plan import expr as e
from presage.plan.constants import constant_value

Term = TypeVar("Term", ValueTerm, JoinTerm)
COMPARATORS = dict(zip(("<=", "<", ">", ">=", "<>", "="), Comparator, strict=True))
OPPOSITE = {"<=": ">", "<": ">=", ">": "<=", ">=": "<", "<>": "=", "=": "<>"}
TURNED = {"<=": ">=", "<": ">", ">": "<", ">=": "<=", "<>": "<>", "=": "="}
MODES = {"may": Mode.MAY, "must": Mode.MUST}
EITHER = "ask a query for each of them"
FIX = "compare an attribute with a constant, s.temp > 50, or the distance of two: ABS(a.x - b.x) <= 400"


@dataclass
class Conditions:
    """`values`, `eligible`: terms and filters of each predicted item. `joins`: terms of two items, by their numbers in
    ascending order. `remaining`: conditions on the rows of the result; `consumed`: all others."""

    values: list[list[ValueTerm]]
    eligible: list[list[e.Expr]]
    joins: dict[tuple[int, int], list[JoinTerm]] = field(default_factory=dict)
    remaining: list[s.Expr] = field(default_factory=list)
    consumed: list[s.Expr] = field(default_factory=list)

    @property
    def rest(self) -> s.Expr | None:
        if len(self.remaining) < 2:
            return self.remaining[0] if self.remaining else None
        return s.AllOf(tuple(self.remaining), span=self.remaining[0].span)


def within_thresholds(conditions: Conditions) -> Conditions:
    """WITH PROBABILITY treats plain terms as MAY (the paper's Lemma 1) and trims the result at p (its section 5.2).
    The predicted value alone would exclude times at which it fails but the real value may satisfy the term."""

    def may(terms: list[Term]) -> list[Term]:
        return [replace(term, mode=Mode.MAY) if term.mode == Mode.PLAIN else term for term in terms]

    joins = {pair: may(terms) for pair, terms in conditions.joins.items()}
    return replace(conditions, values=[may(terms) for terms in conditions.values], joins=joins)


def read_conditions(
    scopes: Sequence[ScopeItem],
    predicted: Sequence[Mapping[str, int]],
    own: Sequence[tuple[int, s.Expr]],
    shared: Sequence[s.Expr],
    catalog: Catalog,
) -> Conditions:
    """`scopes`: all items, the predicted ones first. `predicted`: the numbers of their predicted attributes. `own`: the
    filter of an item, by its number; `shared`: conditions of ON and WHERE."""
    count = len(predicted)
    conditions = Conditions([[] for _ in range(count)], [[] for _ in range(count)])
    for number, condition in own:
        only = [predicted[i] if i == number else {} for i in range(count)]
        _Reader([scopes[number]], only, conditions, catalog, number).read(condition)
    reader = _Reader(scopes, predicted, conditions, catalog)
    for condition in shared:
        reader.read(condition)
    return conditions


class _Reader:
    def __init__(
        self,
        scopes: Sequence[ScopeItem],
        predicted: Sequence[Mapping[str, int]],
        conditions: Conditions,
        catalog: Catalog,
        only: int | None = None,
    ) -> None:
        self.scope = Scope(list(scopes), catalog)
        self.binder = ExpressionBinder(self.scope, no_aggregates_in="a condition of FROM or WHERE")
        self.conditions = conditions
        sides = range(len(predicted)) if only is None else [only]
        places = {side: scopes[side if only is None else 0] for side in sides}
        self.columns = {
            places[side].plan_name(name): (side, number) for side in sides for name, number in predicted[side].items()
        }
        self.owners = {
            places[side].plan_name(name): side
            for side in sides
            for name, _ in (*places[side].attributes, *places[side].hidden)
        }

    def read(self, condition: s.Expr) -> None:
        if isinstance(condition, s.AllOf):
            for part in condition.operands:
                self.read(part)
            return
        mode = self._mode(condition)
        if mode is not None:
            assert isinstance(condition, s.Call)
            inner = condition.args[0]
            parts = inner.operands if isinstance(inner, s.AllOf) else (inner,)
            terms = [term for part in parts for term in self._terms(self._bound(part), part.span, mode)]
            if mode == Mode.MAY:
                self._check_apart(terms, condition.span)
            self._add(terms, condition)
            return
        bound = self._bound(condition)
        if bound.columns() & self.columns.keys():
            self._add(self._terms(bound, condition.span, Mode.PLAIN), condition)
        elif len(owners := {self.owners.get(name) for name in bound.columns()}) == 1 and None not in owners:
            (side,) = owners
            assert side is not None
            self.conditions.eligible[side].append(bound)
            self.conditions.consumed.append(condition)
        else:
            self.conditions.remaining.append(condition)

    def _bound(self, condition: s.Expr) -> e.Expr:
        refuse_modes(condition, self.scope.catalog)
        return folded(self.binder.condition(condition, "a condition"))

    def _mode(self, condition: s.Expr) -> Mode | None:
        if not isinstance(condition, s.Call) or condition.name in self.scope.catalog.relations:
            return None
        mode = MODES.get(condition.name.lower())
        if mode is not None and len(condition.args) != 1:
            raise error(
                "WRONG_ARGUMENTS",
                condition.span,
                name=condition.name.upper(),
                expected="one condition",
                found=len(condition.args),
            )
        return mode

    def _add(self, terms: list[tuple[int, int, ValueTerm | JoinTerm]], condition: s.Expr) -> None:
        self.conditions.consumed.append(condition)
        for one, other, term in terms:
            if isinstance(term, ValueTerm):
                self.conditions.values[one].append(term)
            else:
                self.conditions.joins.setdefault((one, other), []).append(term)

    def _terms(self, bound: e.Expr, span: Span, mode: Mode) -> list[tuple[int, int, ValueTerm | JoinTerm]]:
        """Terms with the numbers of their items."""
        if isinstance(bound, e.And):
            return [term for part in bound.operands for term in self._terms(part, span, mode)]
        if isinstance(bound, e.Not) and (opposite := _opposite(bound.operand)) is not None:
            return self._terms(opposite, span, mode)
        if not isinstance(bound, e.Comparison) or bound.op not in COMPARATORS:
            raise self._refused(bound, span, mode)
        op, left, right = bound.op, bound.left, bound.right
        if _number(left) is not None:
            op, left, right = TURNED[op], right, left
        constant = _number(right)
        if constant is None:
            raise self._refused(bound, span, mode)
        if math.isnan(constant):
            raise error(
                "BAD_VALUE",
                span,
                what="the constant of a condition on predicted values",
                found="NaN",
                expected="a number",
                fix="write the number itself",
            )
        left = _uncast(left)
        if isinstance(left, e.ColumnRef) and left.name in self.columns:
            side, attribute = self.columns[left.name]
            return [(side, side, ValueTerm(attribute, COMPARATORS[op], constant, mode))]
        difference = _uncast(left.args[0]) if isinstance(left, e.FunctionCall) and left.name == "abs" else None
        if not isinstance(difference, e.Arithmetic) or difference.op != "-":
            raise self._refused(bound, span, mode)
        ends = [_uncast(side) for side in (difference.left, difference.right)]
        columns = [self.columns.get(end.name) if isinstance(end, e.ColumnRef) else None for end in ends]
        both = sorted(column for column in columns if column is not None)
        if len(both) < 2 or both[0][0] == both[1][0]:
            raise self._refused(bound, span, mode)
        (a, x), (b, y) = both
        return [(a, b, JoinTerm(x, y, COMPARATORS[op], constant, mode))]

    def _refused(self, bound: e.Expr, span: Span, mode: Mode) -> Exception:
        where = f"in {mode.name}" if mode != Mode.PLAIN else "on predicted attributes"
        if _is_either(bound):
            return error("UNSUPPORTED", span, what="one condition or another", where=where, fix=EITHER)
        return error("UNSUPPORTED", span, what="a condition of this form", where=where, fix=FIX)

    def _check_apart(self, terms: list[tuple[int, int, ValueTerm | JoinTerm]], span: Span) -> None:
        """MAY of several terms needs values that satisfy all of them together. For terms that share an attribute this
        is more than MAY of each, unless all of them are bounds and some value lies within: intervals on a line that
        overlap in pairs have a common point."""
        about: dict[tuple[int, int], list[ValueTerm | JoinTerm]] = {}
        for one, other, term in terms:
            ends = [(one, term.attribute)] if isinstance(term, ValueTerm) else [(one, term.left), (other, term.right)]
            for end in ends:
                about.setdefault(end, []).append(term)
        for same in about.values():
            bounds = [x for x in same if isinstance(x, ValueTerm) and x.comparator != Comparator.NE]
            if len(same) > 1 and len(bounds) < len(same):
                raise error(
                    "UNSUPPORTED",
                    span,
                    what="a distance, or <>, beside another condition on its attribute",
                    where="in one MAY (…)",
                    fix="write a MAY for each of them",
                )
            if not _meet(bounds):
                raise error(
                    "BAD_VALUE",
                    span,
                    what="MAY (…)",
                    found="what no value can fulfil",
                    expected="conditions that some value fulfils together",
                    fix="write a MAY for each of them",
                )


def refuse_modes(tree: s.Node, catalog: Catalog) -> None:
    """Reject MAY and MUST inside other terms: they are conditions of their own, joined to others by AND."""
    for node in nodes_of(tree):
        if isinstance(node, s.Call) and node.name.lower() in MODES and node.name not in catalog.relations:
            raise error(
                "UNSUPPORTED",
                node.span,
                what=f"{node.name.upper()} (…)",
                where="inside of another term",
                fix="write it as a condition of its own, joined to others by AND; instead of NOT MAY (x > 5) "
                "write MUST (x <= 5)",
            )


def _meet(bounds: Sequence[ValueTerm]) -> bool:
    """Whether some number lies within all bounds."""
    low = max((x.constant for x in bounds if x.comparator not in LESS), default=-math.inf)
    high = min((x.constant for x in bounds if x.comparator not in GREATER), default=math.inf)
    strict = any(x.comparator in (Comparator.LT, Comparator.GT) and x.constant == low for x in bounds)
    return low < high or (low == high and not strict)


def _is_either(bound: e.Expr) -> bool:
    """Whether it is a disjunction."""
    negated = isinstance(bound, e.Not) and isinstance(bound.operand, e.And)
    return negated or isinstance(bound, e.Or | e.InList)


def _opposite(bound: e.Expr) -> e.Expr | None:
    """The negation of a comparison or of a disjunction of them. NULL satisfies neither a term nor its negation."""
    if isinstance(bound, e.Comparison) and bound.op in OPPOSITE:
        return replace(bound, op=OPPOSITE[bound.op])
    if isinstance(bound, e.Not):
        return bound.operand
    if isinstance(bound, e.Or):
        parts = [_opposite(part) for part in bound.operands]
        return e.conjunction([part for part in parts if part is not None]) if None not in parts else None
    return None


def _uncast(expr: e.Expr) -> e.Expr:
    """Drop casts between numbers: all of them are DOUBLE here."""
    while isinstance(expr, e.CastTo) and expr.type == t.DOUBLE:
        expr = expr.operand
    return expr


def _number(expr: e.Expr) -> float | None:
    value = constant_value(expr)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
