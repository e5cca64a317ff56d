"""Conditions of DEFINE, split into parts over a row alone, over its neighbours, and over the match so far."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from presage.errors import error
from presage.model import types as t
from presage.operators.match.kernel.spec import SEARCHED, Condition, Fold, Place
from presage.operators.match.measures import fold_of
from presage.operators.match.terms import NAVIGATION, At, Folded, LabelAt, MatchNumber, Variables
from presage.plan import expr as e
from presage.plan.expressible import expressible
from presage.plan.prepared import Prepared
from presage.plan.row_terms import HostValue, RowValue, collapse

NO_LABEL = -2
IN_DEFINE = tuple(name for name in SEARCHED if name not in NAVIGATION)


@dataclass
class Definitions:
    """The conditions of the variables, by label; a variable without one takes any row."""

    variables: Variables
    prepared: Prepared
    programs: list[e.Expr]
    by_label: dict[int, Condition] = field(default_factory=dict)

    def conditions(self) -> tuple[Condition, ...]:
        return tuple(self.by_label.get(label, Condition()) for label in range(len(self.variables.names)))

    def add(self, name: str, condition: e.Expr, text: str) -> None:
        (label,) = self.variables.labels[name]
        seen = _seen_from(condition, label)
        alone: list[e.Expr] = []
        nearby: list[e.Expr] = []
        bound: list[e.Expr] = []
        for part in e.conjuncts(collapse(_by_number(seen, self.variables))):
            places = [x.place for x in part.walk() if isinstance(x, At)]
            other = any(isinstance(x, LabelAt | Folded | MatchNumber) for x in part.walk())
            if not other and all(p.current and not p.moved for p in places):
                alone.append(_over_row(part))
            elif not other and all(p.current for p in places):
                nearby.append(part)
            else:
                bound.append(part)
        self.by_label[label] = self._condition(f"DEFINE {name} AS {text}", alone, nearby, bound)

    def _condition(self, text: str, alone: list[e.Expr], nearby: list[e.Expr], bound: list[e.Expr]) -> Condition:
        flag = e.conjunction(alone)
        made = Condition(flag=self.prepared.name(flag) if flag is not None else None, text=text)
        loose = [part for part in nearby if not expressible(_Leaves(self).rewrite(part))]
        near = e.conjunction([part for part in nearby if part not in loose])
        if near is not None:
            leaves = _Leaves(self)
            program = self._program(leaves.rewrite(near))
            made = replace(made, nearby=program, places=tuple(leaves.places))
        rest = e.conjunction([*loose, *bound])
        if rest is None:
            return made
        leaves = _Leaves(self, list(made.places))
        rewritten = leaves.rewrite(rest)
        made = replace(
            made,
            places=tuple(leaves.places),
            folds=tuple(leaves.folds),
            classified=tuple(leaves.classified),
            match_number=leaves.numbered,
        )
        if expressible(rewritten):
            return replace(made, bound=self._program(leaves.renumbered(rewritten)))
        if leaves.folds or leaves.classified or leaves.numbered:
            raise error(
                "UNSUPPORTED",
                rest.span,
                what="a function of several rows together with aggregates or labels",
                where="in DEFINE",
                fix="compare them in conditions of their own",
            )
        columns = tuple((x.place, x.column) for x in rewritten.walk() if isinstance(x, RowValue))
        return replace(made, asked=self._program(rewritten), asked_columns=tuple(dict.fromkeys(columns)))

    def _program(self, expr: e.Expr) -> int:
        self.programs.append(expr)
        return len(self.programs) - 1


class _Leaves:
    """Numbers the places, aggregates and labels that one condition refers to."""

    def __init__(self, owner: Definitions, places: list[Place] | None = None) -> None:
        self.owner = owner
        self.places = places if places is not None else []
        self.folds: list[Fold] = []
        self.classified: list[Place] = []
        self.numbered = False

    def rewrite(self, expr: e.Expr) -> e.Expr:
        if isinstance(expr, At):
            return RowValue(expr.type, self._place(expr.place), self.owner.prepared.name(expr.value), span=expr.span)
        if isinstance(expr, Folded):
            fold = self._fold(expr)
            if fold not in self.folds:
                self.folds.append(fold)
            return HostValue(expr.type, self.folds.index(fold), span=expr.span)
        if isinstance(expr, LabelAt):
            if expr.place not in self.classified:
                self.classified.append(expr.place)
            # Numbered after the aggregates, whose number is known at the end.
            return HostValue(expr.type, -1 - self.classified.index(expr.place), span=expr.span)
        if isinstance(expr, MatchNumber):
            self.numbered = True
            return HostValue(t.LONG, -1_000_000, span=expr.span)
        return expr.map_children(self.rewrite)

    def renumbered(self, expr: e.Expr) -> e.Expr:
        """GIVEN counts the aggregates, then the labels, then the match number."""

        def change(x: e.Expr) -> e.Expr:
            if not isinstance(x, HostValue) or x.number >= 0:
                return x
            if x.number == -1_000_000:
                return replace(x, number=len(self.folds) + len(self.classified))
            return replace(x, number=len(self.folds) - 1 - x.number)

        return expr.rewrite(change)

    def _place(self, place: Place) -> int:
        if place not in self.places:
            self.places.append(place)
        return self.places.index(place)

    def _fold(self, folded: Folded) -> Fold:
        if folded.function not in IN_DEFINE or folded.distinct:
            name = f"{folded.function}({'DISTINCT ' if folded.distinct else ''}…)"
            raise error(
                "UNSUPPORTED", folded.span, what=name, where="in DEFINE", fix=f"use one of {', '.join(IN_DEFINE)}"
            )
        return fold_of(folded, self.owner.variables, self.owner.prepared, self.owner.programs)


def _seen_from(expr: e.Expr, label: int) -> e.Expr:
    """The last row of the variable itself, or of the match, becomes the current row."""

    def change(x: e.Expr) -> e.Expr:
        if isinstance(x, At | LabelAt):
            place = x.place
            if not place.first and place.offset == 0 and (place.labels is None or label in place.labels):
                return replace(x, place=Place(moved=place.moved, current=True))
        return x

    return expr.rewrite(change)


def _over_row(expr: e.Expr) -> e.Expr:
    """A condition on the current row as an expression over its columns."""
    if isinstance(expr, At):
        return expr.value
    return expr.map_children(_over_row)


def _by_number(expr: e.Expr, variables: Variables) -> e.Expr:
    """Labels are compared by number: `CLASSIFIER() = 'A'`."""

    def number(x: e.Expr) -> e.Expr:
        if isinstance(x, LabelAt):
            return LabelAt(t.LONG, x.place, span=x.span)
        assert isinstance(x, e.Constant)
        value = x.value
        named = variables.names.index(value) if value in variables.names else NO_LABEL
        return e.Constant(t.LONG, None if value is None else named, span=x.span)

    def comparable(x: e.Expr) -> bool:
        return isinstance(x, LabelAt) or (isinstance(x, e.Constant) and (x.value is None or isinstance(x.value, str)))

    def change(x: e.Expr) -> e.Expr:
        if isinstance(x, e.Comparison) and x.op in ("=", "<>"):
            sides = (x.left, x.right)
            if any(isinstance(side, LabelAt) for side in sides) and all(map(comparable, sides)):
                return replace(x, left=number(x.left), right=number(x.right))
        if isinstance(x, e.InList) and isinstance(x.operand, LabelAt) and all(map(comparable, x.items)):
            return replace(x, operand=number(x.operand), items=tuple(map(number, x.items)))
        if isinstance(x, e.IsNull) and isinstance(x.operand, LabelAt):
            return replace(x, operand=number(x.operand))
        return x

    return expr.rewrite(change)
