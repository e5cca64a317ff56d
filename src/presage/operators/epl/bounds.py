"""Numbers and periods in a pattern: their values, and errors for those that are not allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from presage.analyze.expressions import ExpressionBinder
from presage.analyze.scope import Scope
from presage.errors import PresageError, error
from presage.lang import pattern_syntax as p
from presage.lang import syntax as s
from presage.lang.print_terms import print_expression
from presage.model.text import Span
from presage.model.time import MICROS
from presage.operators.epl.kernel.spec import Node, Period
from presage.plan import expr as e

MOST_REPEATS = 10_000  # as many as the quantifiers of MATCH_RECOGNIZE may write out
MOST_MICROS = 2**61  # some 73,000 years: the longest timer of the kernel


def _bad_value(span: Span, what: str, found: object, expected: str, fix: str) -> PresageError:
    return error("BAD_VALUE", span, what=what, found=found, expected=expected, fix=fix)


def limit_of(limit: s.Expr | None) -> int:
    """The n of -[n]>; -1: none."""
    if limit is None:
        return -1
    try:
        bound: e.Expr | None = ExpressionBinder(Scope([])).bind(limit)
    except PresageError:
        bound = None
    value = bound.value if isinstance(bound, e.Constant) else None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise _bad_value(
            limit.span,
            "the limit of -[n]>",
            print_expression(limit),
            "a number, 1 or more, that depends on no event",
            "write -[1]>, or -> for no limit",
        )
    return value


def check_bounds(term: p.RepeatTerm, low: int | e.Expr | None, high: int | e.Expr | None) -> None:
    """The bounds of a repeat; those from events are checked at run time."""
    low_at = term.low.span if term.low is not None else term.span
    high_at = term.high.span if term.high is not None else term.span
    exact = term.low is not None and term.low == term.high
    if exact and isinstance(low, int) and low < 1:
        raise _bad_value(low_at, "a repeat count", low, "at least 1", "write [1], or leave the term out")
    if isinstance(high, int) and high < 1:
        raise _bad_value(
            high_at, "the upper bound of a repeat", high, "at least 1", "write [:1], or leave the repeated term out"
        )
    if isinstance(low, int) and low < 0:
        raise _bad_value(low_at, "the lower bound of a repeat", low, "0 or more", "leave it out: [:m]")
    if isinstance(low, int) and isinstance(high, int) and low > high:
        raise _bad_value(
            low_at, "the lower bound of a repeat", low, f"at most the upper bound, {high}", f"write [{high}:{low}]"
        )
    for bound, at in ((low, low_at), (high, high_at)):
        if isinstance(bound, int) and bound > MOST_REPEATS:
            raise error(
                "LIMIT",
                at,
                what=f"the bound {bound} of a repeat",
                limit_name="rounds of a repeat",
                limit=MOST_REPEATS,
                fix="write p UNTIL q with what ends it, or a smaller number",
            )
    if term.until is None and term.low != term.high and not (isinstance(low, int) and low == high):
        raise error(
            "SYNTAX",
            term.span,
            found="a repeat between bounds",
            expected="UNTIL",
            fix="add UNTIL and what ends it, or write [n]",
        )


def fixed_period(literal: s.DurationLiteral) -> Period:
    return Period(literal.months, literal.micros - literal.months * MICROS["month"])


def refuse_negative(value: s.Expr, name: str) -> None:
    """Rejects `-5 sec` as a period."""
    if isinstance(value, s.Unary) and value.op == "-" and isinstance(value.operand, s.DurationLiteral):
        raise _bad_value(
            value.span,
            f"the period of {name}",
            print_expression(value),
            "0 or more",
            f"write {print_expression(value.operand)}",
        )


def constant_period(months: float, micros: float, name: str, span: Span) -> Period:
    """A period that depends on no event."""
    if months < 0 or micros < 0:
        raise _bad_value(
            span, f"the period of {name}", "negative", "0 or more", "write it without a sign, such as 5 sec"
        )
    if not math.isfinite(micros) or not math.isfinite(months) or months * MICROS["month"] + micros >= MOST_MICROS:
        raise _bad_value(
            span,
            f"the period of {name}",
            "too long",
            "at most some 73,000 years",
            "leave the timer out: it would never be due",
        )
    return Period(int(months), round(micros))


def refuse_endless(nodes: Sequence[Node], number: int, word: str, span: Span) -> None:
    """Rejects EVERY over a term that is true when it starts: EVERY would restart it for ever."""
    if _is_instant(nodes, number):
        raise _bad_value(
            span,
            f"the term of {word}",
            "true when it starts",
            "completed by an event or by time",
            "give timer:interval a period above 0",
        )


def refuse_denial(nodes: Sequence[Node], number: int, span: Span) -> None:
    """Rejects UNTIL with a term that a NOT makes true at its start: nothing could be repeated before it."""
    if _is_denial(nodes, number):
        raise error(
            "UNSUPPORTED",
            span,
            what="UNTIL NOT",
            where="in a pattern: NOT is true from its start, so that nothing is repeated",
            fix="name the event or the timer that ends it: UNTIL b=B, UNTIL timer:interval(1 min)",
        )


def _is_denial(nodes: Sequence[Node], number: int) -> bool:
    """Whether a NOT makes the term true at its start."""
    node = nodes[number]
    below = [_is_denial(nodes, child) for child in node.children]
    match node.kind:
        case "not":
            return True
        case "or":
            return any(below)
        case "filter" | "interval":
            return False
    return all(below[: 1 if node.kind == "until" else None])


def _is_instant(nodes: Sequence[Node], number: int) -> bool:
    """Whether timers without length make the term true at its start."""
    node = nodes[number]
    below = [_is_instant(nodes, child) for child in node.children]
    match node.kind:
        case "interval":
            return node.period == Period()
        case "and":  # a NOT in it is true from its start
            waits = [not instant and nodes[k].kind != "not" for k, instant in zip(node.children, below, strict=True)]
            return any(below) and not any(waits)
        case "followed":
            return all(below)
        case "or":
            return any(below)
        case "every" | "distinct" | "within":
            return below[0]
        case "until":
            return below[0] and node.low == node.high > 0
    return False
