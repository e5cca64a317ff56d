"""Syntax nodes of history: RECALL after an item of FROM, its SELECTs, and the commands to running recalls."""

from __future__ import annotations

from dataclasses import dataclass, field

from presage.lang.command_syntax import EventStatement
from presage.lang.syntax import Call, Expr, Node, SelectItem
from presage.model.text import NOWHERE, Span


@dataclass(frozen=True)
class HistorySource(Node):
    """`R [AS] h [WINDOW d]` or `( SELECT … ) [AS] h`; `on` and `outer` are those of `[LEFT] JOIN … ON …`."""

    name: str
    select: HistorySelect | None = None
    alias: str | None = None
    on: Expr | None = None
    outer: bool = False
    window: int | None = None
    name_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class OrderTerm(Node):
    """`expr [ASC | DESC] [NULLS FIRST | LAST]`; None is the default of SQL: nulls first in ascending order."""

    expr: Expr
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True)
class HistorySelect(Node):
    """A SELECT over archived streams and relations, or without `sources` over the event alone. `recalls` are those of a
    CONTEXT."""

    select: tuple[SelectItem, ...]
    sources: tuple[HistorySource, ...] = ()
    distinct: bool = False
    where: Expr | None = None
    group_by: tuple[Expr, ...] = ()
    having: Expr | None = None
    order_by: tuple[OrderTerm, ...] = ()
    limit: int | None = None
    recalls: tuple[RecallClause, ...] = ()


@dataclass(frozen=True)
class Pace(Node):
    """REPORT EVERY d, PAUSE EVERY n CHUNKS, DROP AFTER d; durations in microseconds."""

    report_every: int | None = None
    pause_every: int | None = None
    drop_after: int | None = None


@dataclass(frozen=True)
class RecallClause(Node):
    """`[FINAL] RECALL [LAST d] ( select ) AS alias`."""

    select: HistorySelect
    alias: str
    last: int | None = None
    final: bool = False
    pace: Pace = field(default_factory=Pace)


@dataclass(frozen=True)
class NamedSelect(Node):
    """`WITH name AS SELECT …`."""

    name: str
    select: HistorySelect


@dataclass(frozen=True)
class Bandwidth(Node):
    """`load = 0.5` in BANDWIDTH (…): how far apart two similar numbers of an attribute may be."""

    attribute: str
    width: float


@dataclass(frozen=True)
class SimilarClause(Node):
    """`[FINAL] RECALL [LAST d] SIMILAR k ( CONTEXT select, …, WITH name AS select … ) AS alias`; `before` and `after`
    are those of BEFORE d AFTER d."""

    count: int
    contexts: tuple[HistorySelect, ...]
    alias: str
    returned: tuple[NamedSelect, ...] = ()
    before: int | None = None
    after: int | None = None
    bandwidths: tuple[Bandwidth, ...] = ()
    last: int | None = None
    final: bool = False
    pace: Pace = field(default_factory=Pace)


@dataclass(frozen=True)
class ScalarSelect(Expr):
    """`( SELECT … )` as a term: its only value, or null."""

    select: HistorySelect


@dataclass(frozen=True)
class InSelect(Expr):
    """`x [NOT] IN ( SELECT … )`."""

    operand: Expr
    select: HistorySelect
    negated: bool = False


@dataclass(frozen=True)
class Exists(Expr):
    """`EXISTS ( SELECT … )`; NOT EXISTS is a Not around it."""

    select: HistorySelect


@dataclass(frozen=True)
class Over(Expr):
    """`f(x, …) OVER ([PARTITION BY x, …] [ORDER BY x, …])`: a window function of SQL."""

    call: Call
    partition: tuple[Expr, ...] = ()
    order: tuple[OrderTerm, ...] = ()


@dataclass(frozen=True)
class RecallCommand(EventStatement):
    """CANCEL, ACCELERATE or CONTINUE RECALL 'id' [OF statement]."""
