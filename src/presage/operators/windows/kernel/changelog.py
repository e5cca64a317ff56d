"""The kernel of aggregates over the live tuples of a join.

Input rows carry CHANGE; a step is all rows with equal TIME, SEQ and order columns. After all changes of a step it emits
one row for each tuple that entered, or under GROUP BY one for each group that a tuple entered. Leaving tuples emit
nothing. A row has the ORDINAL of its tuple, or of the first one of its group in the step: unlike a count of the rows it
does not depend on how groups are spread over partitions. State: the live tuples and their slots.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.codes import first_of, last_of, paired
from presage.arrays.columns import Universe, ints
from presage.arrays.jit import Ints
from presage.arrays.rows import changes
from presage.errors import error
from presage.model.operator_state import State
from presage.operators.windows.kernel.engine import aggregate_columns
from presage.operators.windows.kernel.script import Script, changelog_ops
from presage.operators.windows.kernel.slot_engine import SlotEngine, kept_slots
from presage.operators.windows.kernel.spec import CHANGE, ORDINAL, SEQ, TIME, Aggregate

NAME = "changelog_aggregate"


@dataclass(frozen=True)
class ChangelogAggregateKernel:
    """Aggregates over the live tuples. A tuple leaves that has the same `identity` columns as the one that entered."""

    group_by: tuple[str, ...]
    grouped: bool
    aggregates: tuple[Aggregate, ...]
    carry: tuple[str, ...]
    order: tuple[str, ...]
    identity: tuple[str, ...]

    def initial(self) -> State:
        return State(NAME)

    def step(self, state: State, events: pa.Table, clock: int, end: bool = False) -> tuple[State, pa.Table]:
        """`clock` and `end` change nothing: all changes are rows, and a step is never cut."""
        live = state.tables.get("live")
        change = ints(events, CHANGE)
        entering = np.flatnonzero(change > 0)
        universe = Universe(live, events.take(pa.array(entering)))
        kept = universe.kept_rows
        identity, identities = Universe(live, events).codes(self.identity)
        ops, found = changelog_ops(change, identity, identities, kept)
        if not found.all():
            raise error("INTERNAL", what="a tuple leaves a join that it never entered")
        group, groups = universe.codes(self.group_by)
        place = [ints(events, name) for name in (TIME, SEQ, *self.order)]
        step = np.cumsum(changes(place, change.size)) - 1
        first, emitting = self._emitting(step[entering], group[kept:], groups)
        # A row is emitted after the last change of its step.
        upto = kept + last_of(step, int(step[-1]) + 1 if step.size else 0)[step[entering[emitting]]] + 1
        engine = SlotEngine(
            lambda: Script(ops, kept, group, groups, upto, group[kept + emitting]),
            kept_slots(universe, live),
        )
        columns = aggregate_columns(self.aggregates, universe.values, engine)
        stay = staying(ops, universe.rows)
        names = [*self.group_by, *self.identity, *(a.column for a in self.aggregates if a.column is not None)]
        after = universe.table(names, stay, {name: slots[stay] for name, slots in engine.slots.items()})

        rows = entering[emitting]
        at = [p[rows] for p in place]
        ordinal = ints(events, ORDINAL)[entering[first]]
        carried = universe.new.select(self.carry).take(pa.array(emitting))
        table = pa.Table.from_arrays(
            [*map(pa.array, at), pa.array(ordinal), *carried.columns, *columns],
            names=[TIME, SEQ, *self.order, ORDINAL, *self.carry, *(a.output for a in self.aggregates)],
        )
        return State(NAME, {"live": after}), table

    def _emitting(self, step: Ints, group: Ints, groups: int) -> tuple[Ints, Ints]:
        """For each row, in order: the entering tuple that gives its place, and the one that it represents."""
        if not self.grouped:
            return np.arange(step.size), np.arange(step.size)
        pair, pairs = paired(step, group, groups)
        first = first_of(pair, pairs)
        order = np.argsort(first, kind="stable")
        return first[order], last_of(pair, pairs)[order]


def staying(ops: Ints, elements: int) -> Ints:
    """Elements that have not left, in order of arrival."""
    stays = np.ones(elements, np.bool_)
    stays[~ops[ops < 0]] = False
    return np.flatnonzero(stays)
