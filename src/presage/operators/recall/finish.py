"""Values of merged aggregates; extrapolated, where history is covered in part.

Values are as in Spark; NaN is the greatest. A LONG that leaves its range is an error and never wraps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.columns import column
from presage.arrays.exact_sums import rounded
from presage.arrays.jit import Bools, Floats, Ints
from presage.errors import PresageError, error
from presage.functions.aggregates.parts import COUNT, EXACT, HIGH, LOW, TRUE
from presage.functions.aggregates.sums import as_long, carried, overflows
from presage.operators.recall.partial import Aggregate, merge_parts, whole_numbers

# The suffix of a flag: whether the aggregate of that name has left the range of LONG.
BEYOND = "_beyond"
LONG_LIMIT = 2.0**63  # the least double above every LONG


def scale_factors(requested: Ints, covered: Ints) -> Floats:
    """Requested span / covered span of each row: 1 where all is covered, or nothing."""
    partial = (covered > 0) & (covered < requested)
    return np.where(partial, requested / np.where(partial, covered, 1), 1.0)


def finish(
    parts: pa.Table, keys: Sequence[str], aggregates: Sequence[Aggregate], factors: Floats | None = None
) -> pa.Table:
    """The keys and a column for each aggregate. `factors` of each row scale counts and sums, which keep their types:
    those of LONG are rounded to the nearest, halves to the even one."""
    columns = {name: parts.column(name) for name in keys}
    for aggregate in aggregates:
        found = {kind: column(parts, aggregate.column(kind)) for kind in aggregate.kinds}
        columns[aggregate.output] = aggregate.definition.finish(Merged(aggregate, found, factors))
    return pa.table(columns)


def finish_in_range(parts: pa.Table, keys: Sequence[str], aggregates: Sequence[Aggregate]) -> pa.Table:
    """As `finish`, over parts that may have several rows of a key; a sum that leaves the range of LONG is null. Each
    sum has a flag for that."""
    sums = [each for each in aggregates if each.definition.may_overflow(each.result_type)]
    merged = merge_parts([parts], keys, aggregates)
    too_large = {aggregate.output: overflowing(aggregate, merged) for aggregate in sums}
    for aggregate in sums:
        for kind in (COUNT, HIGH, LOW):
            name = aggregate.column(kind)
            in_range = np.where(too_large[aggregate.output], 0, merged[name].to_numpy())
            merged = merged.set_column(merged.column_names.index(name), name, pa.array(in_range))
    values = finish(merged, keys, aggregates)
    for name, flags in too_large.items():
        values = values.append_column(name + BEYOND, pa.array(flags))
    return values


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

    @property
    def true(self) -> Ints:
        return whole_numbers(self.found[TRUE])

    def halves(self) -> tuple[Ints, Ints]:
        return carried(whole_numbers(self.found[HIGH]), whole_numbers(self.found[LOW]))

    def whole(self) -> Ints:
        """A sum of whole numbers; an error if it leaves the range of LONG."""
        high, low = self.halves()
        if overflows(high).any():
            raise overflow(self.aggregate)
        return as_long(high, low)

    def exact(self) -> Floats:
        return rounded(self.found[EXACT])

    def scaled(self, values: Ints) -> Ints:
        return values if self.factors is None else scaled(self.aggregate, values, self.factors)


def overflowing(aggregate: Aggregate, parts: pa.Table) -> Bools:
    """Where a sum of whole numbers leaves the range of LONG."""
    halves = (whole_numbers(column(parts, aggregate.column(kind))) for kind in (HIGH, LOW))
    return overflows(carried(*halves)[0])


def scaled(aggregate: Aggregate, values: Ints, factors: Floats) -> Ints:
    """Whole numbers times factors; where a factor is 1 the number itself: a double does not hold every LONG."""
    unscaled = factors == 1.0
    products = np.rint(np.where(unscaled, 0.0, values * factors))
    if np.any(np.abs(products) >= LONG_LIMIT):
        raise overflow(aggregate)
    return np.where(unscaled, values, products.astype(np.int64))


def overflow(aggregate: Aggregate) -> PresageError:
    """The error of a whole number that leaves the range of LONG."""
    shown = aggregate.shown or aggregate.output
    fix = aggregate.definition.overflow_fix(shown)
    return error("ARITHMETIC_OVERFLOW", what=f"{aggregate.function}({shown})", type="LONG", fix=fix)
