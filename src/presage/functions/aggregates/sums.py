"""Sums of a window for the aggregates that add: doubles as they are, integers as two halves that cannot overflow."""

from __future__ import annotations

import numpy as np

from presage.arrays.aggregate_engine import AggregateEngine
from presage.arrays.columns import HIGH_BITS, LOW_MASK, Values
from presage.arrays.jit import Floats, Ints
from presage.errors import error

MOST_HIGH = 1 << 31  # a LONG is high * 2**32 + low with high in [-2**31, 2**31)


def doubles(name: str, values: Values, engine: AggregateEngine) -> Floats:
    # Adding zero: whether -0.0 is left of a sum of zeros would depend on how many empty slots were added.
    return engine.sum(name + ".s", values.floats) + 0.0


def halves(name: str, values: Values, engine: AggregateEngine) -> tuple[Ints, Ints]:
    high, low = values.halves
    high, low = engine.total(name + ".high", high), engine.total(name + ".low", low)
    return high + (low >> HIGH_BITS), low & LOW_MASK


def as_double(high: Ints, low: Ints) -> Floats:
    return np.asarray(high * float(1 << HIGH_BITS) + low, np.float64)


def as_long(high: Ints, low: Ints, shown: str | None) -> Ints:
    if high.size and (high.max() >= MOST_HIGH or high.min() < -MOST_HIGH):
        raise error(
            "ARITHMETIC_OVERFLOW",
            what=f"sum({shown})",
            type="LONG",
            fix=f"add up doubles: sum(CAST({shown} AS DOUBLE))",
        )
    return (high << HIGH_BITS) + low


def divided(total: Floats, count: Ints) -> Floats:
    return np.asarray(total / np.maximum(count, 1))
