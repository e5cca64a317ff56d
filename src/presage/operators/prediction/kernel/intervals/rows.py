"""The output rows of intervals, in order."""

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


# A hash of each row of some columns, the same in every process.
Hashes = Callable[[Sequence[pa.ChunkedArray], int], Ints]


def row_table(
    tables: PredictionTables,
    objects: Sequence[pa.Table],
    spans: Spans,
    shown: Floats,
    hashes: Hashes | None = None,
    more: Sequence[pa.Array] = (),
) -> pa.Table:
    """`objects`: for each side a row for each interval; `more` columns come last. Rows are ordered by their end, then
    by their objects; where rows are partitioned, by the `hashes` of those."""
    identity = [column for table in objects for column in table.columns]
    if hashes is None:
        order = row_order(spans.end, identity, spans.start)
        places = ordinals(changes([spans.end[order]], len(order)))
    else:
        hashed = hashes(identity, len(spans))
        order = np.lexsort((hashed, spans.end))
        places = hashed[order]
    time, rows, place = spans.end[order], pa.array(order), 0
    own: list[pa.Array | pa.ChunkedArray] = []
    for table, side in zip(objects, tables.sides, strict=True):
        own += [column.take(rows) for column in table.columns]
        # NaN is null.
        own += [pa.array(shown[order, place + i], from_pandas=True) for i in range(len(side.shown))]
        place += len(side.shown)
    own += [pa.array(spans.start[order]).cast(MOMENT), pa.array(time).cast(MOMENT)]
    own += [pa.array(spans.probability[order])] if tables.probability else []
    own += [column.take(rows) for column in more]
    seq = np.full(len(time), TIMER, np.int64)
    head = {TIME: pa.array(time), SEQ: pa.array(seq), ORDINAL: pa.array(places)}
    names = tables.columns[:-1] if tables.tentative else tables.columns
    return pa.table(head | dict(zip(names, own, strict=True)))


def shown_values(tables: PredictionTables, pieces: Sequence[Pieces], spans: Spans) -> Floats:
    """The shown attributes at the beginning of each interval."""
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
    """For each object and moment the last piece that has begun, or the first if none has."""
    count = len(pieces)
    codes, times = np.concatenate([pieces.key, code]), np.concatenate([pieces.start, time])
    is_lookup = np.arange(len(codes)) >= count
    order = np.lexsort((is_lookup, times, codes))
    at = np.where(is_lookup[order], -1, order)
    last = np.maximum.accumulate(np.where(at >= 0, np.arange(len(at)), -1))
    found = np.empty(len(code), np.int64)
    before = np.where(last >= 0, at[last], 0)
    found[order[is_lookup[order]] - count] = before[is_lookup[order]]
    return found
