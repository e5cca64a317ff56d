"""A script and slots of the state come in, aggregates of the live elements at each row and new slots go out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa

from presage.arrays.codes import paired
from presage.arrays.columns import Values, lists_of, take
from presage.arrays.equality import equality_codes
from presage.arrays.jit import Bools, Floats, Ints
from presage.operators.windows.kernel.engine import Engine, all_valid, extreme_of, offsets_of
from presage.operators.windows.kernel.live import script_ends, script_lists
from presage.operators.windows.kernel.median import script_middle
from presage.operators.windows.kernel.script import Script, distinct_script
from presage.operators.windows.kernel.slots import (
    assigned_slots,
    script_least,
    script_spread,
    script_sum,
    script_total,
    slot_trees,
)

SLOT = "#slot"


class Slotting:
    """Engine over a script, which is made when it is first needed.

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
            known = self.given[self._slot_column]
            given[: known.size] = known
        base = slot_trees(script.ops, script.initial, given, script.group, script.groups)
        touched, slots = assigned_slots(script.ops, script.initial, given, script.group, base)
        self._keep(slots)
        return base, touched

    def _keep(self, slots: Ints) -> None:
        self.slots[self._slot_column] = slots

    def count(self, name: str, valid: Bools | None) -> Ints:
        ones = np.ones(self.script.group.size, np.int64) if valid is None else valid.astype(np.int64)
        return self.total(name, ones)

    def total(self, name: str, values: Ints) -> Ints:
        s = self.script
        return script_total(s.ops, s.group, s.groups, s.emit_at, s.emit_group, values)

    def sum(self, name: str, values: Floats) -> Floats:
        s, (base, touched) = self.script, self._trees
        return script_sum(s.ops, touched, s.group, base, s.emit_at, s.emit_group, values)

    def spread(self, name: str, values: Values) -> tuple[Ints, Floats]:
        s, (base, touched) = self.script, self._trees
        return script_spread(s.ops, touched, s.group, base, s.emit_at, s.emit_group, values.floats, all_valid(values))

    def extreme(self, name: str, values: Values, greatest: bool) -> pa.Array:
        s, (base, touched) = self.script, self._trees

        def least(keys: Ints) -> Ints:
            return script_least(s.ops, touched, s.group, base, s.emit_at, s.emit_group, keys)

        return extreme_of(values, greatest, self.count(name, values.valid), least)

    @cached_property
    def _ends(self) -> tuple[Ints, Ints]:
        s = self.script
        return script_ends(s.ops, s.group, s.groups, s.emit_at, s.emit_group)

    def first(self, name: str, values: Values) -> pa.Array:
        return take(values.array, self._ends[0])

    def last(self, name: str, values: Values) -> pa.Array:
        return take(values.array, self._ends[1])

    def lists(self, values: Values) -> pa.Array:
        s = self.script
        offsets = offsets_of(self.count("", None))
        return lists_of(values.array, offsets, script_lists(s.ops, s.group, s.groups, s.emit_at, s.emit_group, offsets))

    def middle(self, values: Values) -> tuple[Floats, Floats, Bools]:
        return script_middle(self.script, values.floats, values.valid)

    def distinct(self, name: str, values: Values) -> tuple[Engine, Values]:
        engine = _DistinctSlotting(self, SLOT + name, values)
        return engine, engine.values


class _DistinctSlotting(Slotting):
    """The same over distinct values; every live event that has a value holds the value's slot."""

    def __init__(self, outer: Slotting, column: str, values: Values) -> None:
        codes, count = equality_codes([pa.chunked_array([values.array])], len(values.array))
        pair, pairs = paired(outer.script.group, codes, count)
        if values.valid is not None:
            pair[~values.valid] = -1
        present = np.flatnonzero(pair >= 0)
        # A pair number that only nulls had stands for nothing, and nobody asks for its value: any row will do.
        representative = np.zeros(pairs, np.int64)
        representative[pair[present]] = present
        self.values = Values(take(values.array, representative))
        slots = np.full(pairs, -1, np.int64)
        if column in outer.given:
            known = outer.given[column]
            held = np.flatnonzero(known >= 0)
            slots[pair[held]] = known[held]
        super().__init__(lambda: distinct_script(outer.script, pair, pairs), {column: slots})
        self._slot_column = column
        self._outer = outer
        self._pair = pair

    def _keep(self, slots: Ints) -> None:
        of_elements = np.full(self._pair.size, -1, np.int64)
        of_elements[self._pair >= 0] = slots[self._pair[self._pair >= 0]]
        self._outer.slots[self._slot_column] = of_elements
