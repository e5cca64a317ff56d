"""Decomposition of conditions into atoms `column op constant`, by column, and the remaining parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from presage.columnar.vectors import is_flat
from presage.model import types as t
from presage.model.types import DataType
from presage.plan import expr as e
from presage.plan.constants import NOT_CONSTANT, constant_value

_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
LOWER, UPPER = (">", ">="), ("<", "<=")


@dataclass
class Atoms:
    """The atoms on one column, or on a column in a wider type, by number of the condition."""

    subject: e.Expr
    # The allowed values of each condition; several for IN.
    equal: dict[int, list[object]] = field(default_factory=dict)
    lower: dict[int, tuple[str, object]] = field(default_factory=dict)
    upper: dict[int, tuple[str, object]] = field(default_factory=dict)


@dataclass
class Split:
    """`rest` is the remainder of each condition, or None. `never`: conditions that compare with NULL, never true."""

    subjects: list[Atoms] = field(default_factory=list)
    rest: list[e.Expr | None] = field(default_factory=list)
    never: set[int] = field(default_factory=set)


def split_conditions(conditions: list[e.Expr | None]) -> Split:
    split = Split()
    subjects: dict[tuple[DataType, DataType, str], Atoms] = {}
    for number, condition in enumerate(conditions):
        rest: list[e.Expr] = []
        for part in e.conjuncts(condition):
            if not _placed(number, part, subjects, split):
                rest.append(part)
        split.rest.append(e.conjunction(rest))
    split.subjects = list(subjects.values())
    return split


def _placed(number: int, part: e.Expr, subjects: dict[tuple[DataType, DataType, str], Atoms], split: Split) -> bool:
    """Whether the part became an atom. A second atom of one kind on one column stays in the rest."""
    found = _atom(part)
    if found is None:
        return False
    subject, op, values = found
    if not values:
        split.never.add(number)
        return True
    column = next(c for c in subject.walk() if isinstance(c, e.ColumnRef))
    atoms = subjects.setdefault((subject.type, column.type, column.name), Atoms(subject))
    if op == "=":
        return atoms.equal.setdefault(number, values) is values
    bound = (op, values[0])
    return (atoms.lower if op in LOWER else atoms.upper).setdefault(number, bound) is bound


def _atom(part: e.Expr) -> tuple[e.Expr, str, list[object]] | None:
    """The column, the operator, and the constants other than NULL."""
    match part:
        case e.ColumnRef():
            return part, "=", [True]
        case e.Not(operand=e.ColumnRef() as column):
            return column, "=", [False]
        case e.Comparison(op=op, left=left, right=right) if op != "<>":
            if not _is_subject(left):
                left, right, op = right, left, _MIRRORED[op]
            value = constant_value(right)
            if _is_subject(left) and value is not NOT_CONSTANT:
                return left, op, [] if value is None else [value]
        case e.InList(operand=operand, items=items) if _is_subject(operand):
            values = [constant_value(item) for item in items]
            if NOT_CONSTANT not in values:
                return operand, "=", [value for value in values if value is not None]
    return None


def _is_subject(expr: e.Expr) -> bool:
    """A column, or a column cast to a wider type: a LONG compared with a DOUBLE."""
    if not (is_flat(expr.type) or expr.type == t.STRING):
        return False
    if isinstance(expr, e.CastTo):
        inner, wide = expr.operand.type, expr.type
        return isinstance(expr.operand, e.ColumnRef) and inner in t.NUMERIC and t.common_type(inner, wide) == wide
    return isinstance(expr, e.ColumnRef)
