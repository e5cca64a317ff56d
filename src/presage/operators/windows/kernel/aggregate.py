"""The kernel of aggregates over one windowed stream: `SELECT … FROM R#window GROUP BY …`.

Sliding windows emit one row for each arriving event that passes WHERE. Batch windows emit rows when a batch closes,
with the column ORDINAL. However the events are cut into steps, the rows are the same to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from presage.arrays.columns import narrowed
from presage.errors import error
from presage.model.operator_state import State
from presage.operators.windows.kernel.batches import BatchQuery, step_batches
from presage.operators.windows.kernel.live_rows import Sliding
from presage.operators.windows.kernel.sessions import step_sessions
from presage.operators.windows.kernel.spans import step_spans
from presage.operators.windows.kernel.spec import SEQ, TIME, Aggregate, Window
from presage.operators.windows.kernel.unbounded import step_unbounded
from presage.operators.windows.window_types import FIRST, FOREVER, SESSION, SPANS

NAME = "aggregate"
END = 2**63 - 1  # a watermark after everything
_CLOSE = {SPANS: step_spans, SESSION: step_sessions}


@dataclass(frozen=True)
class AggregateKernel:
    """Aggregates over one window. `carry` are columns of the event (batch windows: of the group's last event).

    `partition` are columns of `group_by` that are in the window's key too, under whatever name. `apart`: all columns
    of that key are among them.
    """

    window: Window
    group_by: tuple[str, ...]
    grouped: bool
    aggregates: tuple[Aggregate, ...]
    carry: tuple[str, ...]
    order: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    apart: bool = False

    def __post_init__(self) -> None:
        if self.window.type.is_sized and not self.window.sizes and self.window.size < 1:
            raise error(
                "BAD_VALUE", what=f"the size of {self.window.kind}", found=self.window.size, expected="positive"
            )

    def initial(self) -> State:
        return State(NAME)

    def step(self, state: State, events: pa.Table, clock: int, end: bool = False) -> tuple[State, pa.Table]:
        """`end` closes windows with bounds. Other batches stay open: no timer fires after `clock`, the watermark."""
        if self.window.is_batch:
            query = BatchQuery(
                self.window, self.group_by, self.grouped, self.aggregates, self.carry, self.order, self.apart
            )
            clock = END if end and self.window.type.has_bounds else clock
            tables, rows = _CLOSE.get(self.window.type.retention, step_batches)(query, state.tables, events, clock)
            return State(NAME, tables), rows
        if self.window.type.retention in (FOREVER, FIRST):
            tables, emitting, columns = step_unbounded(
                self.window, self.group_by, self.aggregates, state.tables, events
            )
            after = State(NAME, tables)
        else:
            after, slid = Sliding(self.window, self.group_by, self.aggregates, self.partition).step(
                state, events, clock
            )
            emitting, columns = slid.universe.new, slid.columns
        names = [TIME, SEQ, *self.order, *self.carry]
        rows = pa.Table.from_arrays(
            [narrowed(each) for each in (*(emitting.column(name) for name in names), *columns)],
            names=[*names, *(a.output for a in self.aggregates)],
        )
        return after, rows
