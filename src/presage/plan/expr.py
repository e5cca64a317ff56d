"""Bound, typed expressions of the plan. Independent of the language's text and of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace

from presage.model.text import Span
from presage.model.time import MICROS
from presage.model.types import BOOLEAN, DataType

_NAMES: dict[type, tuple[str, ...]] = {}


def field_names(kind: type) -> tuple[str, ...]:
    """The field names of a dataclass, cached: every walk over a plan needs them for every node."""
    names = _NAMES.get(kind)
    if names is None:
        names = _NAMES[kind] = tuple(f.name for f in fields(kind))
    return names


@dataclass(frozen=True)
class Expr:
    """Base. Every expression has a `type`; `span` is its place in the user's text, and ignored by equality."""

    type: DataType
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def children(self) -> tuple[Expr, ...]:
        found: list[Expr] = []
        for name in field_names(type(self)):
            value = getattr(self, name)
            if isinstance(value, Expr):
                found.append(value)
            elif isinstance(value, tuple):
                found.extend(v for v in value if isinstance(v, Expr))
        return tuple(found)

    def walk(self) -> Iterator[Expr]:
        """This expression and all below it, parents first."""
        yield self
        for child in self.children():
            yield from child.walk()

    def map_children(self, change: Callable[[Expr], Expr]) -> Expr:
        """The same expression over changed children; itself if nothing changed."""
        updates: dict[str, object] = {}
        for name in field_names(type(self)):
            value = getattr(self, name)
            if isinstance(value, Expr):
                new: object = change(value)
                if new is not value:
                    updates[name] = new
            elif isinstance(value, tuple) and any(isinstance(v, Expr) for v in value):
                items = tuple(change(v) if isinstance(v, Expr) else v for v in value)
                if any(a is not b for a, b in zip(items, value, strict=True)):
                    updates[name] = items
        return replace(self, **updates) if updates else self  # type: ignore[arg-type]

    def rewrite(self, change: Callable[[Expr], Expr]) -> Expr:
        """Bottom-up rewriting of the whole expression."""
        return change(self.map_children(lambda child: child.rewrite(change)))

    def columns(self) -> frozenset[str]:
        return frozenset(e.name for e in self.walk() if isinstance(e, ColumnRef))


@dataclass(frozen=True)
class Constant(Expr):
    """A literal; TIMESTAMP values are microseconds as int, None is NULL."""

    value: object


@dataclass(frozen=True)
class ColumnRef(Expr):
    """A column of the plan node below, by its plan name (`alias.attribute`, `_t`, `_agg0` …)."""

    name: str


@dataclass(frozen=True)
class FieldOf(Expr):
    """A field of a STRUCT."""

    base: Expr
    name: str


@dataclass(frozen=True)
class ElementOf(Expr):
    """`array[i]` from 0, or `map[key]`; null outside. `from_end` counts from the last element (lastOf)."""

    base: Expr
    index: Expr
    from_end: bool = False


@dataclass(frozen=True)
class MakeStruct(Expr):
    """A struct of named values (`SELECT *` over a join: one per alias)."""

    names: tuple[str, ...]
    values: tuple[Expr, ...]


def argument_names(count: int) -> tuple[str, ...]:
    """The fields of a struct of an aggregate's values."""
    return tuple(f"x{i}" for i in range(1, count + 1))


@dataclass(frozen=True)
class FunctionCall(Expr):
    """A scalar function of the allow-list, by its Spark SQL name in lower case."""

    name: str
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Arithmetic(Expr):
    """`+ - * / %` on numbers of one common type (`/` gives DOUBLE), `||` on strings; TIMESTAMP ± duration,
    TIMESTAMP − TIMESTAMP (seconds as DOUBLE). Division by zero and overflow give NULL."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Duration(Expr):
    """A duration added to a TIMESTAMP, or the width of a window; type LONG, in microseconds, a month as 30 days. Added
    to a time, the `months` are those of the calendar, and `rest` are the further microseconds."""

    micros: int
    months: int = 0

    @property
    def rest(self) -> int:
        return self.micros - self.months * MICROS["month"]


@dataclass(frozen=True)
class Negate(Expr):
    operand: Expr


@dataclass(frozen=True)
class Comparison(Expr):
    """`= <> < <= > >=` on two operands of one common type; SQL's null logic; NaN equals NaN and is greatest."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class And(Expr):
    operands: tuple[Expr, ...]


@dataclass(frozen=True)
class Or(Expr):
    operands: tuple[Expr, ...]


@dataclass(frozen=True)
class Not(Expr):
    operand: Expr


@dataclass(frozen=True)
class InList(Expr):
    operand: Expr
    items: tuple[Expr, ...]


@dataclass(frozen=True)
class RowCondition:
    """A condition on a row of a relation and on given values, as columns of one row: GIVEN and a number for the values,
    the relation's own names for its columns. Not an Expr: its columns are not those of the plan."""

    expr: Expr
    columns: tuple[str, ...]


GIVEN = "given"


@dataclass(frozen=True)
class InRelation(Expr):
    """`R(x, _, …)`: the relation has a row that equals the given terms and satisfies the condition, if any. Never NULL:
    a null matches nothing."""

    relation: str
    attributes: tuple[str, ...]
    args: tuple[Expr, ...]
    values: tuple[Expr, ...] = ()
    condition: RowCondition | None = None


@dataclass(frozen=True)
class Like(Expr):
    operand: Expr
    pattern: Expr


@dataclass(frozen=True)
class IsNull(Expr):
    operand: Expr


@dataclass(frozen=True)
class CaseWhen(Expr):
    """Conditions and values alternate in `branches`: c1, v1, c2, v2, …"""

    branches: tuple[Expr, ...]
    otherwise: Expr


@dataclass(frozen=True)
class CastTo(Expr):
    """To `type`; NULL where a value cannot be converted."""

    operand: Expr


@dataclass(frozen=True)
class AggregateCall(Expr):
    """`sum(x)`; `arg` is None for count(*), and a struct of several values. `constants` are the arguments after it. A
    ColumnRef replaces it when the Aggregate node is made."""

    function: str
    arg: Expr | None
    distinct: bool = False
    constants: tuple[object, ...] = ()


TRUE = Constant(BOOLEAN, True)
FALSE = Constant(BOOLEAN, False)


def conjuncts(condition: Expr | None) -> list[Expr]:
    """The operands of a flat or nested AND; a missing condition has none."""
    if condition is None or condition == TRUE:
        return []
    if isinstance(condition, And):
        return [c for operand in condition.operands for c in conjuncts(operand)]
    return [condition]


def conjunction(parts: list[Expr]) -> Expr | None:
    """AND of the parts, or None if there are none."""
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else And(BOOLEAN, tuple(parts))


def any_of(conditions: list[Expr]) -> Expr | None:
    """OR of the conditions, with their common conjuncts in front, where an index can use them. None if always true."""
    several = [list(dict.fromkeys(conjuncts(condition))) for condition in dict.fromkeys(conditions)]
    common = [part for part in several[0] if all(part in others for others in several)]
    rests = [conjunction([part for part in parts if part not in common]) for parts in several]
    if len(rests) > 1 and all(rest is not None for rest in rests):
        common.append(Or(BOOLEAN, tuple(rest for rest in rests if rest is not None)))
    elif len(rests) == 1 and rests[0] is not None:
        common.append(rests[0])
    return conjunction(common)


def contains_aggregate(expr: Expr) -> bool:
    return any(isinstance(e, AggregateCall) for e in expr.walk())
