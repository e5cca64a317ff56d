"""Coercion of one value to a declared type, or a `Mismatch` with the reason.

Numbers pass if the type holds them exactly. Timestamps become microseconds as int, maps lists of pairs: the values from
which Arrow builds its columns.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Context, Decimal, InvalidOperation
from typing import Any

import numpy as np

from presage.model.calendar import DAY
from presage.model.json_values import NOT_FINITE
from presage.model.time import EPOCH_DAY, parse_date, parse_timestamp, to_micros
from presage.model.types import (
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    ArrayOf,
    DataType,
    DecimalOf,
    MapOf,
    StructOf,
)
from presage.storage.columns import MAX_TIME, MIN_TIME

RANGES = {INT: (-(2**31), 2**31 - 1), LONG: (-(2**63), 2**63 - 1)}
MAX_SHOWN = 80
MAX_RAW = 65_536  # characters of a rejected row that are kept
MAX_DIGITS = 1000
_INTEGER = re.compile(r"[+-]?[0-9]+(\.0*)?")
_EXACT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_CONTEXT = Context(prec=2 * MAX_DIGITS)
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE)


class NumberText(float):
    """A number of a JSON text with its spelling: a DECIMAL has all of its digits."""

    def __new__(cls, text: str) -> NumberText:
        number = super().__new__(cls, text)
        number.text = text
        return number

    text: str


class Mismatch(Exception):  # noqa: N818 (rejects a row, not the load)
    """A value does not fit its attribute; the text is the reason for the user."""

    def __init__(self, where: str, expected: DataType, value: object, why: str = "") -> None:
        super().__init__(f"attribute '{where}' needs {expected}, found {show(value)}" + (f" ({why})" if why else ""))


def show(value: object) -> str:
    """A value as shown in a reason: short, on one line."""
    text = json_text(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def cut_raw(text: str) -> str:
    """The text of a rejected row, cut to the limit, with its full length."""
    return text if len(text) <= MAX_RAW else f"{text[:MAX_RAW]}… (cut: {len(text):,} characters)"


def json_text(value: object) -> str:
    """A value as JSON, for people. Never fails: any value gives a text that can be stored."""
    if isinstance(value, Mapping):
        value = {str(name): item.item() if isinstance(item, np.generic) else item for name, item in value.items()}
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):  # it contains itself, or a number of thousands of digits
        text = f"a {type(value).__name__} that cannot be shown"
    return text.encode(errors="replace").decode()


def coerce_value(value: Any, wanted: DataType, where: str, ignored: Counter[str]) -> Any:
    """The value as `wanted`; None stays None. Fields that a STRUCT does not have are counted in `ignored`."""
    if isinstance(value, np.generic):
        # `item` of a datetime64 in nanoseconds would be an integer.
        value = value.astype("datetime64[us]").item() if isinstance(value, np.datetime64) else value.item()
    if value is None or is_missing(value):
        return None
    if isinstance(wanted, ArrayOf):
        return _array(value, wanted, where, ignored)
    if isinstance(wanted, StructOf):
        return _struct(value, wanted, where, ignored)
    if isinstance(wanted, MapOf):
        return _map(value, wanted, where, ignored)
    return _decimal(value, wanted, where) if isinstance(wanted, DecimalOf) else _SCALARS[wanted](value, wanted, where)


def is_missing(value: object) -> bool:
    """Whether it is pandas' NaT or NA, without importing pandas."""
    return type(value).__name__ in ("NaTType", "NAType")


def _string(value: Any, wanted: DataType, where: str) -> str:
    if not isinstance(value, str):
        raise Mismatch(where, wanted, value)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Mismatch(where, wanted, ascii(value), "half of a surrogate pair is no text") from None
    return value


def _integer(value: Any, wanted: DataType, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise Mismatch(where, wanted, value)
    if not isinstance(value, int):
        if not math.isfinite(value) or value != int(value):
            raise Mismatch(where, wanted, value, "it is not a whole number")
        value = int(value)
    low, high = RANGES[wanted]  # type: ignore[index]
    if not low <= value <= high:
        raise Mismatch(where, wanted, value, "it is out of range")
    return int(value)


def _double(value: Any, wanted: DataType, where: str) -> float:
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str) and value in NOT_FINITE:
        return NOT_FINITE[value]  # as in our JSON, and Spark's
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise Mismatch(where, wanted, value)
    try:
        near = float(value)
        exact = math.isnan(near) or near == value
    except (OverflowError, ValueError, InvalidOperation):
        exact = False
    if not exact:
        raise Mismatch(where, wanted, value, "a DOUBLE cannot hold it exactly")
    return near


def _decimal(value: Any, wanted: DataType, where: str) -> Decimal:
    """Numbers and texts that the type holds exactly; a float as its shortest text."""
    assert isinstance(wanted, DecimalOf)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        raise Mismatch(where, wanted, value)
    if isinstance(value, str) and (not _EXACT.fullmatch(value.strip()) or len(value) > MAX_DIGITS):
        raise Mismatch(where, wanted, value, "it is not a number")
    if isinstance(value, float):
        exact = Decimal(value.text if isinstance(value, NumberText) else repr(value))
    else:
        exact = Decimal(value.strip() if isinstance(value, str) else value)
    if not exact.is_finite():
        raise Mismatch(where, wanted, value, "a DECIMAL is finite")
    if exact and exact.adjusted() >= wanted.whole:
        raise Mismatch(where, wanted, value, "it is out of range")
    near = exact.quantize(Decimal(1).scaleb(-wanted.scale), context=_CONTEXT)
    if near != exact:
        raise Mismatch(where, wanted, value, f"it has more than {wanted.scale} digits behind the point")
    return near


