"""percentile: the value at a share of the sorted values, a DOUBLE; between two of them by a straight line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presage.functions.aggregates.aggregate import AggregateFunction, ConstantArgument, register_aggregate

if TYPE_CHECKING:
    import pyarrow as pa

    from presage.arrays.aggregate_engine import AggregateColumn, AggregateEngine
    from presage.arrays.columns import Values
    from presage.arrays.jit import Floats


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


class Percentile(AggregateFunction):
    name = "percentile"
    says = (
        "`percentile(x, p)`: the percentile *p*, a constant from 0 to 1, as a DOUBLE; interpolated linearly between "
        "two values"
    )
    numeric = True
    keeps_values = True
    constants: tuple[ConstantArgument, ...] = (ConstantArgument("a constant from 0 to 1", _is_share, 0.95),)

    def share(self, call: Any) -> float:
        return float(call.constants[0])

    def evaluate(self, column: AggregateColumn, name: str, values: Values, engine: AggregateEngine) -> pa.Array:
        import numpy as np

        from presage.arrays.columns import with_nulls

        low, high, weight, present = engine.quantile(values, self.share(column))
        with np.errstate(invalid="ignore", over="ignore"):
            between = self.between(low, high, weight)
        return with_nulls(np.where((low == high) | (weight == 0.0), low, between), present)

    def between(self, low: Floats, high: Floats, weight: Floats) -> Floats:
        """To the bit what Spark computes: NaN from minus infinity on."""
        return low + weight * (high - low)

    def catalyst(self, call: Any, value: Any, place: Any) -> Any:
        from pyspark.sql import functions as F

        return F.percentile(value, self.share(call))


register_aggregate(Percentile())
