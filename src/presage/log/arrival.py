"""Checked rows of one load in, the rows of the stream's three tables out: order, sequence numbers and lateness."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.log.columns import (
    EVENTS,
    LATE,
    LATE_BY,
    MAX_TIME,
    REJECTED,
    REJECTED_SCHEMA,
    SEQ,
    TIME,
    TIMESTAMP,
    late_schema,
)
from presage.log.ingest import Checked, Rejected
from presage.log.journal import Turn
from presage.model.catalog import EventType


def arrive(
    checked: Checked, event_type: EventType, watermark: int | None, first_seq: int, turn: Turn
) -> dict[str, pa.Table]:
    """By table: what one load brings to a stream whose events before `watermark` are late."""
    events, late = split(checked.table, event_type, watermark, first_seq)
    return {EVENTS: events, LATE: late, REJECTED: _rejected(checked.rejected, turn)}


def split(table: pa.Table, event_type: EventType, watermark: int | None, first_seq: int) -> tuple[pa.Table, pa.Table]:
    """Rows in event-time order (ties as they came), numbered, as events and late events.

    One load is one arrival in the order of time, so only what arrived before it can make a row of it late.
    """
    assert event_type.event_time is not None
    times = table[event_type.event_time].cast(pa.int64()).to_numpy()
    if np.any(times[1:] < times[:-1]):
        order = np.argsort(times, kind="stable")
        table, times = table.combine_chunks().take(pa.array(order)), times[order]
    cut = 0 if watermark is None else int(np.searchsorted(times, watermark, side="left"))
    moments = pa.array(times, pa.int64()).cast(TIMESTAMP)
    table = table.add_column(0, pa.field(TIME, TIMESTAMP), moments)
    table = table.add_column(0, pa.field(SEQ, pa.int64()), pa.array(np.arange(first_seq, first_seq + len(times))))
    late_by = pa.array((watermark or 0) - times[:cut], pa.int64())
    late = table.slice(0, cut).append_column(pa.field(LATE_BY, pa.int64()), late_by)
    return table.slice(cut), late.cast(late_schema(event_type.attributes))


def _rejected(rejected: Rejected, turn: Turn) -> pa.Table:
    rows = len(rejected)
    columns = [rejected.reasons, rejected.raws, [min(turn.at, MAX_TIME)] * rows, rejected.origins, [turn.n] * rows]
    return pa.Table.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, REJECTED_SCHEMA, strict=True)], schema=REJECTED_SCHEMA
    )
