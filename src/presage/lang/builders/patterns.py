"""Builders of EPL patterns: the terms of PATTERN [ … ]."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from presage.errors import did_you_mean, error
from presage.lang import pattern_syntax as p
from presage.lang.builders.clause import bad_value, depth_over
from presage.lang.builders.terms import read_number
from presage.lang.identifiers import read_name
from presage.lang.lalr import Builder
from presage.lang.lexer import Token
from presage.lang.syntax import Between, Expr
from presage.model.text import Span
from presage.model.time import UNIT_NAMES

MOST_LEVEL = 1_000_000  # of @consume
NOTES = ("DiscardPartialsOnMatch", "SuppressOverlappingMatches")


class Arrow(NamedTuple):
    """`->`, or `-[n]>` with its limit."""

    limit: Expr | None


class Bounds(NamedTuple):
    """`[low:high]` before a term."""

    low: Expr | None
    high: Expr | None


class Consume(NamedTuple):
    level: int


def pattern_source(span: Span, *parts: Token | p.PatternTerm) -> p.PatternSource:
    *notes, term = parts
    chosen: set[str] = set()
    for note in notes:
        assert isinstance(note, Token)
        name = next((n for n in NOTES if n.lower() == note.text.lower()), None)
        if name is None:
            fix = did_you_mean(note.text, NOTES, otherwise=f"known: {', '.join('@' + n for n in NOTES)}")
            raise error("SYNTAX", note.span, found=f"@{note.text}", expected="an annotation of patterns", fix=fix)
        chosen.add(name)
    assert isinstance(term, p.PatternTerm)
    return p.PatternSource(term, NOTES[0] in chosen, NOTES[1] in chosen, span=span)


def followed_by(span: Span, *parts: p.PatternTerm | Arrow) -> p.FollowedBy:
    operands = tuple(part for part in parts if isinstance(part, p.PatternTerm))
    limits = tuple(part.limit for part in parts if isinstance(part, Arrow))
    return p.FollowedBy(operands, limits, span=span, depth=depth_over(span, *operands))


def pattern_range(
    span: Span, bounds: Bounds, operand: p.PatternTerm, until: p.PatternTerm | None = None
) -> p.RepeatTerm:
    return p.RepeatTerm(operand, *bounds, until, span=span, depth=depth_over(span, operand, until))


def pattern_distinct(span: Span, *parts: Expr | p.PatternTerm) -> p.EveryDistinctTerm:
    *keys, operand = parts
    assert isinstance(operand, p.PatternTerm)
    return p.EveryDistinctTerm(tuple(keys), operand, span=span, depth=depth_over(span, operand))  # type: ignore[arg-type]


def timer_guard(
    span: Span, operand: p.PatternTerm, space: Token, name: Token, args: tuple[tuple[p.PeriodPart, ...], ...] | None
) -> p.TimerGuard:
    return p.TimerGuard(operand, f"{space.text}:{name.text}", args or (), span=span, depth=depth_over(span, operand))


def event_term(
    span: Span, name: Token, condition: Expr | None, consumed: Consume | None, tag: Token | None = None
) -> p.EventTerm:
    depth = depth_over(span, condition)
    level = consumed.level if consumed is not None else 0
    return p.EventTerm(read_name(name.text), _tag(tag), condition, level, span=span, depth=depth)


def _tag(token: Token | None) -> str | None:
    return read_name(token.text[:-1].rstrip()) if token is not None else None


def consume(span: Span, word: Token, level: Token | None) -> Consume:
    if word.text.lower() != "consume":
        fix = did_you_mean(word.text, ["consume"], otherwise="write @consume or @consume(2)")
        raise error("SYNTAX", word.span, found=f"@{word.text}", expected="@consume", fix=fix)
    number = read_number(level) if level is not None else 1
    if not isinstance(number, int) or not 0 <= number <= MOST_LEVEL:
        assert level is not None
        expected, fix = f"a whole number from 0 to {MOST_LEVEL}", "write @consume(1), or @consume alone"
        raise bad_value(level, "the level of @consume", expected, fix)
    return Consume(number)


def period_parts(span: Span, *parts: Expr | Token) -> tuple[p.PeriodPart, ...]:
    made = []
    for value, unit in zip(parts[::2], parts[1::2], strict=True):
        assert isinstance(value, Expr)
        assert isinstance(unit, Token)
        name = UNIT_NAMES.get(unit.text.lower())
        if name is None:
            fix = did_you_mean(unit.text, UNIT_NAMES, otherwise="the units are msec, sec, min, hour, day, week, month")
            raise error("SYNTAX", unit.span, found=unit.text, expected="a unit of time", fix=fix)
        made.append(p.PeriodPart(value, name, span=value.span.to(unit.span)))
    return tuple(made)


def in_range(
    span: Span, operand: Expr, negated: Token | None, low: Expr, high: Expr, above: bool = False, below: bool = False
) -> Between:
    """EPL's `x IN [low:high]` means BETWEEN; a round bracket excludes its bound."""
    depth = depth_over(span, operand, low, high)
    return Between(operand, low, high, negated is not None, above, below, span=span, depth=depth)


BUILDERS: dict[str, Builder] = {
    "pattern_source": pattern_source,
    "pattern_note": lambda span, name: name,
    "followed_by": followed_by,
    "arrow": lambda span: Arrow(None),
    "limited_arrow": lambda span, limit: Arrow(limit),
    "pattern_any": lambda span, *operands: p.OrTerm(operands, span=span, depth=depth_over(span, *operands)),
    "pattern_all": lambda span, *operands: p.AndTerm(operands, span=span, depth=depth_over(span, *operands)),
    "pattern_until": lambda span, operand, until: pattern_range(span, Bounds(None, None), operand, until),
    "pattern_range": pattern_range,
    "pattern_counted": pattern_range,
    "repeat_exactly": lambda span, count: Bounds(count, count),
    "repeat_between": lambda span, low, high: Bounds(low, high),
    "repeat_at_least": lambda span, low: Bounds(low, None),
    "repeat_at_most": lambda span, high: Bounds(None, high),
    "pattern_every": lambda span, operand: p.EveryTerm(operand, span=span, depth=depth_over(span, operand)),
    "pattern_distinct": pattern_distinct,
    "pattern_not": lambda span, operand: p.NotTerm(operand, span=span, depth=depth_over(span, operand)),
    "timer_guard": timer_guard,
    "while_guard": lambda span, operand, condition: p.WhileGuard(
        operand, condition, span=span, depth=depth_over(span, operand)
    ),
    "pattern_group": lambda span, term: term,
    "event_term": event_term,
    "tagged_event": lambda span, tag, name, condition, consumed: event_term(span, name, condition, consumed, tag),
    "timer_term": lambda span, space, name, args: p.TimerTerm(f"{space.text}:{name.text}", args or (), span=span),
    "consume": consume,
    "periods": lambda span, *args: args,
    "period": lambda span, value: (p.PeriodPart(value, span=value.span),),
    "period_parts": period_parts,
    "in_range": in_range,
    "in_range_above": partial(in_range, above=True),
    "in_range_below": partial(in_range, below=True),
    "in_range_inside": partial(in_range, above=True, below=True),
}
