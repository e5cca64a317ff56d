"""The table of rows of intervals, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from presage.arrays.jit import Floats, Ints
from presage.arrays.rows import changes, ordinals
from presage.operators.prediction.kernel.intervals.row_order import row_order
from presage.operators.prediction.kernel.intervals.spans import Spans
from presage.operators.prediction.kernel.pieces import Pieces
from presage.operators.prediction.kernel.query import ORDINAL, SEQ, TIME, TIMER, PredictionTables

MOMENT = pa.timestamp("us", tz="UTC")


def object_column(side: int, number: int) -> str:
    return f"s{side}_{number}"


# Columns in, a number for each row out that is the same wherever it is computed.
Hashes = Callable[[Sequence[pa.ChunkedArray], int], Ints]


def row_table(
    tables: PredictionTables,
    objects: Sequence[pa.Table],
    spans: Spans,
    shown: Floats,
    hashes: Hashes | None = None,
    more: Sequence[pa.Array] = (),
) -> pa.Table:
    """`objects`: of each side, a row for each interval; `more` columns stand last. Rows are ordered by their end, then
    by their objects; where others are made elsewhere, by `hashes` of those."""
    known = [column for table in objects for column in table.columns]
    order = _order(spans, known, hashes)
    time, rows, place = spans.end[order], pa.array(order), 0
    own: list[pa.Array | pa.ChunkedArray] = []
    for table, side in zip(objects, tables.sides, strict=True):
        own += [column.take(rows) for column in table.columns]
        # What is not known is null.
        own += [pa.array(shown[order, place + i], from_pandas=True) for i in range(len(side.shown))]
        place += len(side.shown)
    own += [pa.array(spans.start[order]).cast(MOMENT), pa.array(time).cast(MOMENT)]
    own += [pa.array(spans.probability[order])] if tables.probability else []
    own += [column.take(rows) for column in more]
    places = ordinals(changes([time], len(time))) if hashes is None else hashes(known, len(spans))[order]
    seq = np.full(len(time), TIMER, np.int64)
    head = {TIME: pa.array(time), SEQ: pa.array(seq), ORDINAL: pa.array(places)}
    names = tables.columns[:-1] if tables.tentative else tables.columns
    return pa.table(head | dict(zip(names, own, strict=True)))


def _order(spans: Spans, known: list[pa.ChunkedArray], hashes: Hashes | None) -> Ints:
    if hashes is not None:
        return np.lexsort((hashes(known, len(spans)), spans.end))
    return row_order(spans.end, known, spans.start)


def shown_values(tables: PredictionTables, pieces: Sequence[Pieces], spans: Spans) -> Floats:
    """The values of the attributes that are shown, at the beginning of each interval."""
    columns = []
    for number, side in enumerate(tables.sides):
        if side.shown:
            own = pieces[number]
            at = _piece_at(own, spans.codes[:, number], spans.start)
            seconds = (spans.start - own.start[at]) / 1e6
            with np.errstate(over="ignore", invalid="ignore"):
                columns += [own.value[at, x] + own.rate[at, x] * seconds for x in side.shown]
    return np.stack(columns, axis=1) if columns else np.empty((len(spans), 0))


def _piece_at(pieces: Pieces, code: Ints, time: Ints) -> Ints:
    """For each object and moment the last piece that had begun, the first if none had."""
    count = len(pieces)
    codes, times = np.concatenate([pieces.key, code]), np.concatenate([pieces.start, time])
    asks = np.arange(len(codes)) >= count
    order = np.lexsort((asks, times, codes))
    at = np.where(asks[order], -1, order)
    last = np.maximum.accumulate(np.where(at >= 0, np.arange(len(at)), -1))
    found = np.empty(len(code), np.int64)
    before = np.where(last >= 0, at[last], 0)
    found[order[asks[order]] - count] = before[asks[order]]
    return found
