"""Values of merged aggregates; of a history that is covered in part, extrapolated values.

As Spark has them: over no value all but count are null, stddev is of a sample and null below two values, NaN is
greatest. A sum of LONG that leaves its range is an error and never wraps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.columns import HIGH_BITS, LOW_MASK, column
from presage.arrays.exact_sums import rounded
from presage.arrays.jit import Bools, Floats, Ints
from presage.errors import PresageError, error
from presage.functions.aggregates import aggregate_named
from presage.functions.aggregates.parts import COUNT, EXACT, HIGH, LOW
from presage.operators.recall.partial import Aggregate, whole_numbers

MOST_HIGH = 1 << 31  # a LONG is high * 2**32 + low with high in [-2**31, 2**31)
BEYOND = 2.0**63  # the least double that no LONG reaches


def scale_factors(requested: Ints, covered: Ints) -> Floats:
    """Requested span / covered span of each row: 1 where all is covered, and where nothing is yet."""
    partial = (covered > 0) & (covered < requested)
    return np.where(partial, requested / np.where(partial, covered, 1), 1.0)


def finish(
    parts: pa.Table, keys: Sequence[str], aggregates: Sequence[Aggregate], factors: Floats | None = None
) -> pa.Table:
    """The keys and a column for each aggregate. `factors` of each row scale counts and sums, which keep their types:
    those of LONG are rounded to the nearest, halves to the even one."""
    made = {name: parts.column(name) for name in keys}
    for aggregate in aggregates:
        made[aggregate.output] = _value(aggregate, parts, factors)
    return pa.table(made)


@dataclass(frozen=True)
class Merged:
    """Merged parts of one aggregate, as its `finish` reads them."""

    aggregate: Aggregate
    found: Mapping[str, pa.Array]
    factors: Floats | None

    @property
    def is_integral(self) -> bool:
        return self.aggregate.is_integral

    @property
    def count(self) -> Ints:
        return whole_numbers(self.found[COUNT])

    def halves(self) -> tuple[Ints, Ints]:
        return _halves(self.found)

    def whole(self) -> Ints:
        """A sum of whole numbers; an error where it leaves the range of LONG."""
        high, low = self.halves()
        if _outside(high).any():
            raise overflow(self.aggregate)
        return (high << HIGH_BITS) + low

    def exact(self) -> Floats:
        return rounded(self.found[EXACT])

    def scaled(self, values: Ints) -> Ints:
        return values if self.factors is None else scaled(self.aggregate, values, self.factors)


def _value(aggregate: Aggregate, parts: pa.Table, factors: Floats | None) -> pa.Array:
    found = {kind: column(parts, aggregate.column(kind)) for kind in aggregate.kinds}
    return aggregate_named(aggregate.function).finish(Merged(aggregate, found, factors))


def _halves(found: Mapping[str, pa.Array]) -> tuple[Ints, Ints]:
    high, low = whole_numbers(found[HIGH]), whole_numbers(found[LOW])
    return high + (low >> HIGH_BITS), low & LOW_MASK


def beyond(aggregate: Aggregate, parts: pa.Table) -> Bools:
    """Where a sum of whole numbers leaves the range of LONG."""
    high, _ = _halves({kind: column(parts, aggregate.column(kind)) for kind in (HIGH, LOW)})
    return _outside(high)


def _outside(high: Ints) -> Bools:
    return (high >= MOST_HIGH) | (high < -MOST_HIGH)


def scaled(aggregate: Aggregate, values: Ints, factors: Floats) -> Ints:
    """Whole numbers times factors; where a factor is 1 the number itself: a double does not hold every LONG."""
    as_it_is = factors == 1.0
    made = np.rint(np.where(as_it_is, 0.0, values * factors))
    if np.any(np.abs(made) >= BEYOND):
        raise overflow(aggregate)
    return np.where(as_it_is, values, made.astype(np.int64))


def overflow(aggregate: Aggregate) -> PresageError:
    """The error of a whole number that leaves the range of LONG."""
    shown = aggregate.shown or aggregate.output
    fix = f"add up doubles: sum(CAST({shown} AS DOUBLE))" if aggregate.function == "sum" else "recall a shorter span"
    return error("ARITHMETIC_OVERFLOW", what=f"{aggregate.function}({shown})", type="LONG", fix=fix)