def _date(value: Any, wanted: DataType, where: str) -> int:
    """Days since 1970, of a date or of a time at 00:00 UTC."""
    if isinstance(value, datetime):
        days, rest = divmod(to_micros(value), DAY)
        if rest:
            raise Mismatch(where, wanted, value, "it has a time of day")
        return days
    if isinstance(value, date):
        return value.toordinal() - EPOCH_DAY
    if not isinstance(value, str):
        raise Mismatch(where, wanted, value, "give a date or an ISO 8601 text")
    found = parse_date(value)
    if found is None:
        raise Mismatch(where, wanted, value, "it is not a day as ISO 8601 writes it: 2024-01-31")
    return found


def _bytes(value: Any, wanted: DataType, where: str) -> bytes:
    """Bytes, or a text in base 64, as JSON has them."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if not isinstance(value, str):
        raise Mismatch(where, wanted, value, "give bytes or a text in base 64")
    try:
        return base64.b64decode(value, validate=True)
    except ValueError:
        raise Mismatch(where, wanted, value, "it is not base 64") from None


def _boolean(value: Any, wanted: DataType, where: str) -> bool:
    if not isinstance(value, bool):
        raise Mismatch(where, wanted, value)
    return value


def _timestamp(value: Any, wanted: DataType, where: str) -> int:
    if isinstance(value, datetime):
        micros: int | None = to_micros(value)
    elif isinstance(value, date):
        micros = to_micros(datetime(value.year, value.month, value.day))
    elif isinstance(value, str):
        micros = _parse_time(value)
    else:
        raise Mismatch(where, wanted, value, "give a datetime or an ISO 8601 text")
    if micros is None:
        raise Mismatch(where, wanted, value, "it is not an ISO 8601 timestamp")
    if not MIN_TIME <= micros <= MAX_TIME:
        raise Mismatch(where, wanted, value, "it is outside the years 1 to 9999")
    return micros


def _parse_time(text: str) -> int | None:
    try:
        return parse_timestamp(text)
    except ValueError:  # an offset of a day or more
        return None


_SCALARS: dict[DataType, Callable[[Any, DataType, str], Any]]
_SCALARS = {STRING: _string, INT: _integer, LONG: _integer, DOUBLE: _double, BOOLEAN: _boolean, TIMESTAMP: _timestamp}
_SCALARS |= {DATE: _date, BYTES: _bytes}


def _array(value: Any, wanted: ArrayOf, where: str, ignored: Counter[str]) -> list[Any]:
    if isinstance(value, np.ndarray):
        value = list(value)
    if not isinstance(value, list | tuple):
        raise Mismatch(where, wanted, value)
    return [coerce_value(item, wanted.element, f"{where}[{i}]", ignored) for i, item in enumerate(value)]


def _struct(value: Any, wanted: StructOf, where: str, ignored: Counter[str]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise Mismatch(where, wanted, value)
    for name, field in value.items():
        if field is not None and (not isinstance(name, str) or wanted.field(name) is None):
            ignored[f"{where}.{name}"] += 1
    return {name: coerce_value(value.get(name), field, f"{where}.{name}", ignored) for name, field in wanted.fields}


def _map(value: Any, wanted: MapOf, where: str, ignored: Counter[str]) -> list[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        pairs = list(value.items())
    elif isinstance(value, list | tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        pairs = list(value)
    else:
        raise Mismatch(where, wanted, value)
    result: list[tuple[Any, Any]] = []
    seen = set()
    for key, item in pairs:
        # In JSON every key is text.
        coerce = parse_text if isinstance(key, str) else coerce_value
        coerced = coerce(key, wanted.key, where, ignored)
        if coerced is None or repr(coerced) in seen:
            why = "a key is null" if coerced is None else f"the key {show(coerced)} comes twice"
            raise Mismatch(where, wanted, value, why)
        seen.add(repr(coerced))
        result.append((coerced, coerce_value(item, wanted.value, f"{where}[{show(key)}]", ignored)))
    return result


def parse_text(text: str, wanted: DataType, where: str, ignored: Counter[str]) -> Any:
    """The value of a field of a text file. Surrounding blanks are significant only in a STRING."""
    if wanted == STRING:
        return _string(text, wanted, where)
    bare = text.strip()
    if wanted in (INT, LONG):
        if not _INTEGER.fullmatch(bare):
            raise Mismatch(where, wanted, text)
        if len(bare) > MAX_DIGITS:  # Python refuses to parse numbers of thousands of digits
            raise Mismatch(where, wanted, text, "it is out of range")
        return _integer(int(bare.partition(".")[0]), wanted, where)
    if wanted == DOUBLE:
        if not _NUMBER.fullmatch(bare):
            raise Mismatch(where, wanted, text)
        return float(bare)
    if wanted == BOOLEAN:
        if bare.lower() not in ("true", "false"):
            raise Mismatch(where, wanted, text)
        return bare.lower() == "true"
    if wanted in (TIMESTAMP, DATE, BYTES) or isinstance(wanted, DecimalOf):
        return coerce_value(bare, wanted, where, ignored)
    try:
        value = json.loads(bare, parse_float=NumberText)
    except (ValueError, RecursionError):
        raise Mismatch(where, wanted, text, "it is not JSON") from None
    return coerce_value(value, wanted, where, ignored)
