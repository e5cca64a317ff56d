"""One step of a shard: its state, the rows that arrived and the watermark give the new state and rows.

Rows wait until the watermark has passed them: so the result depends neither on how a stream is cut into batches nor on
the order in which rows come within the delay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.columns import ints, selected
from presage.arrays.order_keys import sorted_order
from presage.arrays.rows import append_rows, take_rows
from presage.errors import error
from presage.execution.stage import Kernel
from presage.frames.batch import ARRIVAL
from presage.model.operator_state import State
from presage.plan.nodes import SEQ, TIME

NAME = "frame"
WAITING, KERNEL = "waiting", "kernel."
CALL = "_call"  # rows of an earlier batch arrived earlier
CALLS, NEXT, PLAN = "calls", "next", "plan"


@dataclass(frozen=True)
class ShardStep:
    """`schema` is that of the rows that come; `order` are columns of theirs with their direction, the time first.
    `plan` is a number that tells this clause on this shape of rows from others; `waits`: whether time alone may yield
    rows from a state of the kernel."""

    kernel: Kernel
    schema: pa.Schema
    order: tuple[tuple[str, bool], ...]
    waits: Callable[[State], bool]
    plan: int

    def step(self, held: State | None, arrived: list[pa.Table], watermark: int | None) -> tuple[State | None, pa.Table]:
        """Times in microseconds; no watermark: none is known yet. A shard that holds nothing has no state."""
        held = self._checked(held)
        numbers = dict(held.numbers)
        waiting = append_rows(held.tables.get(WAITING), self._in_time(arrived, numbers[CALLS], watermark))
        numbers[CALLS] += 1
        inner = self._kernel_state(held)
        made = None
        if watermark is not None:
            passed = ints(waiting, TIME) < watermark
            ready, waiting = selected(waiting, passed), selected(waiting, ~passed)
            if ready.num_rows or self.waits(inner):
                ready = take_rows(ready, sorted_order(ready, [*self.order, (CALL, True), (ARRIVAL, True)]))
                ready = ready.append_column(SEQ, pa.array(np.arange(ready.num_rows) + numbers[NEXT]))
                numbers[NEXT] += ready.num_rows
                inner, made = self.kernel.step(inner, ready, watermark)
        tables = {KERNEL + name: t for name, t in inner.tables.items() if t.num_rows}
        if waiting.num_rows:
            tables[WAITING] = waiting
        numbers |= {KERNEL + name: n for name, n in inner.numbers.items()}
        return State(NAME, tables, numbers) if tables else None, made if made is not None else _NOTHING

    def due(self, held: State | None, watermark: int | None) -> int | None:
        """The watermark at which the shard has something to do though no row comes."""
        if held is None:
            return None
        if self.waits(self._kernel_state(held)):
            return watermark
        waiting = held.tables.get(WAITING)
        return None if waiting is None else int(ints(waiting, TIME).min())

    def _kernel_state(self, held: State) -> State:
        tables = {name.removeprefix(KERNEL): t for name, t in held.tables.items() if name.startswith(KERNEL)}
        numbers = {name.removeprefix(KERNEL): n for name, n in held.numbers.items() if name.startswith(KERNEL)}
        return State(self.kernel.initial().kernel, tables, numbers)

    def _checked(self, held: State | None) -> State:
        if held is None:
            return State(NAME, {}, {CALLS: 0, NEXT: 0, PLAN: self.plan})
        if held.numbers.get(PLAN) != self.plan:
            raise error(
                "UNSUPPORTED",
                what="another clause, other columns or another number of shards",
                where="on the checkpoint of a query that has run",
                fix="give the query a new checkpointLocation",
            )
        return held

    def _in_time(self, arrived: list[pa.Table], call: int, watermark: int | None) -> pa.Table:
        """Rows that are not late: those that the watermark had not passed when they came."""
        rows = pa.concat_tables([self.schema.empty_table(), *arrived])
        if watermark is not None:
            rows = selected(rows, ints(rows, TIME) >= watermark)
        return rows.append_column(CALL, pa.array(np.full(rows.num_rows, call, np.int64)))


_NOTHING = pa.table({})
