"""Arrow schemas as Delta's JSON and back, without loading delta-rs."""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa

_NAMES = {
    pa.string(): "string",
    pa.int64(): "long",
    pa.int32(): "integer",
    pa.float64(): "double",
    pa.float32(): "float",
    pa.int16(): "short",
    pa.int8(): "byte",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us", tz="UTC"): "timestamp",
    pa.binary(): "binary",
    pa.null(): "void",
}
_DECIMAL = re.compile(r"decimal\((\d+), *(\d+)\)")
_TYPES = {name: arrow for arrow, name in _NAMES.items()}


def to_delta(schema: pa.Schema) -> str:
    return json.dumps({"type": "struct", "fields": [_field(each) for each in schema]}, ensure_ascii=False)


def from_delta(text: str) -> pa.Schema:
    return pa.schema([_arrow_field(each) for each in json.loads(text)["fields"]])


def _field(field: pa.Field) -> dict[str, Any]:
    return {"name": field.name, "type": _name(field.type), "nullable": field.nullable, "metadata": {}}


def _name(arrow: pa.DataType) -> Any:
    if pa.types.is_list(arrow):
        return {
            "type": "array",
            "elementType": _name(arrow.value_type),
            "containsNull": arrow.value_field.nullable,
        }
    if pa.types.is_map(arrow):
        return {
            "type": "map",
            "keyType": _name(arrow.key_type),
            "valueType": _name(arrow.item_type),
            "valueContainsNull": arrow.item_field.nullable,
        }
    if pa.types.is_struct(arrow):
        return {"type": "struct", "fields": [_field(each) for each in arrow]}
    if pa.types.is_decimal(arrow):
        return f"decimal({arrow.precision},{arrow.scale})"
    return _NAMES[arrow]


def _arrow_field(field: dict[str, Any]) -> pa.Field:
    return pa.field(field["name"], _arrow(field["type"]), field["nullable"])


def _arrow(delta: Any) -> pa.DataType:
    if isinstance(delta, str):
        digits = _DECIMAL.fullmatch(delta)
        return pa.decimal128(int(digits[1]), int(digits[2])) if digits else _TYPES[delta]
    if delta["type"] == "array":
        return pa.list_(pa.field("element", _arrow(delta["elementType"]), delta["containsNull"]))
    if delta["type"] == "map":
        values = pa.field("value", _arrow(delta["valueType"]), delta["valueContainsNull"])
        return pa.map_(_arrow(delta["keyType"]), values)
    return pa.struct([_arrow_field(each) for each in delta["fields"]])
