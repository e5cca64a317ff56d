"""The archive of a derived stream: converts rows of a deployed INSERT INTO to events, and events to rows of a scan.

Beside its attributes a row has its position in the order of events: the event that caused it (`_cause`), the number of
its statement (`_maker`) and its number among the rows of that event (`_place`). So every reader, live or bounded, reads
the rows in the same order.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.errors import error
from presage.execution.steps import MOMENT
from presage.model.catalog import EventType
from presage.plan.nodes import Scan
from presage.storage import SEQ
from presage.storage.columns import TIME, attributes_schema
from presage.storage.home import DERIVED

CAUSE, MAKER, PLACE = "_cause", "_maker", "_place"
HIDDEN = (CAUSE, MAKER, PLACE)


def derived_table(stream: str) -> str:
    """The internal table that holds the rows of a derived stream."""
    return DERIVED + stream


def is_derived_table(stream: str) -> bool:
    return stream.startswith(DERIVED)


def archived_schema(event_type: EventType) -> pa.Schema:
    for attribute in event_type.attributes:
        if attribute.name.lower() in HIDDEN:
            where, fix = f"the archive of '{event_type.name}'", "rename the column with AS"
            raise error("DUPLICATE_NAME", name=attribute.name, where=where, fix=fix)
    hidden = [(name, pa.int64()) for name in HIDDEN]
    return pa.schema([(SEQ, pa.int64()), (TIME, MOMENT), *attributes_schema(event_type.attributes), *hidden])


def archived_rows(rows: pa.Table, event_type: EventType, maker: int) -> pa.Table:
    """Rows of one batch, in order, as events without SEQ; null where the statement has no such attribute.

    `maker` is negative for a statement whose rows have a time of their own: they are not in the order of time.
    """
    made = set(rows.column_names)
    own_time = event_type.event_time if event_type.event_time in made else "at"
    columns: dict[str, pa.Array | pa.ChunkedArray] = {TIME: rows[own_time]}
    for field in attributes_schema(event_type.attributes):
        source = field.name if field.name in made else "at" if field.name == event_type.event_time else None
        columns[field.name] = rows[source].cast(field.type) if source else pa.nulls(rows.num_rows, field.type)
    columns[CAUSE] = rows[SEQ]
    columns[MAKER] = pa.array(np.full(rows.num_rows, maker, np.int64))
    columns[PLACE] = pa.array(_places(rows[TIME].to_numpy(), rows[SEQ].to_numpy()))
    # Drops rows without a time.
    table = pa.table(columns)
    return table.filter(table[TIME].is_valid()).cast(_unnumbered(event_type))


def no_rows(event_type: EventType) -> pa.Table:
    return _unnumbered(event_type).empty_table()


def as_scanned(table: pa.Table, scan: Scan, after: int, watermark: int) -> pa.Table:
    """Archived rows as rows of a scan: those with a time from `after` to `watermark`, both included."""
    times = table[TIME].cast(pa.int64()) if table.schema.field(TIME).type == MOMENT else table[TIME]
    keep = pc.and_(
        pc.greater(table[MAKER], 0), pc.and_(pc.greater_equal(times, after), pc.less_equal(times, watermark))
    )
    if scan.time.low is not None:
        keep = pc.and_(keep, pc.greater_equal(times, scan.time.low))
    if scan.time.high is not None:
        keep = pc.and_(keep, pc.less(times, scan.time.high))
    columns = [times, table[CAUSE], table[MAKER], table[PLACE], *(table[a] for a in scan.attributes)]
    named = pa.table(columns, [TIME, SEQ, *scan.order, *(f.name for f in scan.fields)])
    return named.filter(keep)


def _unnumbered(event_type: EventType) -> pa.Schema:
    return pa.schema(list(archived_schema(event_type))[1:])


def _places(times: np.ndarray, causes: np.ndarray) -> np.ndarray:
    """0, 1, 2 … among the rows of one event, or of one time of a timer."""
    at = np.arange(len(times), dtype=np.int64)
    starts = np.ones(len(times), np.bool_)
    starts[1:] = (times[1:] != times[:-1]) | (causes[1:] != causes[:-1])
    return at - np.maximum.accumulate(np.where(starts, at, 0))
