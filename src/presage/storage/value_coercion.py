"""Coercion of one value to a declared type, or a `Mismatch` with the reason.

Numbers pass if the type holds them exactly. Timestamps become microseconds as int, maps lists of pairs: the values from
which Arrow builds its columns.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from presage.model.json_values import NOT_FINITE
from presage.model.time import parse_timestamp, to_micros
from presage.model.types import BOOLEAN, DOUBLE, INT, LONG, STRING, TIMESTAMP, ArrayOf, DataType, MapOf, StructOf
from presage.storage.columns import MAX_TIME, MIN_TIME

RANGES = {INT: (-(2**31), 2**31 - 1), LONG: (-(2**63), 2**63 - 1)}
MAX_SHOWN = 80
MAX_RAW = 65_536  # characters of a rejected row that are kept
MAX_DIGITS = 1000
_INTEGER = re.compile(r"[+-]?[0-9]+(\.0*)?")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE)


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
    return _SCALARS[wanted](value, wanted, where)


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
    if wanted == TIMESTAMP:
        return _timestamp(bare, wanted, where)
    try:
        value = json.loads(bare)
    except (ValueError, RecursionError):
        raise Mismatch(where, wanted, text, "it is not JSON") from None
    return coerce_value(value, wanted, where, ignored)
