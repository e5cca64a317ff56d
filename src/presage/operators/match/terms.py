"""The binder of terms in MEASURES and DEFINE, whose leaves refer to rows of the match.

`A.x` is of the last row of A, an unlabelled `x` of the last row of the match; FIRST, LAST, PREV and NEXT refer to other
rows, aggregates to several. An argument of these is an ordinary expression over the columns of a single row, which
Catalyst evaluates before the match.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from presage.analyze.expressions import ExpressionBinder
from presage.analyze.scope import Scope, ScopeItem
from presage.errors import PresageError, did_you_mean, error
from presage.functions.aggregates import aggregate_named, bound_arguments, check_count, is_aggregate, resolve_aggregate
from presage.lang import syntax as s
from presage.model import types as t
from presage.model.text import Span
from presage.model.types import ArrayOf, DataType
from presage.operators.match.kernel.spec import ACCEPT, Automaton, Place
from presage.plan import expr as e
from presage.plan.row_terms import OneRow

NAVIGATION = ("first", "last", "prev", "next")
# Aggregates that only a match has.
OWN_AGGREGATES = ("array_agg", "any_value", "max_by", "min_by")
SPELLINGS = {"window": "array_agg"}  # EPL's word for it


@dataclass(frozen=True)
class At(OneRow):
    """An expression over one row, evaluated at a place of the match; null if there is no such row."""

    place: Place
    value: e.Expr

    @property
    def row(self) -> Place:
        return self.place

    @property
    def exists(self) -> bool:
        return self.place.current and not self.place.moved


@dataclass(frozen=True)
class LabelAt(e.Expr):
    """CLASSIFIER(): the variable of the row at a place."""

    place: Place


@dataclass(frozen=True)
class RowLabel(e.Expr):
    """CLASSIFIER() of the row that an aggregate counts."""


@dataclass(frozen=True)
class MatchNumber(e.Expr):
    """MATCH_NUMBER()."""


@dataclass(frozen=True)
class Folded(e.Expr):
    """An aggregate over rows of the match. In `args` a plain ColumnRef is of the counted row, At of another row."""

    function: str
    labels: tuple[int, ...] | None
    args: tuple[e.Expr, ...]
    final: bool = False
    distinct: bool = False
    constants: tuple[object, ...] = ()


class Variables:
    """The labels of the pattern's variables and subsets, by name."""

    def __init__(self, names: tuple[str, ...], subsets: Mapping[str, tuple[str, ...]]) -> None:
        self.names = names
        self.labels: dict[str, tuple[int, ...]] = {name: (i,) for i, name in enumerate(names)}
        for name, members in subsets.items():
            self.labels[name] = tuple(sorted({self.labels[m][0] for m in members}))

    def find(self, name: str) -> tuple[int, ...] | None:
        return self.labels.get(name)


