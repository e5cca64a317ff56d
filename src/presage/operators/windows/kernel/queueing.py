"""Groups as runs of rows come in, aggregates of each new row's window go out: events leave in order of arrival."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from presage.arrays.columns import Values, lists_of, take
from presage.arrays.jit import Bools, Floats, Ints
from presage.operators.windows.kernel.engine import Engine, all_valid, extreme_of, offsets_of
from presage.operators.windows.kernel.fifo import (
    fifo_count,
    fifo_first,
    fifo_least,
    fifo_lists,
    fifo_spread,
    fifo_sum,
    fifo_total,
)
from presage.operators.windows.kernel.slotting import Slotting


class Queueing:
    """Engine over runs of groups (see `fifo`). `slotting` answers what needs a script: median and DISTINCT."""

    def __init__(
        self, rank: Ints, head: Ints, start: Ints, fresh: Ints, split: Ints, kept: int, slotting: Slotting
    ) -> None:
        self.rank, self.head, self.start, self.fresh, self.split, self.kept = rank, head, start, fresh, split, kept
        self.slotting = slotting

    @cached_property
    def _live(self) -> Ints:
        return fifo_count(self.rank, self.head, self.kept)

    def count(self, name: str, valid: Bools | None) -> Ints:
        return self._live if valid is None else self.total(name, valid.astype(np.int64))

    def total(self, name: str, values: Ints) -> Ints:
        return fifo_total(values, self.rank, self.head, self.kept)

    def sum(self, name: str, values: Floats) -> Floats:
        return fifo_sum(values, self.rank, self.head, self.start, self.fresh, self.split, self.kept)

    def spread(self, name: str, values: Values) -> tuple[Ints, Floats]:
        valid = all_valid(values)
        return fifo_spread(values.floats, valid, self.rank, self.head, self.start, self.fresh, self.split, self.kept)

    def extreme(self, name: str, values: Values, greatest: bool) -> pa.Array:
        def least(keys: Ints) -> Ints:
            return fifo_least(keys, self.rank, self.head, self.start, self.fresh, self.kept)

        return extreme_of(values, greatest, self.count(name, values.valid), least)

    def first(self, name: str, values: Values) -> pa.Array:
        return take(values.array, fifo_first(self.rank, self.head, self.kept))

    def last(self, name: str, values: Values) -> pa.Array:
        return values.array.slice(self.kept)

    def lists(self, values: Values) -> pa.Array:
        offsets = offsets_of(self._live)
        return lists_of(values.array, offsets, fifo_lists(self.rank, self.head, self.kept, offsets))

    def middle(self, values: Values) -> tuple[Floats, Floats, Bools]:
        return self.slotting.middle(values)

    def distinct(self, name: str, values: Values) -> tuple[Engine, Values]:
        return self.slotting.distinct(name, values)
