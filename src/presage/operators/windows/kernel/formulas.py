"""The column of one aggregate over a window, by the engine that fits how events leave it.

The meaning of each aggregate stands in `presage.functions.aggregates`, in a module of its own.
"""

from __future__ import annotations

import pyarrow as pa

from presage.arrays.columns import Values
from presage.functions.aggregates import COUNTS_ONCE, aggregate_named
from presage.operators.windows.kernel.engine import Engine
from presage.operators.windows.kernel.spec import Aggregate


def evaluate(aggregate: Aggregate, name: str, values: Values | None, engine: Engine) -> pa.Array:
    """The column of one aggregate. `values` is None for count(*); `name` is the aggregate's own in the state."""
    if values is None:
        return pa.array(engine.count(name, None))
    function = aggregate_named(aggregate.function)
    if function.numeric and pa.types.is_null(values.array.type):
        values = Values(values.array.cast(pa.float64()))
    if aggregate.distinct and function.distinct == COUNTS_ONCE:
        engine, values = engine.distinct(name, values)
    return function.evaluate(aggregate, name, values, engine)


def keeps_values(aggregate: Aggregate) -> bool:
    """Whether it needs every value again when nothing leaves the window."""
    return aggregate_named(aggregate.function).keeps_values
