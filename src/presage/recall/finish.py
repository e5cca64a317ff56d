"""Merged parts of aggregates in, their values out; of a history that is covered in part, the values it would have.

As Spark has them: over no value all but count are null, stddev is of a sample and null below two values, NaN is
greatest. A sum of LONG that leaves its range is an error and never wraps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from presage.arrays.columns import HIGH_BITS, LOW_MASK, column, with_nulls
from presage.arrays.jit import Bools, Floats, Ints
from presage.errors import PresageError, error
from presage.recall.exact_sums import deviations, rounded
from presage.recall.partial import (
    COUNT,
    EXACT,
    EXACT_SQUARES,
    GREATEST_VALUE,
    HIGH,
    LEAST,
    LOW,
    VALUE,
    Aggregate,
    whole_numbers,
)

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


def _value(aggregate: Aggregate, parts: pa.Table, factors: Floats | None) -> pa.Array:
    found = {kind: column(parts, aggregate.column(kind)) for kind in aggregate.kinds}
    function = aggregate.function
    for kind in (LEAST, GREATEST_VALUE, VALUE):
        if kind in found:
            return found[kind]
    count = whole_numbers(found[COUNT])
    if function == "count":
        return pa.array(count if factors is None else scaled(aggregate, count, factors))
    if function == "stddev":
        return with_nulls(deviations(count, found[EXACT], found[EXACT_SQUARES]), count > 1)
    if not aggregate.is_integral:
        total = rounded(found[EXACT])
        if function == "sum" and factors is not None:
            total = total * factors
        return with_nulls(total / np.maximum(count, 1) if function == "avg" else total, count > 0)
    high, low = _halves(found)
    if function == "avg":
        return with_nulls((high * float(1 << HIGH_BITS) + low) / np.maximum(count, 1), count > 0)
    if beyond(aggregate, parts).any():
        raise overflow(aggregate)
    whole = (high << HIGH_BITS) + low
    return with_nulls(whole if factors is None else scaled(aggregate, whole, factors), count > 0)


def _halves(found: Mapping[str, pa.Array]) -> tuple[Ints, Ints]:
    high, low = whole_numbers(found[HIGH]), whole_numbers(found[LOW])
    return high + (low >> HIGH_BITS), low & LOW_MASK


def beyond(aggregate: Aggregate, parts: pa.Table) -> Bools:
    """Where a sum of whole numbers leaves the range of LONG."""
    high, _ = _halves({kind: column(parts, aggregate.column(kind)) for kind in (HIGH, LOW)})
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
