"""Sums of values: doubles as they are, integers as two halves that cannot overflow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays import decimals
from presage.arrays.aggregate_engine import AggregateEngine
from presage.arrays.columns import HIGH_BITS, LOW_MASK, Values
from presage.arrays.decimals import Wholes, from_limbs, greatest, times, to_array
from presage.arrays.jit import Bools, Floats, Ints
from presage.model.arrow import to_arrow
from presage.model.decimals import avg_of, sum_of
from presage.model.types import DecimalOf

MOST_HIGH = 1 << 31  # a LONG is high * 2**32 + low with high in [-2**31, 2**31)


def doubles(name: str, values: Values, engine: AggregateEngine) -> Floats:
    # Adding 0.0: otherwise the sign of a sum of zeros would depend on the number of empty slots.
    return engine.sum(name + ".s", values.floats) + 0.0


def halves(name: str, values: Values, engine: AggregateEngine) -> tuple[Ints, Ints]:
    high, low = values.halves
    return carried(engine.total(name + ".high", high), engine.total(name + ".low", low))


@dataclass(frozen=True)
class DecimalSum:
    """Sums of decimals of a type, as whole numbers of its last digit. Beyond the digits of a result it is NULL."""

    wholes: Wholes
    type: DecimalOf

    def array(self, present: Bools) -> pa.Array:
        return to_array(self.wholes, present, to_arrow(sum_of(self.type)))

    def mean(self, count: Ints) -> pa.Array:
        """As Spark has it: NULL, too, where the sum has too many digits."""
        result, total = avg_of(self.type), sum_of(self.type)
        limit = 10**total.precision
        present = count > 0
        if greatest(self.wholes) >= limit:
            present &= np.asarray((self.wholes < limit) & (self.wholes > -limit), np.bool_)
        exact = times(self.wholes, 10 ** (result.scale - self.type.scale))
        return to_array(decimals.divided(exact, np.maximum(count, 1)), present, to_arrow(result))


def decimal_sum(name: str, values: Values, engine: AggregateEngine) -> DecimalSum:
    limbs = [engine.total(f"{name}.{i}", limb) for i, limb in enumerate(values.limbs)]
    kind = values.array.type
    return DecimalSum(from_limbs(limbs), DecimalOf(kind.precision, kind.scale))


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
