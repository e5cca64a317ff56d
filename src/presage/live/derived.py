"""Rows of a standing INSERT INTO in, events of the derived stream's archive out."""

from __future__ import annotations

import pyarrow as pa

from presage.columnar.steps import MOMENT
from presage.log import SEQ
from presage.log.columns import TIME, attributes_schema
from presage.model.catalog import EventType


def archived_schema(event_type: EventType) -> pa.Schema:
    return pa.schema([(SEQ, pa.int64()), (TIME, MOMENT), *attributes_schema(event_type.attributes)])


def archived_rows(rows: pa.Table, event_type: EventType) -> pa.Table:
    """Attributes by name, null where the statement has none; the time of a row is its event time. Without SEQ."""
    made = set(rows.column_names)
    own_time = event_type.event_time if event_type.event_time in made else "at"
    columns = [rows[own_time]]
    for field in attributes_schema(event_type.attributes):
        source = field.name if field.name in made else "at" if field.name == event_type.event_time else None
        columns.append(rows[source].cast(field.type) if source else pa.nulls(rows.num_rows, field.type))
    schema = archived_schema(event_type)
    table = pa.Table.from_arrays([pa.chunked_array([c]) if isinstance(c, pa.Array) else c for c in columns],
                                 names=schema.names[1:])  # fmt: skip
    # A row without a time is no event.
    return table.filter(table[TIME].is_valid()).cast(pa.schema(list(schema)[1:]))


def no_rows(event_type: EventType) -> pa.Table:
    return pa.schema(list(archived_schema(event_type))[1:]).empty_table()
