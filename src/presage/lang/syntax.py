"""The nodes of the syntax tree. Immutable; spans do not count in equality."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from presage.model.calendar import moved_by_months
from presage.model.text import NOWHERE, Source, Span
from presage.model.time import MICROS
from presage.model.types import DataType

if TYPE_CHECKING:
    from presage.lang.knowledge_syntax import ClausePart
    from presage.lang.match_syntax import MatchClause
    from presage.lang.pattern_syntax import PatternSource
    from presage.lang.prediction_syntax import Predicted
    from presage.lang.recall_syntax import RecallClause, SimilarClause
    from presage.lang.sequence_syntax import Inference, Probabilistic, SequenceItem


@dataclass(frozen=True, kw_only=True)
class Node:
    """Base of all nodes. `span` is the node's place in the text."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


# -- terms and conditions ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Expr(Node):
    """A term or a condition. `depth` counts the levels of its tree, which the parser limits."""

    depth: int = field(default=1, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Literal(Expr):
    """A string, an integer, a float, a truth value or NULL (value None); a datetime, date, Decimal or bytes where
    its type was named."""

    value: LiteralValue | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and same_value(self.value, other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


LiteralValue = str | int | float | bool | datetime | date | Decimal | bytes


def same_value(a: LiteralValue | None, b: LiteralValue | None) -> bool:
    """1, 1.0 and True are three literals, though equal in Python; so are the decimals 1.0 and 1.00."""
    return type(a) is type(b) and (str(a) == str(b) if isinstance(a, Decimal) else a == b)


@dataclass(frozen=True)
class DurationLiteral(Expr):
    """`5 min`, in microseconds. A month counts 30 days there, as in the width of a window; timers, arithmetic and the
    bounds of a match use calendar `months` instead."""

    micros: int
    months: int = 0


@dataclass(frozen=True)
class Name(Expr):
    """An identifier: an attribute, an alias, or (before a dot) either."""

    name: str


@dataclass(frozen=True)
class Member(Expr):
    """`base.name`."""

    base: Expr
    name: str


@dataclass(frozen=True)
class Index(Expr):
    """`base[index]`."""

    base: Expr
    index: Expr


@dataclass(frozen=True)
class Method(Expr):
    """`base.firstOf()`, `base.lastOf()`."""

    base: Expr
    name: str
    args: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Star(Expr):
    """`*`, or `a.*` with the alias in `of`."""

    of: str | None = None


@dataclass(frozen=True)
class Call(Expr):
    """`f(x, …)`, `count(*)` (args: one Star), `count(DISTINCT x)`; the function may be a relation."""

    name: str
    args: tuple[Expr, ...] = ()
    distinct: bool = False


@dataclass(frozen=True)
class Unary(Expr):
    """`-x`, `+x`."""

    op: str
    operand: Expr


@dataclass(frozen=True)
class Binary(Expr):
    """Arithmetic `+ - * / %`, `||`, and the comparisons `= <> < <= > >=` (`!=` is read as `<>`, `==` as `=`)."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Not(Expr):
    """`NOT x`."""

    operand: Expr


@dataclass(frozen=True)
class AllOf(Expr):
    """`a AND b AND …`, flat: two operands or more, none of them an AllOf unless it was in parentheses."""

    operands: tuple[Expr, ...]


@dataclass(frozen=True)
class AnyOf(Expr):
    """`a OR b OR …`, flat likewise."""

    operands: tuple[Expr, ...]


@dataclass(frozen=True)
class Between(Expr):
    """`x [NOT] BETWEEN low AND high`; `x [NOT] IN (low:high)` with an excluded bound: `above`, `below`."""

    operand: Expr
    low: Expr
    high: Expr
    negated: bool = False
    above: bool = False
    below: bool = False


@dataclass(frozen=True)
class InList(Expr):
    """`x [NOT] IN (a, …)`."""

    operand: Expr
    items: tuple[Expr, ...]
    negated: bool = False


@dataclass(frozen=True)
class Like(Expr):
    """`x [NOT] LIKE pattern`."""

    operand: Expr
    pattern: Expr
    negated: bool = False


@dataclass(frozen=True)
class IsNull(Expr):
    """`x IS [NOT] NULL`."""

    operand: Expr
    negated: bool = False


@dataclass(frozen=True)
class Case(Expr):
    """`CASE [operand] WHEN a THEN b … [ELSE c] END`."""

    operand: Expr | None
    branches: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr | None


@dataclass(frozen=True)
class Cast(Expr):
    """`CAST(x AS type)`."""

    operand: Expr
    type: DataType


@dataclass(frozen=True)
class RowsSeen(Expr):
    """`FINAL x` or `RUNNING x` in MEASURES: which rows of a match the functions in x see."""

    operand: Expr
    final: bool


# -- queries ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SelectItem(Node):
    """One column of SELECT; `expr` may be a Star."""

    expr: Expr
    alias: str | None = None


@dataclass(frozen=True)
class WindowClause(Node):
    """`#name(args)`; `#win:name(args)` is read as the same."""

    name: str
    args: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class FromItem(Node):
    """`R`, `R(cond)`, or PATTERN […] or SEQUENCE […] (then without a name), with windows, MATCH_RECOGNIZE and alias;
    `on` is set for JOIN, `analysis` (event, present) for ANALYSIS, `valid_window` for WINDOW after PREDICTED R,
    `event_id` and `recalls` for EVENT ID (…) and RECALL … after the item."""

    name: str
    condition: Expr | None = None
    windows: tuple[WindowClause, ...] = ()
    alias: str | None = None
    on: Expr | None = None
    analysis: str | None = None
    pattern: PatternSource | None = None
    match: MatchClause | None = None
    sequence: SequenceItem | None = None
    predicted: bool = False
    valid_window: int | None = None
    event_id: tuple[Expr, ...] = ()
    recalls: tuple[RecallClause | SimilarClause, ...] = ()
    name_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Bound(Node):
    """One end of WITHIN: microseconds, or None for `now` plus `offset` microseconds (`now - 5 min`), of which `months`
    are calendar months, with the same sign."""

    micros: int | None
    inclusive: bool
    offset: int = 0
    months: int = 0

    def at(self, now: int) -> int:
        if self.micros is not None:
            return self.micros
        rest = self.offset - self.months * MICROS["month"]
        return moved_by_months(now, self.months) + rest if self.months else now + rest


@dataclass(frozen=True)
class WithinClause(Node):
    """`WITHIN [low, high)`; None for an open end."""

    low: Bound | None
    high: Bound | None


@dataclass(frozen=True)
class OutputClause(Node):
    """`OUTPUT (ALL | LAST | FIRST) EVERY d` or, once at the end of input, `OUTPUT (LAST | SNAPSHOT)`: `every` is None.
    The mode is in lower case, ALL by default."""

    mode: str
    every: int | None


@dataclass(frozen=True)
class ProbabilityClause(Node):
    """`WITH PROBABILITY >= p`."""

    strict: bool
    threshold: float


@dataclass(frozen=True)
class ApproximateClause(Node):
    """`APPROXIMATE (ERROR e, CONFIDENCE c)`."""

    error: float
    confidence: float


@dataclass(frozen=True)
class Prefix(Node):
    """`PREFIX p: <iri>`."""

    name: str
    iri: str


# -- statements -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Statement(Node):
    """One statement of a text."""


@dataclass(frozen=True)
class Query(Statement):
    """The general form of a query: SELECT … FROM … and its clauses."""

    select: tuple[SelectItem, ...]
    items: tuple[FromItem, ...]
    prefixes: tuple[Prefix, ...] = ()
    insert_into: str | None = None
    tentative: bool = False
    distinct: bool = False
    within: WithinClause | None = None
    where: Expr | None = None
    group_by: tuple[Expr, ...] = ()
    having: Expr | None = None
    output: OutputClause | None = None
    probability: ProbabilityClause | None = None
    approximate: ApproximateClause | None = None
    validate: int | None = None  # the microseconds of VALIDATE EVERY
    # FILTER, JOIN, SEQ, WINDOW and PATH of the clause form, in order; further conditions in addition to WHERE.
    parts: tuple[ClausePart, ...] = ()


@dataclass(frozen=True)
class Column(Node):
    """`name TYPE` in a declaration."""

    name: str
    type: DataType


@dataclass(frozen=True)
class Option(Node):
    """`name = value` in WITH (…); the value as text."""

    name: str
    value: str | int | float | bool


@dataclass(frozen=True)
class CreateType(Statement):
    """CREATE SCHEMA and CREATE STREAM (`kind`: schema or stream)."""

    kind: str
    name: str
    columns: tuple[Column, ...] = ()
    inherits: tuple[str, ...] = ()
    event_time: str | None = None
    key: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    probabilistic: Probabilistic | None = None
    inference: Inference | None = None
    predicted: Predicted | None = None
    context: str | None = None  # the path of a JSON-LD context
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateRelation(Statement):
    """`CREATE RELATION R (cols) FROM 'file' [WITH (…)]`, or `VALUES (…), (…)`."""

    name: str
    columns: tuple[Column, ...]
    path: str | None = None
    rows: tuple[tuple[Expr, ...], ...] | None = None
    options: tuple[Option, ...] = ()  # of the file
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateSink(Statement):
    """`CREATE SINK name FROM statement WITH (sink = …)`: where the rows of a deployed statement are delivered."""

    name: str
    statement: str
    options: tuple[Option, ...] = ()
    if_not_exists: bool = False


@dataclass(frozen=True)
class Explain(Statement):
    """`EXPLAIN query [FORMAT svg]`; the format in lower case, text by default."""

    statement: Query
    format: str = "text"


@dataclass(frozen=True)
class Show(Statement):
    """SHOW STREAMS | STATEMENTS | RELATIONS | MODELS | KNOWLEDGE | RECALLS | SINKS, in lower case."""

    what: str


@dataclass(frozen=True)
class Describe(Statement):
    """`DESCRIBE name`."""

    name: str


@dataclass(frozen=True)
class Drop(Statement):
    """`DROP STREAM name [CASCADE]`; kind in lower case: stream, schema, relation, statement, model, knowledge, sink.
    `cascade`: also its events, and what depends on it."""

    kind: str
    name: str
    cascade: bool = False


@dataclass(frozen=True)
class Script(Node):
    """All statements of a text, in order."""

    statements: tuple[Statement, ...]
    source: Source = field(default=Source(""), compare=False, repr=False)
