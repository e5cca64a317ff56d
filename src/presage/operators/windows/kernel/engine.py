"""Steps that the engines of aggregates share: which values are there, the extreme one, where lists begin."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from presage.arrays.aggregate_engine import AggregateEngine as Engine
from presage.arrays.columns import Values
from presage.arrays.jit import Bools, Ints
from presage.arrays.order_keys import GREATEST, keys_of

__all__ = ["Engine", "all_valid", "extreme_of", "offsets_of"]


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
