"""Syntax nodes of EPL patterns: the terms of PATTERN [ … ]."""

from __future__ import annotations

from dataclasses import dataclass, field

from presage.lang.syntax import Expr, Node


@dataclass(frozen=True)
class PatternTerm(Node):
    """Base of the terms of a pattern. `depth` counts the levels below, as in expressions."""

    depth: int = field(default=1, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class EventTerm(PatternTerm):
    """`x=R(cond)@consume(2)`; `consume` is 0 without it."""

    name: str
    tag: str | None = None
    condition: Expr | None = None
    consume: int = 0


@dataclass(frozen=True)
class PeriodPart(Node):
    """`expr unit`; the unit in its short form (sec), or None for a number of seconds or a duration."""

    value: Expr
    unit: str | None = None


@dataclass(frozen=True)
class TimerTerm(PatternTerm):
    """`timer:interval(5 sec)`; other names are rejected by the binder."""

    name: str
    args: tuple[tuple[PeriodPart, ...], ...]


@dataclass(frozen=True)
class FollowedBy(PatternTerm):
    """`p -> q -[n]> r`; `limits` is parallel to the arrows."""

    operands: tuple[PatternTerm, ...]
    limits: tuple[Expr | None, ...]


@dataclass(frozen=True)
class AndTerm(PatternTerm):
    operands: tuple[PatternTerm, ...]


@dataclass(frozen=True)
class OrTerm(PatternTerm):
    operands: tuple[PatternTerm, ...]


@dataclass(frozen=True)
class NotTerm(PatternTerm):
    operand: PatternTerm


@dataclass(frozen=True)
class EveryTerm(PatternTerm):
    operand: PatternTerm


@dataclass(frozen=True)
class EveryDistinctTerm(PatternTerm):
    """`EVERY-DISTINCT(keys, …) p`; a duration as the last key limits how long a key is kept."""

    keys: tuple[Expr, ...]
    operand: PatternTerm


@dataclass(frozen=True)
class RepeatTerm(PatternTerm):
    """`[low:high] p UNTIL q`; `[n]` has both bounds alike, no bounds only with UNTIL."""

    operand: PatternTerm
    low: Expr | None
    high: Expr | None
    until: PatternTerm | None


@dataclass(frozen=True)
class TimerGuard(PatternTerm):
    """`p WHERE timer:within(5 sec)`."""

    operand: PatternTerm
    name: str
    args: tuple[tuple[PeriodPart, ...], ...]


@dataclass(frozen=True)
class WhileGuard(PatternTerm):
    """`p WHILE (cond)`."""

    operand: PatternTerm
    condition: Expr


@dataclass(frozen=True)
class PatternSource(Node):
    """`PATTERN @Note … [ term ]`."""

    term: PatternTerm
    discard: bool = False
    suppress: bool = False
