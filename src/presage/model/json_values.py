"""Values of Arrow columns as JSON values: times in ISO 8601, maps as objects, NaN and infinities as texts."""

from __future__ import annotations

import json
import math
from datetime import datetime
from typing import Any

import pyarrow as pa

from presage.model.time import format_timestamp, to_micros

NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}  # JSON has no such numbers


def plain_column(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        # Through integers: an expression can leave the range of Python's datetime.
        return [None if v is None else _time(v) for v in column.cast(pa.int64()).to_pylist()]
    values = column.to_pylist()
    if pa.types.is_floating(column.type):
        return [_number(v) for v in values]
    return [_plain(v, column.type) for v in values] if pa.types.is_nested(column.type) else values


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
