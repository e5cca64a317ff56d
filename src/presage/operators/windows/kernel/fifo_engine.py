"""The engine of aggregates for windows whose events leave in order of arrival."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from presage.arrays.columns import Values, lists_of, take
from presage.arrays.jit import Bools, Floats, Ints
from presage.operators.windows.kernel import fifo
from presage.operators.windows.kernel.engine import Engine, all_valid, extreme_of, offsets_of
from presage.operators.windows.kernel.slot_engine import SlotEngine


@dataclass
class FifoEngine:
    """Engine over runs of places. `slots` computes what needs a script: quantiles and DISTINCT."""

    runs: fifo.Runs
    slots: SlotEngine

    @cached_property
    def _live(self) -> Ints:
        return fifo.fifo_count(self.runs)

    def count(self, name: str, valid: Bools | None) -> Ints:
        return self._live if valid is None else self.total(name, valid.astype(np.int64))

    def total(self, name: str, values: Ints) -> Ints:
        return fifo.fifo_total(self.runs, values)

    def sum(self, name: str, values: Floats) -> Floats:
        return fifo.fifo_sum(self.runs, values)

    def spread(self, name: str, values: Values) -> tuple[Ints, Floats]:
        return fifo.fifo_spread(self.runs, values.floats, all_valid(values))

    def extreme(self, name: str, values: Values, greatest: bool) -> pa.Array:
        count = self.count(name, values.valid)
        return extreme_of(values, greatest, count, lambda keys: fifo.fifo_least(self.runs, keys))

    def first(self, name: str, values: Values) -> pa.Array:
        return take(values.array, fifo.fifo_first(self.runs))

    def last(self, name: str, values: Values) -> pa.Array:
        return values.array.slice(self.runs.kept)

    def lists(self, values: Values) -> pa.Array:
        offsets = offsets_of(self._live)
        return lists_of(values.array, offsets, fifo.fifo_lists(self.runs, offsets))

    def moments(self, name: str, x: Floats, y: Floats, valid: Bools) -> Floats:
        return fifo.fifo_pairs(self.runs, x, y, valid)

    def quantile(self, values: Values, share: float) -> tuple[Floats, Floats, Floats, Bools]:
        return self.slots.quantile(values, share)

    def distinct(self, name: str, values: Values) -> tuple[Engine, Values]:
        return self.slots.distinct(name, values)
