"""Columns of aggregates over a window, and what its engines share.

An engine fits how events leave the window. The meaning of each aggregate is in `presage.functions.aggregates`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from presage.arrays.aggregate_engine import AggregateEngine as Engine
from presage.arrays.columns import Values, all_valid
from presage.arrays.jit import Ints
from presage.arrays.order_keys import GREATEST, keys_of
from presage.functions.aggregates import COUNTS_ONCE, aggregate_named
from presage.operators.windows.kernel.spec import Aggregate

__all__ = ["Engine", "aggregate_column", "aggregate_columns", "all_valid", "extreme_of", "keeps_values", "offsets_of"]


def aggregate_columns(
    aggregates: Sequence[Aggregate], values: Callable[[str], Values], engine: Engine
) -> list[pa.Array]:
    """The column of each aggregate. `values` gives those of an argument's column."""
    return [aggregate_column(each, i, values, engine) for i, each in enumerate(aggregates)]


def aggregate_column(
    aggregate: Aggregate, position: int, values_of: Callable[[str], Values], engine: Engine
) -> pa.Array:
    name = f"#{position}"  # of its accumulators in the state
    if aggregate.column is None:
        return pa.array(engine.count(name, None))
    values, function = values_of(aggregate.column), aggregate_named(aggregate.function)
    if function.numeric and pa.types.is_null(values.array.type):
        values = Values(values.array.cast(pa.float64()))
    if aggregate.distinct and function.distinct == COUNTS_ONCE:
        engine, values = engine.distinct(name, values)
    return function.evaluate(aggregate, name, values, engine)


def keeps_values(aggregate: Aggregate) -> bool:
    """Whether it reads every value again when nothing leaves the window."""
    return aggregate_named(aggregate.function).keeps_values


def extreme_of(values: Values, greatest: bool, count: Ints, least: Callable[[Ints], Ints]) -> pa.Array:
    """The greatest key is the one with the least complement: a complement cannot overflow as a minus can."""
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
