"""Rows that were foreseen before and rows that are foreseen now come in, what has changed goes out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.arrays.equality import equality_codes
from presage.arrays.jit import Bools
from presage.arrays.rows import changes, ordinals
from presage.prediction.kernel.query import DELETE, INSERT, ORDINAL, TIME


def changed_rows(
    before: pa.Table | None, now: pa.Table, columns: tuple[str, ...], change: str, told_at: int | None
) -> pa.Table:
    """Rows that are no more, then those that are new, told at a moment; None: each when it ends."""
    before = now.slice(0, 0) if before is None else before.cast(now.schema)
    both = pa.concat_tables([before, now])
    code, count = equality_codes([both.column(name) for name in columns], both.num_rows)
    old, new = code[: len(before)], code[len(before) :]
    gone, fresh = ~_among(old, new, count), ~_among(new, old, count)
    rows = pa.concat_tables([before.filter(pa.array(gone)), now.filter(pa.array(fresh))])
    said = np.repeat(np.array([DELETE, INSERT]), [int(gone.sum()), int(fresh.sum())])
    time = rows[TIME].to_numpy()
    if told_at is not None:
        time = np.full(len(time), told_at)
    order = np.argsort(time, kind="stable")
    rows, time = rows.take(pa.array(order)), time[order]
    places = rows.column_names
    rows = rows.set_column(places.index(TIME), TIME, pa.array(time))
    rows = rows.set_column(places.index(ORDINAL), ORDINAL, pa.array(ordinals(changes([time], len(time)))))
    return rows.append_column(change, pa.array(said[order].tolist(), pa.string()))


def _among(codes: np.ndarray, others: np.ndarray, count: int) -> Bools:
    there = np.zeros(count, np.bool_)
    there[others] = True
    result: Bools = there[codes]
    return result
