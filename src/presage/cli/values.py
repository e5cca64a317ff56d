"""Arrow columns in, values for people and programs out: JSON-ready ones, and short texts for a table."""

from __future__ import annotations

import json
import math
from datetime import datetime
from typing import Any

import pyarrow as pa

from presage.model.time import format_timestamp, to_micros

DECIMALS = 6


def plain_column(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column as JSON knows them: times in ISO 8601, maps as objects, NaN and infinities as texts."""
    if pa.types.is_timestamp(column.type):
        # Through integers: an expression can leave the years that Python's datetime knows.
        return [None if v is None else _time(v) for v in column.cast(pa.int64()).to_pylist()]
    values = column.to_pylist()
    if pa.types.is_floating(column.type):
        return [_number(v) for v in values]
    return [_plain(v, column.type) for v in values] if pa.types.is_nested(column.type) else values


def table_text(value: Any) -> str:
    """A value of `plain_column` in a cell: one line, numbers to six decimals, nested values compact."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(round(value, DECIMALS)) if 1e-3 <= abs(value) < 1e15 else repr(value)
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, int):
        return str(value)
    return one_line(json.dumps(_rounded(value), ensure_ascii=False, separators=(", ", ": ")))


def one_line(text: str) -> str:
    """The text without what would break a line or steer a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DECIMALS) if 1e-3 <= abs(value) < 1e15 else value
    if isinstance(value, list):
        return [_rounded(v) for v in value]
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    return value


def _plain(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {_key(_plain(k, kind.key_type)): _plain(v, kind.item_type) for k, v in value}
    if pa.types.is_struct(kind):
        return {field.name: _plain(value[field.name], field.type) for field in kind}
    if pa.types.is_nested(kind):
        return [_plain(v, kind.value_type) for v in value]
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, datetime):
        return format_timestamp(to_micros(value))
    return value


def _key(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _number(value: float | None) -> float | str | None:
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _time(micros: int) -> str:
    try:
        return format_timestamp(micros)
    except OverflowError:
        return f"{micros} µs since 1970"
