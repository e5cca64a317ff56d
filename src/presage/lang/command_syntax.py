"""Syntax nodes of commands: CREATE STATEMENT, INSERT … VALUES, ADVANCE, and the statements of scenarios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from presage.lang.syntax import Expr, Option, Query, Statement


@dataclass(frozen=True)
class CreateStatement(Statement):
    """`CREATE [OR REPLACE] STATEMENT [IF NOT EXISTS] name [WITH (…)] AS query`: deploys the query."""

    name: str
    query: Query
    replace: bool = False
    options: tuple[Option, ...] = ()
    if_not_exists: bool = False


@dataclass(frozen=True)
class InsertValues(Statement):
    """`INSERT INTO R [(a, …)] VALUES (…), …`: events of a stream. `attributes` is None for all."""

    stream: str
    rows: tuple[tuple[Expr, ...], ...]
    attributes: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Advance(Statement):
    """`ADVANCE [R] TO 'time'`: advances the watermark, of one stream or of all."""

    to: str
    stream: str | None = None


@dataclass(frozen=True)
class EventStatement(Statement):
    """A command on an event that a deployed statement holds open, or all of them; the action in lower case."""

    action: str
    event_id: str
    of: str | None = None


@dataclass(frozen=True)
class Scenario(Statement):
    """`SCENARIO 'title'`: the statements up to the next one run in a home of their own."""

    word: ClassVar[str] = "SCENARIO"
    title: str


@dataclass(frozen=True)
class Include(Statement):
    """`INCLUDE 'file'`: inserts its statements."""

    word: ClassVar[str] = "INCLUDE"
    path: str


@dataclass(frozen=True)
class Assertion(Statement):
    """`ASSERT name [(a, …)] …`: the rows of a deployed statement since the last ASSERT are `rows`, in order unless
    `any_order`, numbers within `tolerance`; or their number is `count`."""

    word: ClassVar[str] = "ASSERT"
    statement: str
    columns: tuple[str, ...] | None = None
    rows: tuple[tuple[Expr, ...], ...] | None = None
    count: int = 0
    any_order: bool = False
    tolerance: float | None = None


# Statements that only `presage test` executes.
OF_SCENARIOS = Scenario | Include | Assertion
