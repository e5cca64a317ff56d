"""SELECT TENTATIVE: the changes from the rows foreseen before to those foreseen now."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from presage.arrays.equality import equality_codes
from presage.arrays.rows import changes, ordinals
from presage.operators.prediction.kernel.query import DELETE, INSERT, ORDINAL, TIME, PredictionTables

FORESEEN = "foreseen"


def tentative_changes(
    tables: PredictionTables, foreseen: pa.Table | None, over: pa.Table, coming: pa.Table | None, at: int, end: bool
) -> tuple[pa.Table, pa.Table]:
    """The rows foreseen now, and the changes. `foreseen`: before; `over`: rows that are complete now; `coming`: rows
    to come, None if unchanged. Changes have the time `at`, at the end that of their row if it is later."""
    *columns, change = tables.columns
    foreseen = over.slice(0, 0) if foreseen is None else foreseen.cast(over.schema)
    if coming is None:
        coming, _ = _differences(foreseen, over, columns)
    gone, fresh = _differences(foreseen, pa.concat_tables([over, coming]), columns)
    rows = pa.concat_tables([gone, fresh])
    kind = np.repeat(np.array([DELETE, INSERT]), [gone.num_rows, fresh.num_rows])
    time = np.maximum(rows[TIME].to_numpy(), at) if end else np.full(rows.num_rows, at)
    order = np.argsort(time, kind="stable")
    rows, time = rows.take(pa.array(order)), time[order]
    places = rows.column_names
    rows = rows.set_column(places.index(TIME), TIME, pa.array(time))
    rows = rows.set_column(places.index(ORDINAL), ORDINAL, pa.array(ordinals(changes([time], len(time)))))
    return coming, rows.append_column(change, pa.array(kind[order].tolist(), pa.string()))


def _differences(some: pa.Table, others: pa.Table, columns: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """The rows of each of two tables that the other does not have."""
    both = pa.concat_tables([some, others])
    code, _ = equality_codes([both.column(name) for name in columns], both.num_rows)
    one, other = code[: len(some)], code[len(some) :]
    return some.filter(pa.array(~np.isin(one, other))), others.filter(pa.array(~np.isin(other, one)))
