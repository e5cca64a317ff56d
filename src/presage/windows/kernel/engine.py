"""An argument column comes in, an answer for each row to be emitted goes out: what every engine of aggregates can do.

Three engines answer the same questions: `Folding` (nothing leaves), `Queueing` (events leave in order of arrival),
`Slotting` (they leave in any order). `name` tells one accumulator of the state from another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import pyarrow as pa

from presage.arrays.columns import Values
from presage.arrays.jit import Bools, Floats, Ints
from presage.arrays.order_keys import GREATEST, keys_of


class Engine(Protocol):
    """What an aggregate asks. Arguments run over all rows of the step, answers over the rows to be emitted."""

    def count(self, name: str, valid: Bools | None) -> Ints: ...
    def total(self, name: str, values: Ints) -> Ints: ...
    def sum(self, name: str, values: Floats) -> Floats: ...
    def spread(self, name: str, values: Values) -> tuple[Ints, Floats]: ...
    def extreme(self, name: str, values: Values, greatest: bool) -> pa.Array: ...
    def first(self, name: str, values: Values) -> pa.Array: ...
    def last(self, name: str, values: Values) -> pa.Array: ...
    def lists(self, values: Values) -> pa.Array: ...
    def middle(self, values: Values) -> tuple[Floats, Floats, Bools]: ...
    def distinct(self, name: str, values: Values) -> tuple[Engine, Values]: ...


def all_valid(values: Values) -> Bools:
    return np.ones(len(values.array), np.bool_) if values.valid is None else values.valid


def extreme_of(values: Values, greatest: bool, count: Ints, least: Callable[[Ints], Ints]) -> pa.Array:
    """The greatest key is the one with the least complement, and a complement cannot overflow as a minus can."""
    keys = keys_of(values.array, "max" if greatest else "min")
    if not greatest:
        return keys.restore(least(keys.keys), count > 0)
    turned = ~keys.keys
    if values.valid is not None:
        turned[~values.valid] = GREATEST
    return keys.restore(~least(turned), count > 0)


def offsets_of(counts: Ints) -> Ints:
    offsets = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets
