"""stddev: the standard deviation of a sample, a DOUBLE; null below two values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presage.functions.aggregates.aggregate import AggregateFunction, register_aggregate
from presage.functions.aggregates.parts import COUNT, EXACT, EXACT_SQUARES

if TYPE_CHECKING:
    import pyarrow as pa

    from presage.arrays.aggregate_engine import AggregateColumn, AggregateEngine
    from presage.arrays.columns import Values


class Stddev(AggregateFunction):
    name = "stddev"
    says = "the sample standard deviation, as a DOUBLE; null for fewer than two values"
    numeric = True

    def evaluate(self, column: AggregateColumn, name: str, values: Values, engine: AggregateEngine) -> pa.Array:
        import numpy as np

        from presage.arrays.columns import with_nulls

        # NaN while one of the values is not finite.
        count, squares = engine.spread(name, values)
        return with_nulls(np.sqrt(squares / np.maximum(count - 1, 1)), count > 1)

    def parts(self, integral: bool) -> tuple[str, ...]:
        return (COUNT, EXACT, EXACT_SQUARES)

    def finish(self, merged: Any) -> pa.Array:
        from presage.arrays.columns import with_nulls
        from presage.arrays.exact_sums import deviations

        found = deviations(merged.count, merged.found[EXACT], merged.found[EXACT_SQUARES])
        return with_nulls(found, merged.count > 1)

    def catalyst(self, call: Any, value: Any, place: Any) -> Any:
        from presage.functions.catalyst.sorted_doubles import deviation, sorted_doubles

        return deviation(sorted_doubles(call, value))

    def over(self, call: Any, value: Any) -> Any:
        from pyspark.sql import functions as F

        return F.stddev_samp(value)


register_aggregate(Stddev())
