"""Numbers and spans of time that a pattern writes -> their values, or the error that says what they may be."""

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
MOST_MICROS = 2**61  # some 73,000 years: the kernel's timers reach no further


def limit_of(limit: s.Expr | None) -> int:
    """The n of -[n]>; -1 if there is none."""
    if limit is None:
        return -1
    try:
        bound: e.Expr | None = ExpressionBinder(Scope([])).bind(limit)
    except PresageError:
        bound = None
    value = bound.value if isinstance(bound, e.Constant) else None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise error(
            "BAD_VALUE",
            limit.span,
            what="the limit of -[n]>",
            found=print_expression(limit),
            expected="a number, 1 or more, that depends on no event",
            fix="write -[1]>, or -> for no limit",
        )
    return value


def check_bounds(term: p.RepeatTerm, low: int | e.Expr | None, high: int | e.Expr | None) -> None:
    """Of a repeat; what comes from events is known when they come."""
    low_at = term.low.span if term.low is not None else term.span
    high_at = term.high.span if term.high is not None else term.span
    exact = term.low is not None and term.low == term.high
    if exact and isinstance(low, int) and low < 1:
        raise error(
            "BAD_VALUE",
            low_at,
            what="a repeat count",
            found=low,
            expected="at least 1",
            fix="write [1], or leave the term out",
        )
    if isinstance(high, int) and high < 1:
        raise error(
            "BAD_VALUE",
            high_at,
            what="the upper bound of a repeat",
            found=high,
            expected="at least 1",
            fix="write [:1], or leave the repeated term out",
        )
    if isinstance(low, int) and low < 0:
        raise error(
            "BAD_VALUE",
            low_at,
            what="the lower bound of a repeat",
            found=low,
            expected="0 or more",
            fix="leave it out: [:m]",
        )
    if isinstance(low, int) and isinstance(high, int) and low > high:
        raise error(
            "BAD_VALUE",
            low_at,
            what="the lower bound of a repeat",
            found=low,
            expected=f"at most the upper bound, {high}",
            fix=f"write [{high}:{low}]",
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
    """`-5 sec`, which no term takes, as a period."""
    if isinstance(value, s.Unary) and value.op == "-" and isinstance(value.operand, s.DurationLiteral):
        raise error(
            "BAD_VALUE",
            value.span,
            what=f"the period of {name}",
            found=print_expression(value),
            expected="0 or more",
            fix=f"write {print_expression(value.operand)}",
        )


def constant_period(months: float, micros: float, name: str, span: Span) -> Period:
    """A period that depends on no event."""
    if months < 0 or micros < 0:
        raise error(
            "BAD_VALUE",
            span,
            what=f"the period of {name}",
            found="negative",
            expected="0 or more",
            fix="write it without a sign, such as 5 sec",
        )
    if not math.isfinite(micros) or not math.isfinite(months) or months * MICROS["month"] + micros >= MOST_MICROS:
        raise error(
            "BAD_VALUE",
            span,
            what=f"the period of {name}",
            found="too long",
            expected="at most some 73,000 years",
            fix="leave the timer out: it would never fall due",
        )
    return Period(int(months), round(micros))


def refuse_endless(nodes: Sequence[Node], number: int, word: str, span: Span) -> None:
    """EVERY over a term that is true the moment it starts: it would start for ever."""
    if _is_instant(nodes, number):
        raise error(
            "BAD_VALUE",
            span,
            what=f"the term of {word}",
            found="true the moment that it starts",
            expected="completed by an event or by time",
            fix="give timer:interval a period above 0",
        )


def refuse_denial(nodes: Sequence[Node], number: int, span: Span) -> None:
    """UNTIL a term that a NOT makes true from its start: nothing could be repeated before it."""
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
        case "and":  # NOT is true from its start, and ends nothing
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
