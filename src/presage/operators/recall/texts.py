"""Arrow values as texts; times in the form of literals."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def as_texts(column: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(column.type):
        whole = pc.equal(pc.microsecond(column), 0)
        seconds = pc.strftime(column.cast(pa.timestamp("s", "UTC"), safe=False), "%Y-%m-%dT%H:%M:%SZ")
        exact = pc.strftime(column, "%Y-%m-%dT%H:%M:%SZ")
        millis = pc.equal(pc.millisecond(column), 0)
        return pc.if_else(pc.and_(whole, millis), seconds, exact)
    return column.cast(pa.string())
