"""Types of the language as Arrow types. Apart from `model/types.py`, so that `presage check` does not load Arrow."""

from __future__ import annotations

import pyarrow as pa

from presage.model import types as t
from presage.model.types import ArrayOf, DataType, DecimalOf, MapOf, StructOf

_SCALARS = {
    t.STRING: pa.string(),
    t.INT: pa.int32(),
    t.LONG: pa.int64(),
    t.DOUBLE: pa.float64(),
    t.BOOLEAN: pa.bool_(),
    t.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    t.DATE: pa.date32(),
    t.BYTES: pa.binary(),
    t.NULL: pa.null(),
}


_TYPES = {arrow: data_type for data_type, arrow in _SCALARS.items()}


def scalar_of(arrow: pa.DataType) -> DataType | None:
    """The type of the language that `to_arrow` makes this of; None for a type with parts and for others."""
    if pa.types.is_decimal128(arrow):
        return DecimalOf(arrow.precision, arrow.scale)
    return _TYPES.get(arrow)


def to_arrow(data_type: DataType) -> pa.DataType:
    if isinstance(data_type, ArrayOf):
        return pa.list_(pa.field("element", to_arrow(data_type.element)))
    if isinstance(data_type, MapOf):
        return pa.map_(to_arrow(data_type.key), to_arrow(data_type.value))
    if isinstance(data_type, StructOf):
        return pa.struct([(name, to_arrow(field)) for name, field in data_type.fields])
    if isinstance(data_type, DecimalOf):
        return pa.decimal128(data_type.precision, data_type.scale)
    return _SCALARS[data_type]  # type: ignore[index]
