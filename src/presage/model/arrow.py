"""Types of the language as Arrow types. Apart from `model/types.py`, so that `presage check` does not load Arrow."""

from __future__ import annotations

import pyarrow as pa

from presage.model import types as t
from presage.model.types import ArrayOf, DataType, MapOf, StructOf

_SCALARS = {
    t.STRING: pa.string(),
    t.INT: pa.int32(),
    t.LONG: pa.int64(),
    t.DOUBLE: pa.float64(),
    t.BOOLEAN: pa.bool_(),
    t.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    t.NULL: pa.null(),
}


def to_arrow(data_type: DataType) -> pa.DataType:
    if isinstance(data_type, ArrayOf):
        return pa.list_(pa.field("element", to_arrow(data_type.element)))
    if isinstance(data_type, MapOf):
        return pa.map_(to_arrow(data_type.key), to_arrow(data_type.value))
    if isinstance(data_type, StructOf):
        return pa.struct([(name, to_arrow(field)) for name, field in data_type.fields])
    return _SCALARS[data_type]  # type: ignore[index]
