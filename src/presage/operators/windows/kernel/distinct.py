"""The kernel of SELECT DISTINCT over a whole result stream: rows that equal no earlier row.

Rows are equal as in SQL's GROUP BY (see `equality`): null equals null; arrays, structs and maps are equal by content.
State: the values so far, one row each; it grows for ever.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.equality import equality_codes, first_occurrences
from presage.arrays.rows import append_rows, take_rows
from presage.model.operator_state import State
from presage.operators.windows.kernel.spec import SEQ, TIME

KERNEL = "distinct"


@dataclass(frozen=True)
class DistinctKernel:
    """A row passes when no earlier row has equal `by` columns. It emits TIME, SEQ, order, columns."""

    by: tuple[str, ...]
    columns: tuple[str, ...]
    order: tuple[str, ...] = ()

    def initial(self) -> State:
        return State(KERNEL)

    def step(self, state: State, events: pa.Table, clock: int, end: bool = False) -> tuple[State, pa.Table]:
        # With TIME, so that the state has a row even when `by` has no column.
        names = tuple(dict.fromkeys((TIME, *self.by)))
        rows = append_rows(state.tables.get("seen"), events.select(names))
        carried = rows.num_rows - events.num_rows
        first = first_occurrences(equality_codes([rows[name] for name in self.by], rows.num_rows)[0])
        passing = take_rows(events.select([TIME, SEQ, *self.order, *self.columns]), np.flatnonzero(first[carried:]))
        seen = take_rows(rows, np.flatnonzero(first))
        return State(KERNEL, {"seen": seen}), passing
