"""Values of Arrow columns as JSON values: times and days in ISO 8601, decimals as texts with all their digits, bytes in
base 64, maps as objects, NaN and infinities as texts."""

from __future__ import annotations

import base64
import json
import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from presage.model.time import format_date, format_timestamp, to_micros

NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}  # JSON has no such numbers


def plain_column(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        # Through integers: an expression can leave the range of Python's datetime.
        return [None if v is None else _time(v) for v in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_date32(column.type):
        return [None if v is None else format_date(v) for v in column.cast(pa.int32()).to_pylist()]
    values = column.to_pylist()
    if pa.types.is_floating(column.type):
        return [_number(v) for v in values]
    plain = pa.types.is_boolean(column.type) or pa.types.is_integer(column.type) or pa.types.is_string(column.type)
    return values if plain else [_plain(v, column.type) for v in values]


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
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
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
