"""Syntax nodes of MATCH_RECOGNIZE."""

from __future__ import annotations

from dataclasses import dataclass, field

from presage.lang.syntax import DurationLiteral, Expr, Node


@dataclass(frozen=True)
class RegexTerm(Node):
    """Base of the terms in PATTERN ( … )."""

    depth: int = field(default=1, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class VariableTerm(RegexTerm):
    name: str


@dataclass(frozen=True)
class ConcatTerm(RegexTerm):
    """`A B C`; no operand: the empty pattern `()`."""

    operands: tuple[RegexTerm, ...]


@dataclass(frozen=True)
class AlternativesTerm(RegexTerm):
    """`A | B`."""

    operands: tuple[RegexTerm, ...]


@dataclass(frozen=True)
class QuantifiedTerm(RegexTerm):
    """`A{low,high}`, and `* + ?` written so; `high` None: no bound."""

    operand: RegexTerm
    low: int
    high: int | None
    reluctant: bool = False


@dataclass(frozen=True)
class PermuteTerm(RegexTerm):
    """`PERMUTE(A, B, C)`."""

    operands: tuple[RegexTerm, ...]


@dataclass(frozen=True)
class ExcludedTerm(RegexTerm):
    """`{- A -}`."""

    operand: RegexTerm


@dataclass(frozen=True)
class AnchorTerm(RegexTerm):
    """`^` or `$`."""

    mark: str


@dataclass(frozen=True)
class OrderKey(Node):
    expr: Expr
    descending: bool = False


@dataclass(frozen=True)
class MeasureItem(Node):
    """One measure; the binder rejects one without a name."""

    expr: Expr
    name: str | None


@dataclass(frozen=True)
class SkipClause(Node):
    """AFTER MATCH SKIP: past_last, to_next, to_current, to_first, to_last; the last two with a variable."""

    kind: str
    variable: str | None = None


@dataclass(frozen=True)
class SubsetItem(Node):
    """`u = (a, b)`."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class Definition(Node):
    """`v AS cond`."""

    name: str
    condition: Expr


@dataclass(frozen=True)
class MatchClause(Node):
    """`MATCH_RECOGNIZE ( … )`. `rows`: one, all, all_omit, all_unmatched. `within_word` is the word as written (WITHIN,
    INTERVAL), `or_terminated` belongs to INTERVAL."""

    pattern: RegexTerm
    partition_by: tuple[Expr, ...] = ()
    order_by: tuple[OrderKey, ...] = ()
    measures: tuple[MeasureItem, ...] = ()
    rows: str = "one"
    skip: SkipClause = field(default_factory=lambda: SkipClause("past_last"))
    within: DurationLiteral | None = None
    within_word: str = "WITHIN"
    or_terminated: bool = False
    gap: DurationLiteral | None = None
    emit_timeout: bool = False
    subsets: tuple[SubsetItem, ...] = ()
    definitions: tuple[Definition, ...] = ()