class MatchTermBinder(ExpressionBinder):
    """Binds the terms of one MATCH_RECOGNIZE. `item`: the input under its alias; `repeated`: the variables that may
    take several rows; `clause`: DEFINE or MEASURES."""

    def __init__(
        self,
        scope: Scope,
        item: ScopeItem,
        variables: Variables,
        repeated: frozenset[int],
        clause: str,
        automaton: Automaton,
    ) -> None:
        super().__init__(scope)
        self.row = item
        self.variables = variables
        self.repeated = repeated
        self.clause = clause
        self.automaton = automaton
        self.final = False
        # Inside FIRST(…), PREV(…) or an aggregate: the variables that occur there.
        self._inside: str = ""
        self._named: list[tuple[tuple[int, ...], Span]] = []
        self._unlabelled: list[s.Expr] = []
        self._aggregated = False
        self._binders[s.RowsSeen] = self._rows_seen

    # -- rows ---------------------------------------------------------------------------------------

    def _variable(self, node: s.Expr) -> tuple[int, ...] | None:
        """The labels of a name or a quoted name, if it is a variable."""
        if isinstance(node, s.Name):
            return self.variables.find(node.name)
        if isinstance(node, s.Literal) and isinstance(node.value, str):
            return self.variables.find(node.value)
        return None

    def _column(self, name: str, span: Span, labels: tuple[int, ...] | None) -> e.Expr:
        column = self.row.column(name, span)
        if column is None:
            fix = did_you_mean(name, [n for n, _ in self.row.attributes])
            raise error("UNKNOWN_ATTRIBUTE", span, owner=self.row.title, name=name, fix=fix)
        if self._inside:
            if labels is not None:
                self._named.append((labels, span))
            return column
        return At(column.type, Place(labels, final=self.final), column, span=span)

    def _name(self, node: s.Name) -> e.Expr:
        if self.row.find(node.name) is None and self._variable(node) is not None:
            attribute = self.row.attributes[0][0] if self.row.attributes else "*"
            raise error(
                "TYPE_MISMATCH",
                node.span,
                what=f"the variable '{node.name}'",
                expected="an attribute of it",
                found="the variable alone",
                fix=f"write {node.name}.{attribute}",
            )
        self._unlabelled.append(node)
        return self._column(node.name, node.span, None)

    def _member(self, node: s.Member) -> e.Expr:
        base = node.base
        labels = self._variable(base)
        if labels is not None:
            return self._column(node.name, node.span, labels)
        if isinstance(base, s.Name) and base.name == self.row.alias:
            self._unlabelled.append(node)
            return self._column(node.name, node.span, None)
        if isinstance(base, s.Index) and (labels := self._variable(base.base)) is not None:
            place = Place(labels, first=True, offset=self._offset(base.index, "the index"), final=self.final)
            return self._at(place, node)
        if isinstance(base, s.Method) and (labels := self._variable(base.base)) is not None:
            return self._at(self._method_place(base, labels), node)
        if isinstance(base, s.Name) and self.row.find(base.name) is None:
            known = [*self.variables.labels, self.row.alias, *(n for n, _ in self.row.attributes)]
            raise error("UNKNOWN_VARIABLE", base.span, name=base.name, fix=did_you_mean(base.name, known))
        return super()._member(node)

    def _at(self, place: Place, node: s.Member) -> e.Expr:
        """`A[i].x`, `A.lastOf().x`."""
        if self._inside and not self._aggregated:
            raise error(
                "UNSUPPORTED",
                node.span,
                what="an index or method of a variable",
                where=f"in {self._inside}",
                fix="write FIRST(A.x, i) or LAST(A.x, i)",
            )
        column = self.row.column(node.name, node.span)
        if column is None:
            fix = did_you_mean(node.name, [n for n, _ in self.row.attributes])
            raise error("UNKNOWN_ATTRIBUTE", node.span, owner=self.row.title, name=node.name, fix=fix)
        return At(column.type, place, column, span=node.span)

    def _method_place(self, node: s.Method, labels: tuple[int, ...]) -> Place:
        name = node.name.lower()
        if name not in ("firstof", "lastof"):
            fix = did_you_mean(node.name, ["firstOf", "lastOf"])
            raise error("UNKNOWN_FUNCTION", node.span, name=node.name, fix=fix)
        if node.args:
            raise error("WRONG_ARGUMENTS", node.span, name=node.name, expected="no argument", found=len(node.args))
        return Place(labels, first=name == "firstof", final=self.final)

    def _index(self, node: s.Index) -> e.Expr:
        if self._variable(node.base) is not None:
            raise error(
                "TYPE_MISMATCH",
                node.span,
                what="a row of a variable",
                expected="an attribute of it",
                found="the row alone",
                fix="write A[0].x",
            )
        return super()._index(node)

    # -- functions ----------------------------------------------------------------------------------

    def _call(self, node: s.Call) -> e.Expr:
        name = node.name.lower()
        if node.name in self.scope.catalog.relations:
            return super()._call(node)
        if name in NAVIGATION:
            return self._navigation(node)
        if name == "classifier":
            return self._classifier(node)
        if name == "match_number":
            self._expect(node, 0, 0)
            self._refuse_inside(node)
            return MatchNumber(t.LONG, span=node.span)
        if name in OWN_AGGREGATES:
            return self._fold(node, name)
        if is_aggregate(name):
            return self._fold(node, SPELLINGS.get(name, aggregate_named(name).name))
        return super()._call(node)

    def _rows_seen(self, node: s.RowsSeen) -> e.Expr:
        if self.clause == "DEFINE" and node.final:
            raise error(
                "UNSUPPORTED",
                node.span,
                what="FINAL",
                where="in DEFINE: the match is not finished there",
                fix="leave it out",
            )
        before, self.final = self.final, node.final
        try:
            return self.bind(node.operand)
        finally:
            self.final = before

    def _navigation(self, node: s.Call) -> e.Expr:
        self._refuse_inside(node)
        place, inner = self._place(node)
        place = replace(place, final=self.final or place.final)
        self._inside, self._named, self._unlabelled = f"{node.name.upper()}(…)", [], []
        try:
            value = self.bind(inner)
        finally:
            self._inside, named = "", self._named
        self._refuse_unlabelled(named, node)
        labels = _one_variable(named, node)
        if isinstance(value, LabelAt | RowLabel):
            own = value.place.labels if isinstance(value, LabelAt) else None
            return LabelAt(t.STRING, replace(place, labels=own if own is not None else labels), span=node.span)
        if any(isinstance(x, LabelAt | RowLabel) for x in value.walk()):
            raise error(
                "UNSUPPORTED",
                node.span,
                what="CLASSIFIER() together with other terms",
                where=f"in {node.name}(…)",
                fix="navigate to each of them apart",
            )
        return At(value.type, replace(place, labels=labels), value, span=node.span)

    def _place(self, node: s.Call) -> tuple[Place, s.Expr]:
        """The place of FIRST, LAST, PREV or NEXT, and the expression to evaluate there."""
        self._expect(node, 1, 2)
        name = node.name.lower()
        offset = self._offset(node.args[1], f"the offset of {node.name}") if len(node.args) == 2 else None
        inner = node.args[0]
        if name in ("first", "last"):
            return Place(first=name == "first", offset=offset or 0), inner
        moved = 1 if offset is None else offset
        moved = -moved if name == "prev" else moved
        final = False
        if isinstance(inner, s.RowsSeen) and isinstance(inner.operand, s.Call):
            if self.clause == "DEFINE" and inner.final:
                self._rows_seen(inner)
            final, inner = inner.final, inner.operand
        if isinstance(inner, s.Call) and inner.name.lower() in ("first", "last"):
            place, inner = self._place(inner)
            return replace(place, moved=moved, final=final), inner
        return Place(moved=moved, final=final), inner

    def _classifier(self, node: s.Call) -> e.Expr:
        self._expect(node, 0, 1)
        labels = None
        if node.args:
            labels = self._variable(node.args[0])
            if labels is None:
                fix = did_you_mean(_spelling(node.args[0]), list(self.variables.labels))
                raise error("UNKNOWN_VARIABLE", node.args[0].span, name=_spelling(node.args[0]), fix=fix)
        if self._inside:
            if labels is not None:
                self._named.append((labels, node.span))
            return RowLabel(t.STRING, span=node.span)
        return LabelAt(t.STRING, Place(labels, final=self.final), span=node.span)

    def _fold(self, node: s.Call, name: str) -> e.Expr:
        self._refuse_inside(node)
        function = None if name in OWN_AGGREGATES else check_count(name, len(node.args), node.span)
        if function is None:
            two = name in ("max_by", "min_by")
            self._expect(node, 2 if two else 1, 2 if two else 1)
        if isinstance(node.args[0], s.Star):
            return self._count_rows(node, name, node.args[0])
        self._inside, self._named, self._unlabelled, self._aggregated = f"{node.name}(…)", [], [], True
        try:
            args = tuple(self.bind(a) for a in node.args)
        finally:
            self._inside, self._aggregated, named = "", False, self._named
        self._refuse_unlabelled(named, node)
        constants: tuple[object, ...] = ()
        if function is not None:
            value, constants = bound_arguments(function, args)
            args = (value,)
        labels, args = self._aggregated_rows(named, args, node)
        result = self._fold_type(name, args, node)
        if self.clause == "DEFINE" and name != "count" and _has_no_program(args[-1].type):
            where, fix = f"in DEFINE: only MEASURES computes it over {args[-1].type}", "aggregate it in MEASURES"
            if isinstance(args[-1].type, t.DecimalOf):
                fix = f"take doubles: {name}(CAST(… AS DOUBLE))"
            raise error("UNSUPPORTED", node.span, what=f"{name}(…)", where=where, fix=fix)
        return Folded(result, name, labels, args, self.final, node.distinct, constants, span=node.span)

    def _count_rows(self, node: s.Call, name: str, star: s.Star) -> e.Expr:
        if name != "count" or node.distinct:
            raise error("WRONG_ARGUMENTS", node.span, name=node.name, expected="an expression", found="*")
        labels = None
        if star.of is not None and star.of != self.row.alias:
            labels = self.variables.find(star.of)
            if labels is None:
                fix = did_you_mean(star.of, list(self.variables.labels))
                raise error("UNKNOWN_VARIABLE", star.span, name=star.of, fix=fix)
        return Folded(t.LONG, "count", labels, (), self.final, span=node.span)

    def _aggregated_rows(
        self, named: list[tuple[tuple[int, ...], Span]], args: tuple[e.Expr, ...], node: s.Call
    ) -> tuple[tuple[int, ...] | None, tuple[e.Expr, ...]]:
        """The rows that an aggregate counts. EPL lets it mix variables: then it counts the rows of the one that
        repeats, with the single row of each other. Every match must have that row before them, else it is null."""
        sets = list(dict.fromkeys(labels for labels, _ in named))
        if len(sets) <= 1:
            return (sets[0] if sets else None), args
        over = [labels for labels in sets if any(label in self.repeated for label in labels)]
        if len(over) != 1:
            raise error(
                "WRONG_ARGUMENTS",
                node.span,
                name=node.name,
                expected="variables of which one repeats",
                found=f"{len(over)} that do",
                fix="aggregate each of them apart",
            )
        for labels in sets:
            if labels != over[0] and not always_before(self.automaton, labels, over[0]):
                raise error(
                    "WRONG_ARGUMENTS",
                    node.span,
                    name=node.name,
                    expected=f"beside '{self._called(over[0])}' only variables that come before it in every match",
                    found=f"'{self._called(labels)}'",
                    fix="aggregate each of them apart",
                )
        places = {span: labels for labels, span in named if labels != over[0]}

        def elsewhere(expr: e.Expr) -> e.Expr:
            if isinstance(expr, e.ColumnRef) and expr.span in places:
                return At(expr.type, Place(places[expr.span], final=self.final), expr, span=expr.span)
            return expr

        return over[0], tuple(arg.rewrite(elsewhere) for arg in args)

    def _called(self, labels: tuple[int, ...]) -> str:
        return next(name for name, known in self.variables.labels.items() if known == labels)

    def _fold_type(self, name: str, args: tuple[e.Expr, ...], node: s.Call) -> DataType:
        if name in ("max_by", "min_by"):
            if not isinstance(args[1].type, t.Scalar):
                raise error(
                    "TYPE_MISMATCH",
                    node.span,
                    what=f"the second argument of {name}",
                    expected="a number, text, time or truth value",
                    found=args[1].type,
                )
            return args[0].type
        if name == "array_agg":
            return ArrayOf(args[0].type)
        if name == "any_value":
            return args[0].type
        return resolve_aggregate(name, args[0].type, node.distinct, node.span)

    def _expect(self, node: s.Call, low: int, high: int) -> None:
        if not low <= len(node.args) <= high:
            expected = f"{low} arguments" if low == high else f"{low} or {high} arguments"
            raise error("WRONG_ARGUMENTS", node.span, name=node.name, expected=expected, found=len(node.args))

    def _refuse_unlabelled(self, named: list[tuple[tuple[int, ...], Span]], node: s.Call) -> None:
        """Rejects an attribute without a variable (any row of the match) together with one of a variable."""
        if named and self._unlabelled:
            found, variable = _spelling(self._unlabelled[0]), self._called(named[0][0])
            raise error(
                "WRONG_ARGUMENTS",
                self._unlabelled[0].span,
                name=node.name,
                expected="terms of one variable",
                found=f"'{found}' of any row beside '{variable}'",
                fix=f"write {variable}.{found.rpartition('.')[2]}, or ask for each of them apart",
            )

    def _refuse_inside(self, node: s.Call) -> None:
        if self._inside:
            nested = node.name.lower() in NAVIGATION
            fix = "only PREV and NEXT take FIRST or LAST" if nested else "compute the inner one in a measure of its own"
            raise error("UNSUPPORTED", node.span, what=f"{node.name}(…)", where=f"in {self._inside}", fix=fix)

    def _offset(self, node: s.Expr, what: str) -> int:
        bound = ExpressionBinder(Scope([], self.scope.catalog))
        try:
            constant = bound.bind(node)
        except PresageError:
            constant = None
        value = constant.value if isinstance(constant, e.Constant) else None
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise error(
                "BAD_VALUE",
                node.span,
                what=what,
                found=_spelling(node),
                expected="a whole number, 0 or more",
                fix="count from the other end: FIRST and LAST, PREV and NEXT",
            )
        return value


def always_before(automaton: Automaton, first: tuple[int, ...], then: tuple[int, ...]) -> bool:
    """Whether every match has a row of `first` before, or as, its first row of `then`."""
    todo = [edge.target for edge in automaton.first]
    seen: set[int] = set()
    while todo:
        position = todo.pop()
        if position == ACCEPT or position in seen or automaton.labels[position] in first:
            continue
        if automaton.labels[position] in then:
            return False
        seen.add(position)
        todo += [edge.target for edge in automaton.follow[position]]
    return True


def _one_variable(named: list[tuple[tuple[int, ...], Span]], node: s.Call) -> tuple[int, ...] | None:
    sets = list(dict.fromkeys(labels for labels, _ in named))
    if len(sets) > 1:
        raise error(
            "WRONG_ARGUMENTS",
            node.span,
            name=node.name.upper(),
            expected="terms of one variable",
            found="several variables",
            fix="navigate to each of them apart",
        )
    return sets[0] if sets else None


def _has_no_program(kind: DataType) -> bool:
    """Whether programs compare values of the type, but aggregate none."""
    return kind == t.BYTES or isinstance(kind, t.DecimalOf)


def _spelling(node: s.Expr) -> str:
    from presage.lang.print_terms import print_expression

    return print_expression(node)
