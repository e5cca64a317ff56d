"""Sums of values: doubles as they are, integers as two halves that cannot overflow."""

from __future__ import annotations

import numpy as np

from presage.arrays.aggregate_engine import AggregateEngine
from presage.arrays.columns import HIGH_BITS, LOW_MASK, Values
from presage.arrays.jit import Bools, Floats, Ints

MOST_HIGH = 1 << 31  # a LONG is high * 2**32 + low with high in [-2**31, 2**31)


def doubles(name: str, values: Values, engine: AggregateEngine) -> Floats:
    # Adding 0.0: otherwise the sign of a sum of zeros would depend on the number of empty slots.
    return engine.sum(name + ".s", values.floats) + 0.0


def halves(name: str, values: Values, engine: AggregateEngine) -> tuple[Ints, Ints]:
    high, low = values.halves
    return carried(engine.total(name + ".high", high), engine.total(name + ".low", low))


def carried(high: Ints, low: Ints) -> tuple[Ints, Ints]:
    """The same sums with low halves below 2**32."""
    return high + (low >> HIGH_BITS), low & LOW_MASK


def overflows(high: Ints) -> Bools:
    """Where a sum leaves the range of LONG."""
    return (high >= MOST_HIGH) | (high < -MOST_HIGH)


def as_long(high: Ints, low: Ints) -> Ints:
    return (high << HIGH_BITS) + low


def as_double(high: Ints, low: Ints) -> Floats:
    return np.asarray(high * float(1 << HIGH_BITS) + low, np.float64)


def divided(total: Floats, count: Ints) -> Floats:
    return np.asarray(total / np.maximum(count, 1))
