"""Builders of literals that name their type: DATE '2024-01-31', TIMESTAMP '…', DECIMAL '12.34', X'0AFF'."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from presage.errors import PresageError, error
from presage.lang import syntax as s
from presage.lang.lexer import Token
from presage.model.text import Span
from presage.model.time import EPOCH_DAY, parse_date, parse_timestamp
from presage.model.types import MOST_DIGITS

_DECIMAL = re.compile(r"[+-]?([0-9]{1,99}(\.[0-9]{0,99})?|\.[0-9]{1,99})")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def typed_literal(span: Span, token: Token) -> s.Literal:
    word, _, text = token.text.removesuffix("'").partition("'")
    return s.Literal(_READERS[word.strip().upper()](text.strip(), span), span=span)


def _bad(span: Span, what: str, text: str, expected: str) -> PresageError:
    return error("BAD_VALUE", span, what=what, found=f"'{text}'", expected=expected)


def _date(text: str, span: Span) -> date:
    days = parse_date(text)
    if days is None:
        raise _bad(span, "the DATE", text, "a day of the years 1 to 9999, like '2024-01-31'")
    return date.fromordinal(days + EPOCH_DAY)


def _timestamp(text: str, span: Span) -> datetime:
    micros = parse_timestamp(text)
    if micros is None:
        raise error("BAD_TIMESTAMP", span, found=text)
    return _EPOCH + timedelta(microseconds=micros)


def _decimal(text: str, span: Span) -> Decimal:
    value = Decimal(text) if _DECIMAL.fullmatch(text) else None
    if value is None or max(len(value.as_tuple().digits), -int(value.as_tuple().exponent)) > MOST_DIGITS:
        raise _bad(span, "the DECIMAL", text, f"at most {MOST_DIGITS} digits, like '12.34'")
    return value


def _bytes(text: str, span: Span) -> bytes:
    try:
        return bytes.fromhex(text) if re.fullmatch("[0-9A-Fa-f]*", text) else bytes.fromhex("?")
    except ValueError:
        raise _bad(span, "the BYTES", text, "two hexadecimal digits for each byte, like X'0AFF'") from None


_READERS: dict[str, Callable[[str, Span], s.LiteralValue]]
_READERS = {"DATE": _date, "TIMESTAMP": _timestamp, "DECIMAL": _decimal, "X": _bytes}
