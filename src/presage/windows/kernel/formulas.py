"""An aggregate, its argument and an engine come in, the output column goes out: the meaning of each function.

All but first, last, window and count(*) skip nulls; over no value at all they are null (count: 0).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.arrays.columns import HIGH_BITS, LOW_MASK, Values, with_nulls
from presage.arrays.jit import Ints
from presage.errors import error
from presage.windows.kernel.engine import Engine
from presage.windows.kernel.spec import Aggregate

NUMERIC = frozenset({"sum", "avg", "stddev", "median"})
MOST_HIGH = 1 << 31  # a LONG is high * 2**32 + low with high in [-2**31, 2**31)


def evaluate(aggregate: Aggregate, name: str, values: Values | None, engine: Engine) -> pa.Array:
    """The column of one aggregate. `values` is None for count(*); `name` is the aggregate's own in the state."""
    function = aggregate.function
    if values is None:
        return pa.array(engine.count(name, None))
    if pa.types.is_null(values.array.type) and function in NUMERIC:
        values = Values(values.array.cast(pa.float64()))
    if aggregate.distinct and function in ("count", "sum", "avg"):
        engine, values = engine.distinct(name, values)
    if function == "count":
        return pa.array(engine.count(name, values.valid))
    if function in ("min", "max"):
        return engine.extreme(name, values, function == "max")
    if function == "first":
        return engine.first(name, values)
    if function == "last":
        return engine.last(name, values)
    if function == "window":
        return engine.lists(values)
    if function == "median":
        return _median(values, engine)
    if function == "stddev":
        return _stddev(name, values, engine)
    if function in ("sum", "avg"):
        return _sum_or_avg(aggregate, name, values, engine)
    raise error("INTERNAL", what=f"the kernels have no aggregate {function}")


def _sum_or_avg(aggregate: Aggregate, name: str, values: Values, engine: Engine) -> pa.Array:
    count = engine.count(name, values.valid)
    present = count > 0
    mean = aggregate.function == "avg"
    if not values.is_integral:
        # Adding zero: whether -0.0 is left of a sum of zeros would depend on how many empty slots were added.
        total = engine.sum(name + ".s", values.floats) + 0.0
        return with_nulls(_divided(total, count) if mean else total, present)
    high, low = values.halves
    high, low = engine.total(name + ".high", high), engine.total(name + ".low", low)
    high, low = high + (low >> HIGH_BITS), low & LOW_MASK
    if mean:
        return with_nulls(_divided(high * float(1 << HIGH_BITS) + low, count), present)
    if high.size and (high.max() >= MOST_HIGH or high.min() < -MOST_HIGH):
        shown = aggregate.shown or aggregate.column
        raise error(
            "ARITHMETIC_OVERFLOW",
            what=f"sum({shown})",
            type="LONG",
            fix=f"add up doubles: sum(CAST({shown} AS DOUBLE))",
        )
    return with_nulls((high << HIGH_BITS) + low, present)


def _divided(total: np.ndarray, count: Ints) -> np.ndarray:
    return np.asarray(total / np.maximum(count, 1))


def _stddev(name: str, values: Values, engine: Engine) -> pa.Array:
    """Of a sample: null below two values; NaN while one of them is not finite."""
    count, squares = engine.spread(name, values)
    return with_nulls(np.sqrt(squares / np.maximum(count - 1, 1)), count > 1)


def _median(values: Values, engine: Engine) -> pa.Array:
    low, high, present = engine.middle(values)
    with np.errstate(invalid="ignore"):  # half of infinity and half of minus infinity: NaN, as in Spark
        between = 0.5 * low + 0.5 * high
    return with_nulls(np.where(low == high, low, between), present)
