"""Builders of terms and conditions. They reject a term that is nested deeper than the limit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

from presage.errors import error
from presage.lang import syntax as s
from presage.lang.builders.clause import depth_over
from presage.lang.builders.literals import typed_literal
from presage.lang.builders.types import TypeAt
from presage.lang.identifiers import read_name
from presage.lang.lalr import Builder
from presage.lang.lexer import Token
from presage.model.text import Span
from presage.model.time import count_months, parse_duration, part_of_month

# Far beyond LONG and still fast to parse; Python rejects integers of more than 4,300 digits.
MAX_DIGITS = 400
# Fractions of units are computed in doubles, in which microseconds are exact up to here.
MAX_DURATION = 2**53
_ESCAPE = re.compile(r"\\([ntr\\'\"])|''|\"\"")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
# DISTINCT, if it is there, and the arguments of a call.
Arguments = tuple[Token | None, tuple[s.Expr, ...]]


def read_string(token: Token) -> str:
    r"""The value of a string. Inside it its own quote is doubled, as in SQL, or escaped.

    `\n \t \r \\ \' \"` are escapes. A backslash before any other character is literal, as regular expressions need
    it: '\d+'.
    """
    quote = token.text[0]

    def unescape(match: re.Match[str]) -> str:
        if match[1]:
            return _ESCAPED.get(match[1], match[1])
        # Only the string's own quote is escaped by doubling it.
        return quote if match[0][0] == quote else match[0]

    return _ESCAPE.sub(unescape, token.text[1:-1])


def read_number(token: Token) -> int | float:
    """An integer if it has digits only, else a float."""
    if len(token.text) > MAX_DIGITS:
        what = f"the number {token.text[:12]}…"
        raise error("LIMIT", token.span, what=what, limit_name="digits of a number", limit=MAX_DIGITS)
    if token.text.isdigit():
        return int(token.text)
    value = float(token.text)
    if math.isinf(value):
        expected = "at most 1.79e308"
        raise error("BAD_VALUE", token.span, what=f"the number {token.text}", found="infinite", expected=expected)
    return value


def read_span(token: Token) -> s.DurationLiteral:
    """A duration with calendar months."""
    return s.DurationLiteral(read_duration(token), count_months(token.text), span=token.span)


def read_fixed(token: Token, where: str) -> int:
    """Microseconds of a duration of fixed length."""
    if count_months(token.text):
        where = f"in {where}: months differ in length"
        raise error("UNSUPPORTED", token.span, what="a month", where=where, fix="write days: 30 days")
    return read_duration(token)


def read_duration(token: Token) -> int:
    """Microseconds of a duration; a month is 30 days."""
    try:
        micros = parse_duration(token.text)
    except OverflowError:
        micros = MAX_DURATION + 1
    if micros is None:
        raise error("BAD_DURATION", token.span, found=token.text)
    if part := part_of_month(token.text):
        expected, fix = "in whole months", "write it in days"
        raise error("BAD_VALUE", token.span, what="a duration", found=part, expected=expected, fix=fix)
    if micros > MAX_DURATION:
        what = f"the duration {token.text[:40]}"
        raise error("LIMIT", token.span, what=what, limit_name="longest duration", limit="285 years")
    return micros


def all_of(span: Span, *operands: s.Expr) -> s.AllOf:
    return s.AllOf(operands, span=span, depth=depth_over(span, *operands))


def any_of(span: Span, *operands: s.Expr) -> s.AnyOf:
    return s.AnyOf(operands, span=span, depth=depth_over(span, *operands))


def negate(span: Span, operand: s.Expr) -> s.Not:
    return s.Not(operand, span=span, depth=depth_over(span, operand))


def binary(span: Span, left: s.Expr, mark: Token, right: s.Expr) -> s.Binary:
    op = {"!=": "<>", "==": "="}.get(mark.text, mark.text)
    return s.Binary(op, left, right, span=span, depth=depth_over(span, left, right))


def unary(span: Span, mark: Token, operand: s.Expr) -> s.Unary:
    return s.Unary(mark.text, operand, span=span, depth=depth_over(span, operand))


def negatable(kind: Callable[..., s.Expr]) -> Builder:
    def build(span: Span, operand: s.Expr, negated: Token | None, *others: s.Expr) -> s.Expr:
        return kind(operand, *others, negated is not None, span=span, depth=depth_over(span, operand, *others))

    return build


def in_list(span: Span, operand: s.Expr, negated: Token | None, *items: s.Expr) -> s.InList:
    return s.InList(operand, items, negated is not None, span=span, depth=depth_over(span, operand, *items))


def member(span: Span, base: s.Expr, name: Token) -> s.Member:
    return s.Member(base, read_name(name.text), span=span, depth=depth_over(span, base))


def method(span: Span, base: s.Expr, name: Token, arguments: Arguments | None) -> s.Method:
    distinct, args = arguments or (None, ())
    if distinct is not None:
        expected, fix = "the arguments of a method", "only an aggregate takes DISTINCT"
        raise error("SYNTAX", distinct.span, found="DISTINCT", expected=expected, fix=fix)
    return s.Method(base, read_name(name.text), args, span=span, depth=depth_over(span, base, *args))


def index(span: Span, base: s.Expr, at: s.Expr) -> s.Index:
    return s.Index(base, at, span=span, depth=depth_over(span, base, at))


def call(span: Span, name: Token, arguments: Arguments | None) -> s.Call:
    distinct, args = arguments or (None, ())
    return s.Call(read_name(name.text), args, distinct is not None, span=span, depth=depth_over(span, *args))


def star_of(span: Span, base: s.Expr) -> s.Star:
    if not isinstance(base, s.Name):
        fix = "write alias.* for all attributes of one item of FROM"
        raise error("SYNTAX", base.span, found="a term before .*", expected="an alias", fix=fix)
    return s.Star(base.name, span=span)


def case(span: Span, *parts: s.Expr | tuple[s.Expr, s.Expr] | Otherwise | None) -> s.Case:
    operand, *branches, last = parts
    pairs = tuple(branch for branch in branches if isinstance(branch, tuple) and not isinstance(branch, Otherwise))
    otherwise = last.value if isinstance(last, Otherwise) else None
    assert operand is None or isinstance(operand, s.Expr)
    inner = [part for pair in pairs for part in pair]
    return s.Case(operand, pairs, otherwise, span=span, depth=depth_over(span, operand, otherwise, *inner))


class Otherwise(NamedTuple):
    """The ELSE of a CASE."""

    value: s.Expr


def cast(span: Span, operand: s.Expr, target: TypeAt) -> s.Cast:
    return s.Cast(operand, target.type, span=span, depth=depth_over(span, operand))


BUILDERS: dict[str, Builder] = {
    "term": lambda span, expr: expr,
    # Parentheses make no node: the place of a term is inside of them.
    "parenthesized": lambda span, expr: expr,
    "any_of": any_of,
    "all_of": all_of,
    "negate": negate,
    "binary": binary,
    "unary": unary,
    "between": negatable(s.Between),
    "in_list": in_list,
    "like": negatable(s.Like),
    "is_null": negatable(s.IsNull),
    "member": member,
    "method": method,
    "index": index,
    "call": call,
    "arguments": lambda span, distinct, *args: (distinct, args),
    "star": lambda span: s.Star(span=span),
    "star_of": star_of,
    "name": lambda span, token: s.Name(read_name(token.text), span=span),
    "number": lambda span, token: s.Literal(read_number(token), span=span),
    "string": lambda span, token: s.Literal(read_string(token), span=span),
    "duration": lambda span, token: read_span(token),
    "typed_literal": typed_literal,
    "true": lambda span, *_: s.Literal(True, span=span),
    "false": lambda span, *_: s.Literal(False, span=span),
    "null": lambda span: s.Literal(None, span=span),
    "case": case,
    "when": lambda span, condition, result: (condition, result),
    "otherwise": lambda span, value: Otherwise(value),
    "cast": cast,
}
