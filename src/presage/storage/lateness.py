"""The decision which rows of a load are late, and their order and sequence numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from presage.model.catalog import EventType
from presage.storage.columns import (
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
from presage.storage.ingest import Checked, Rejected
from presage.storage.journal import FileAdd, Record, Turn
from presage.storage.limits import limit_names

BYTES_AT_ONCE = 2**30


def arrive(
    checked: Checked, event_type: EventType, watermark: int | None, first_seq: int, turn: Turn
) -> dict[str, pa.Table]:
    """The rows of one load by table, for a stream whose events before `watermark` are late."""
    events, late = split(checked.table, event_type, watermark, first_seq)
    return {EVENTS: events, LATE: late, REJECTED: rejected_table(checked.rejected, turn)}


def split(table: pa.Table, event_type: EventType, watermark: int | None, first_seq: int) -> tuple[pa.Table, pa.Table]:
    """Rows sorted by event time (stable), numbered, and divided into events and late events.

    One load arrives in the order of event time, so only earlier loads can make one of its rows late.
    """
    assert event_type.event_time is not None
    times = table[event_type.event_time].cast(pa.int64()).to_numpy()
    if np.any(times[1:] < times[:-1]):
        order = np.argsort(times, kind="stable")
        table, times = reordered(table, order), times[order]
    cut = 0 if watermark is None else int(np.searchsorted(times, watermark, side="left"))
    moments = pa.array(times, pa.int64()).cast(TIMESTAMP)
    table = table.add_column(0, pa.field(TIME, TIMESTAMP), moments)
    table = table.add_column(0, pa.field(SEQ, pa.int64()), pa.array(np.arange(first_seq, first_seq + len(times))))
    late_by = pa.array((watermark or 0) - times[:cut], pa.int64())
    late = table.slice(0, cut).append_column(pa.field(LATE_BY, pa.int64()), late_by)
    return table.slice(cut), late.cast(late_schema(event_type.attributes))


def reordered(table: pa.Table, order: npt.NDArray[np.int64]) -> pa.Table:
    """The rows in another order. A column may hold more text than the 2 GB of one Arrow array."""
    if table.nbytes <= BYTES_AT_ONCE:
        return table.combine_chunks().take(pa.array(order))
    batches = table.to_batches()
    starts = np.cumsum([0, *(batch.num_rows for batch in batches)])
    todo, done = [order], []
    while todo:
        rows = todo.pop()
        try:
            done.append(_gathered(batches, starts, rows))
        except pa.ArrowInvalid:  # still more than one array can hold
            if len(rows) == 1:
                raise
            todo += [rows[len(rows) // 2 :], rows[: len(rows) // 2]]
    return pa.concat_tables(done)


def _gathered(batches: list[pa.RecordBatch], starts: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]) -> pa.Table:
    of = np.searchsorted(starts, rows, side="right") - 1
    by_batch = np.argsort(of, kind="stable")
    parts = [batches[i].take(pa.array(rows[of == i] - starts[i])) for i in np.unique(of).tolist()]
    # The parts hold the rows batch by batch: restore the requested order.
    return pa.Table.from_batches(parts).combine_chunks().take(pa.array(np.argsort(by_batch)))


def event_times(events: pa.Table) -> tuple[int | None, int | None]:
    """Least and greatest event time; None without events."""
    bounds = pc.min_max(events[TIME]) if events.num_rows else None
    return (None, None) if bounds is None else (bounds["min"].value, bounds["max"].value)


def arrival_record(
    turn: Turn,
    kind: str,
    stream: str,
    tables: Mapping[str, pa.Table],
    staged: dict[str, list[FileAdd]],
    ignored: Mapping[str, int],
    **more: Any,
) -> Record:
    """The record of rows that arrive at a stream, by table, with their staged files. `more`: its other fields."""
    accepted, late, rejected = (tables[name].num_rows for name in (EVENTS, LATE, REJECTED))
    first, last = event_times(tables[EVENTS])
    more |= {"accepted": accepted, "late": late, "rejected": rejected, "first_time": first, "last_time": last}
    names = limit_names(ignored, {})
    return Record(turn.n, kind, turn.at, stream, seqs=accepted + late, adds=staged, ignored=names, **more)


def rejected_table(rejected: Rejected, turn: Turn) -> pa.Table:
    rows = len(rejected)
    columns = [rejected.reasons, rejected.raws, [min(turn.at, MAX_TIME)] * rows, rejected.origins, [turn.n] * rows]
    return pa.Table.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, REJECTED_SCHEMA, strict=True)], schema=REJECTED_SCHEMA
    )
