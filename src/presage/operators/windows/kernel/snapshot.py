"""The kernel of OUTPUT SNAPSHOT: aggregates over what the windows hold at the end of input.

Input rows carry CHANGE: a tuple of the join enters or leaves. At the end it emits one row for each group that has a
live tuple, one for all, or one for each live tuple. State: the live tuples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.columns import Universe, ints, unique
from presage.errors import error
from presage.model.operator_state import State
from presage.operators.windows.kernel.batches import BatchQuery, Closing, closed_rows
from presage.operators.windows.kernel.changelog import staying
from presage.operators.windows.kernel.script import changelog_ops
from presage.operators.windows.kernel.spec import CHANGE, ENDED, Aggregate, Window
from presage.operators.windows.window_types import NoWindow

NAME = "snapshot"


@dataclass(frozen=True)
class SnapshotKernel:
    """Aggregates over the tuples that are live at the end; those with the same `identity` columns are one."""

    group_by: tuple[str, ...]
    grouped: bool
    aggregates: tuple[Aggregate, ...]
    carry: tuple[str, ...]
    order: tuple[str, ...]
    identity: tuple[str, ...]

    def initial(self) -> State:
        return State(NAME)

    def step(self, state: State, events: pa.Table, clock: int, end: bool = False) -> tuple[State, pa.Table]:
        """The rows have the time of the watermark at the end."""
        live = state.tables.get("live")
        change = ints(events, CHANGE)
        universe = Universe(live, events.take(pa.array(np.flatnonzero(change > 0))))
        identity, identities = Universe(live, events).codes(self.identity)
        ops, found = changelog_ops(change, identity, identities, universe.kept_rows)
        if not found.all():
            raise error("INTERNAL", what="a tuple leaves a join that it never entered")
        query = BatchQuery(Window(NoWindow.name), self.group_by, self.grouped, self.aggregates, self.carry, self.order)
        row = staying(ops, universe.rows)
        names = unique([*query.kept_columns, *self.identity])
        after = State(NAME, {"live": universe.table(names, row, {})})
        row = row if end else row[:0]
        nothing = np.zeros(row.size, np.int64)
        place = [nothing + clock, nothing + ENDED, *(nothing for _ in self.order)]
        return after, closed_rows(query, universe, Closing(row, nothing, nothing, place))
