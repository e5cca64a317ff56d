"""Changes between the rows that were foreseen before and those that are foreseen now."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from presage.arrays.equality import equality_codes
from presage.arrays.jit import Bools
from presage.arrays.rows import changes, ordinals
from presage.operators.prediction.kernel.query import DELETE, INSERT, ORDINAL, TIME, PredictionTables

FORESEEN = "foreseen"


def told_rows(
    tables: PredictionTables, known: pa.Table | None, over: pa.Table, coming: pa.Table | None, at: int, end: bool
) -> tuple[pa.Table, pa.Table]:
    """Rows that were foreseen, those that are over now, and those to come (None: nobody has looked, and what was
    foreseen stands) -> what is foreseen now, and what changes. That is told at a moment; at the end each row when it
    ends, and not before that moment."""
    *columns, change = tables.columns
    known = over.slice(0, 0) if known is None else known.cast(over.schema)
    if coming is None:
        coming, _ = _apart(known, over, columns)
    gone, fresh = _apart(known, pa.concat_tables([over, coming]), columns)
    rows = pa.concat_tables([gone, fresh])
    said = np.repeat(np.array([DELETE, INSERT]), [gone.num_rows, fresh.num_rows])
    time = np.maximum(rows[TIME].to_numpy(), at) if end else np.full(rows.num_rows, at)
    order = np.argsort(time, kind="stable")
    rows, time = rows.take(pa.array(order)), time[order]
    places = rows.column_names
    rows = rows.set_column(places.index(TIME), TIME, pa.array(time))
    rows = rows.set_column(places.index(ORDINAL), ORDINAL, pa.array(ordinals(changes([time], len(time)))))
    return coming, rows.append_column(change, pa.array(said[order].tolist(), pa.string()))


def _apart(some: pa.Table, others: pa.Table, columns: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """Of each of two tables the rows that the other does not have."""
    both = pa.concat_tables([some, others])
    code, count = equality_codes([both.column(name) for name in columns], both.num_rows)
    one, other = code[: len(some)], code[len(some) :]
    return some.filter(pa.array(~_among(one, other, count))), others.filter(pa.array(~_among(other, one, count)))


def _among(codes: np.ndarray, others: np.ndarray, count: int) -> Bools:
    there = np.zeros(count, np.bool_)
    there[others] = True
    result: Bools = there[codes]
    return result
