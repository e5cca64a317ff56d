"""Casts between texts and numbers, truth values and times, as in Spark; None where a text cannot be read."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import numpy as np

from presage.columnar.arithmetic import LEAST
from presage.model import types as t
from presage.model.calendar import DAY
from presage.model.types import DataType

_TRUE, _FALSE = frozenset(("t", "true", "y", "yes", "1")), frozenset(("f", "false", "n", "no", "0"))
_WHOLE = re.compile(r"[+-]?[0-9]+")
# Java's syntax of a DOUBLE: with a type suffix, or hexadecimal digits with a binary exponent.
_DECIMAL = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_HEXADECIMAL = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")
_NAMED = {"nan": np.nan, **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), np.inf)}
_NAMED |= dict.fromkeys(("-inf", "-infinity"), -np.inf)
# Java trims all characters up to the blank; Spark also DEL in whole numbers and truth values.
_BLANKS = "".join(map(chr, range(33)))
_CONTROLS = _BLANKS + "\x7f"
# In Java, `$` also matches before a line terminator.
_ISO = re.compile(
    r"\s*(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?\s*"
    r"(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)?\s*(?:\r\n|[\n\r\x85\u2028\u2029])?",
    re.ASCII,
)


def whole_number(text: str, data_type: DataType) -> int | None:
    text = text.strip(_CONTROLS)
    if not _WHOLE.fullmatch(text):
        return None
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) > 19:
        return None  # out of range; Python refuses to parse very long ones
    value = -int(digits or "0") if text[0] == "-" else int(digits or "0")
    least = LEAST[data_type]
    return value if least <= value < -least else None


def double(text: str) -> float | None:
    text = text.strip(_BLANKS)
    if text in ("+NaN", "-NaN"):
        return float("nan")
    named = _NAMED.get(text.lower())
    if named is not None:
        return named
    if found := _DECIMAL.fullmatch(text):
        return float(found[1])
    if found := _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(found[1])
        except OverflowError:
            return -np.inf if text[0] == "-" else np.inf
    return None


def truth_value(text: str) -> bool | None:
    word = text.strip(_CONTROLS).lower()
    return True if word in _TRUE else False if word in _FALSE else None


def timestamp(text: str) -> int | None:
    """Microseconds of an ISO 8601 text, UTC unless it has an offset (of at most 18 hours)."""
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(found[i] or 0) for i in range(1, 7))
    away, away_minutes = int(found[9] or 0), int(found[10] or 0)
    if hour > 23 or minute > 59 or second > 59 or away_minutes > 59 or away * 60 + away_minutes > 18 * 60:
        return None
    days = day_number(year, month, day) if year else None
    if days is None:
        return None
    minutes = hour * 60 + minute - (away * 60 + away_minutes) * (-1 if found[8] == "-" else 1)
    fraction = int((found[7] or "0")[:6].ljust(6, "0"))
    return days * DAY + (minutes * 60 + second) * 1_000_000 + fraction


def day_number(year: int, month: int, day: int) -> int | None:
    """Days since 1970 of a date of the years 1 to 9999; None if there is none."""
    try:
        return date(year, month, day).toordinal() - 719_163
    except ValueError:
        return None


def date_value(text: str) -> int | None:
    """Days since 1970 of an ISO 8601 text, as far as its day; its time and zone do not matter."""
    found = _ISO.fullmatch(text)
    return day_number(int(found[1]), int(found[2]), int(found[3])) if found is not None and int(found[1]) else None


def decoded(data: bytes) -> str | None:
    """The text of UTF-8 bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def date_text(days: int) -> str:
    """`2012-05-07`; past the years 0 to 9999 with a sign, as Spark writes it."""
    day = np.datetime64(days, "D")
    year = int(day.astype("M8[Y]").astype(np.int64)) + 1970
    month = int(day.astype("M8[M]").astype(np.int64)) % 12 + 1
    number = int((day - day.astype("M8[M]").astype("M8[D]")).astype(np.int64)) + 1
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{number:02d}"


def timestamp_text(micros: int) -> str:
    """`2012-05-07 09:00:00.5`."""
    days, rest = divmod(micros, DAY)
    seconds, fraction = divmod(rest, 1_000_000)
    text = date_text(days) + f" {seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return text + (f".{fraction:06d}".rstrip("0") if fraction else "")


def reader(data_type: DataType) -> Any:
    """The function from a text to a value of the type."""
    if data_type in LEAST:
        return lambda text: whole_number(text, data_type)
    return _READERS[data_type]


_READERS: dict[DataType, Any] = {
    t.DOUBLE: double,
    t.BOOLEAN: truth_value,
    t.TIMESTAMP: timestamp,
    t.DATE: date_value,
}
