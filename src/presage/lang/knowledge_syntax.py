"""Syntax nodes of knowledge: knowledge bases, PATH { … }, terms with a prefix, and the clause form."""

from __future__ import annotations

from dataclasses import dataclass, field

from presage.lang.syntax import DurationLiteral, Expr, Literal, Node, Statement
from presage.model.text import NOWHERE, Span
from presage.model.types import DataType


@dataclass(frozen=True)
class Path(Expr):
    """`PATH { … }`: a graph pattern of SPARQL, as written between the braces. `PATH { … }.v` is a Member over it."""

    text: str
    # The place of the text, without the braces.
    body: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class EventVariable(Expr):
    """`?e`: the event of the alias `e`, in the clause form."""

    name: str


@dataclass(frozen=True)
class Qualified(Expr):
    """`base.prefix:name`: the attribute with this meaning."""

    base: Expr
    prefix: str
    name: str


@dataclass(frozen=True)
class InTable(Expr):
    """A rewritten PATH, without a syntax of its own: the table has a row whose `attributes` equal the `args` and for
    which the condition holds. The condition uses `columns` of the table, and GIVEN with a number for each of `values`.
    """

    table: str
    attributes: tuple[str, ...] = ()
    args: tuple[Expr, ...] = ()
    columns: tuple[tuple[str, DataType], ...] = ()
    values: tuple[Expr, ...] = ()
    condition: Expr | None = None


@dataclass(frozen=True)
class ClausePart(Node):
    """Base of the parts of the clause form."""


@dataclass(frozen=True)
class FilterPart(ClausePart):
    """`FILTER (condition)`."""

    condition: Expr


@dataclass(frozen=True)
class JoinPart(ClausePart):
    """`JOIN (condition)`."""

    condition: Expr


@dataclass(frozen=True)
class SequencePart(ClausePart):
    """`SEQ (?a, ?b, …)`: the events in this order."""

    events: tuple[str, ...]


@dataclass(frozen=True)
class WindowPart(ClausePart):
    """`WINDOW (?e, sliding, 5 min)`, `WINDOW (?a, ?b, 5 min)`; `form` in lower case: sliding (the default) or batch.

    The size is a duration or a number of events.
    """

    events: tuple[str, ...]
    form: str
    size: DurationLiteral | Literal


@dataclass(frozen=True)
class PathPart(ClausePart):
    """PATHs joined by AND and OR."""

    condition: Expr


@dataclass(frozen=True)
class CreateKnowledge(Statement):
    """`CREATE KNOWLEDGE name FROM 'file', … [REASONING OWL_RL]`; the reasoning in capitals, None by default."""

    name: str
    paths: tuple[str, ...]
    reasoning: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True)
class RefreshKnowledge(Statement):
    """`REFRESH KNOWLEDGE name`."""

    name: str
