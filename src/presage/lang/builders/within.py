"""Builders of WITHIN: its brackets and bounds."""

from __future__ import annotations

from dataclasses import replace

from presage.errors import error
from presage.lang.builders.clause import Clause
from presage.lang.builders.terms import read_span, read_string
from presage.lang.lalr import Builder
from presage.lang.lexer import Token
from presage.lang.syntax import Bound, WithinClause
from presage.model.text import Span
from presage.model.time import parse_timestamp

# Event time is within the years 1 to 9999.
_EARLIEST, _LATEST = -62_135_596_800_000_000, 253_402_300_799_999_999


def within(span: Span, opening: Token, low: Bound | None, high: Bound | None, closing: Token) -> Clause:
    if low is not None:
        low = replace(low, inclusive=opening.text == "[")
    if high is not None:
        high = replace(high, inclusive=closing.text == "]")
    return Clause("WITHIN", "within", WithinClause(low, high, span=span), span)


def bound_at(span: Span, token: Token) -> Bound:
    text = read_string(token) if token.kind == "STRING" else token.text
    try:
        micros = parse_timestamp(text)
    except (ValueError, OverflowError):
        # An offset of a hundred hours, or a year beyond the calendar.
        micros = None
    if micros is None or not _EARLIEST <= micros <= _LATEST:
        raise error("BAD_TIMESTAMP", token.span, found=text)
    return Bound(micros, False, span=span)


def bound_from_now(span: Span, sign: Token | None, duration: Token | None) -> Bound:
    if duration is None:
        return Bound(None, False, span=span)
    offset, turn = read_span(duration), -1 if sign is not None and sign.text == "-" else 1
    return Bound(None, False, turn * offset.micros, turn * offset.months, span=span)


BUILDERS: dict[str, Builder] = {"within": within, "bound_at": bound_at, "bound_from_now": bound_from_now}
