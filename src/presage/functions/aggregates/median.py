"""median: the value in the middle, a DOUBLE: of two the mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presage.functions.aggregates.aggregate import AggregateFunction, register_aggregate

if TYPE_CHECKING:
    import pyarrow as pa

    from presage.arrays.aggregate_engine import AggregateColumn, AggregateEngine
    from presage.arrays.columns import Values


class Median(AggregateFunction):
    name = "median"
    says = "the value in the middle, a DOUBLE: of two the mean"
    numeric = True
    keeps_values = True

    def evaluate(self, column: AggregateColumn, name: str, values: Values, engine: AggregateEngine) -> pa.Array:
        import numpy as np

        from presage.arrays.columns import with_nulls

        low, high, present = engine.middle(values)
        with np.errstate(invalid="ignore"):  # half of infinity and half of minus infinity: NaN, as in Spark
            between = 0.5 * low + 0.5 * high
        return with_nulls(np.where(low == high, low, between), present)

    def catalyst(self, call: Any, value: Any, place: Any) -> Any:
        from pyspark.sql import functions as F

        return F.median(value)


register_aggregate(Median())
