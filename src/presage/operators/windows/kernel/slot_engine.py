"""The engine of aggregates for windows whose events leave in any order: over a script and the slots of the state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa

from presage.arrays.codes import paired
from presage.arrays.columns import Universe, Values, lists_of, take
from presage.arrays.equality import equality_codes
from presage.arrays.jit import Bools, Floats, Ints
from presage.operators.windows.kernel.engine import Engine, all_valid, extreme_of, offsets_of
from presage.operators.windows.kernel.live_lists import script_ends, script_lists
from presage.operators.windows.kernel.quantile import script_quantile
from presage.operators.windows.kernel.script import Script, distinct_script
from presage.operators.windows.kernel.slots import (
    assigned_slots,
    script_least,
    script_pairs,
    script_spread,
    script_sum,
    script_total,
    slot_trees,
)

SLOT = "#slot"


def kept_slots(universe: Universe, state: pa.Table | None) -> dict[str, Ints]:
    """The slot columns of a state, by name."""
    names = () if state is None else state.column_names
    return {name: universe.kept_ints(name) for name in names if name.startswith(SLOT)}


class SlotEngine:
    """Engine over a script, which is built at its first use.

    `given` holds the slot columns of the state, over the elements that the script begins with.
    """

    def __init__(self, make_script: Callable[[], Script], given: Mapping[str, Ints]) -> None:
        self._make_script = make_script
        self.given = given
        self.slots: dict[str, Ints] = {}  # slot columns for the next state, over all elements
        self._slot_column = SLOT

    @cached_property
    def script(self) -> Script:
        return self._make_script()

    @cached_property
    def _trees(self) -> tuple[Ints, Ints]:
        script = self.script
        given = np.full(script.group.size, -1, np.int64)
        if self._slot_column in self.given:
            kept = self.given[self._slot_column]
            given[: kept.size] = kept
        base = slot_trees(script, given)
        touched, slots = assigned_slots(script, given, base)
        self._keep(slots)
        return base, touched

    def _keep(self, slots: Ints) -> None:
        self.slots[self._slot_column] = slots

    def count(self, name: str, valid: Bools | None) -> Ints:
        ones = np.ones(self.script.group.size, np.int64) if valid is None else valid.astype(np.int64)
        return self.total(name, ones)

    def total(self, name: str, values: Ints) -> Ints:
        return script_total(self.script, values)

    def sum(self, name: str, values: Floats) -> Floats:
        return script_sum(self.script, *self._trees, values)

    def spread(self, name: str, values: Values) -> tuple[Ints, Floats]:
        return script_spread(self.script, *self._trees, values.floats, all_valid(values))

    def extreme(self, name: str, values: Values, greatest: bool) -> pa.Array:
        count = self.count(name, values.valid)
        return extreme_of(values, greatest, count, lambda keys: script_least(self.script, *self._trees, keys))

    @cached_property
    def _ends(self) -> tuple[Ints, Ints]:
        return script_ends(self.script)

    def first(self, name: str, values: Values) -> pa.Array:
        return take(values.array, self._ends[0])

    def last(self, name: str, values: Values) -> pa.Array:
        return take(values.array, self._ends[1])

    def lists(self, values: Values) -> pa.Array:
        offsets = offsets_of(self.count("", None))
        return lists_of(values.array, offsets, script_lists(self.script, offsets))

    def moments(self, name: str, x: Floats, y: Floats, valid: Bools) -> Floats:
        return script_pairs(self.script, *self._trees, x, y, valid)

    def quantile(self, values: Values, share: float) -> tuple[Floats, Floats, Floats, Bools]:
        return script_quantile(self.script, values.floats, values.valid, share)

    def distinct(self, name: str, values: Values) -> tuple[Engine, Values]:
        engine = _DistinctSlotEngine(self, SLOT + name, values)
        return engine, engine.values


class _DistinctSlotEngine(SlotEngine):
    """Engine over the distinct values; every live event that has a value holds the value's slot."""

    def __init__(self, outer: SlotEngine, column: str, values: Values) -> None:
        codes, count = equality_codes([pa.chunked_array([values.array])], len(values.array))
        pair, pairs = paired(outer.script.group, codes, count)
        if values.valid is not None:
            pair[~values.valid] = -1
        present = np.flatnonzero(pair >= 0)
        # The value of a pair that only nulls have is never read: any row will do.
        representative = np.zeros(pairs, np.int64)
        representative[pair[present]] = present
        self.values = Values(take(values.array, representative))
        slots = np.full(pairs, -1, np.int64)
        if column in outer.given:
            kept = outer.given[column]
            live = np.flatnonzero(kept >= 0)
            slots[pair[live]] = kept[live]
        super().__init__(lambda: distinct_script(outer.script, pair, pairs), {column: slots})
        self._slot_column = column
        self._outer = outer
        self._pair = pair

    def _keep(self, slots: Ints) -> None:
        of_elements = np.full(self._pair.size, -1, np.int64)
        of_elements[self._pair >= 0] = slots[self._pair[self._pair >= 0]]
        self._outer.slots[self._slot_column] = of_elements
