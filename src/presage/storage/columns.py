"""Schemas of the three tables of a stream: events, late events, rejected rows."""

from __future__ import annotations

import pyarrow as pa

from presage.errors import error
from presage.model.arrow import to_arrow
from presage.model.catalog import Attribute, EventType

SEQ = "_seq"  # int64: order of arrival, dense over all streams of a home, from 1
TIME = "_t"  # the event time, under one name in every stream
LATE_BY = "_late_by"  # int64, microseconds by which the event missed the watermark
RESERVED = (SEQ, TIME, LATE_BY)

TIMESTAMP = pa.timestamp("us", tz="UTC")
# Years 1 to 9999: the range of Python, Spark and Delta's statistics.
MIN_TIME = -62_135_596_800_000_000
MAX_TIME = 253_402_300_799_999_999

EVENTS, LATE, REJECTED = "events", "late", "rejected"
TABLES = (EVENTS, LATE, REJECTED)
ORDER = {EVENTS: SEQ, LATE: SEQ, REJECTED: "load"}  # the column that orders rows by arrival

REJECTED_SCHEMA = pa.schema(
    {"reason": pa.string(), "raw": pa.string(), "at": TIMESTAMP, "origin": pa.string(), "load": pa.int64()}
)


def attributes_schema(attributes: tuple[Attribute, ...]) -> pa.Schema:
    return pa.schema([(a.name, to_arrow(a.type)) for a in attributes])


def events_schema(attributes: tuple[Attribute, ...]) -> pa.Schema:
    return pa.schema([(SEQ, pa.int64()), (TIME, TIMESTAMP), *attributes_schema(attributes)])


def late_schema(attributes: tuple[Attribute, ...]) -> pa.Schema:
    return events_schema(attributes).append(pa.field(LATE_BY, pa.int64()))


def table_schemas(event_type: EventType) -> dict[str, pa.Schema]:
    """The schemas of a stream's tables. Refuses a type without event time or with reserved column names."""
    if event_type.event_time is None:
        raise error("NO_EVENT_TIME", name=event_type.name)
    seen: dict[str, str] = {name: name for name in RESERVED}
    for attribute in event_type.attributes:
        # Delta and Spark compare column names without case.
        other = seen.setdefault(attribute.name.lower(), attribute.name)
        if other != attribute.name or attribute.name in RESERVED:
            where = f"the archive of '{event_type.name}'" + (f" (as '{other}')" if other != attribute.name else "")
            raise error("DUPLICATE_NAME", name=attribute.name, where=where, fix="rename the attribute")
    return {
        EVENTS: events_schema(event_type.attributes),
        LATE: late_schema(event_type.attributes),
        REJECTED: REJECTED_SCHEMA,
    }
