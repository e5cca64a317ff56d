"""avg: the mean, a DOUBLE, or a DECIMAL of decimals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presage.functions.aggregates.aggregate import COUNTS_ONCE, AggregateFunction, register_aggregate
from presage.functions.aggregates.parts import sum_parts
from presage.model.decimals import avg_of
from presage.model.types import DataType, DecimalOf, is_integral

if TYPE_CHECKING:
    import pyarrow as pa

    from presage.arrays.aggregate_engine import AggregateColumn, AggregateEngine
    from presage.arrays.columns import Values


class Avg(AggregateFunction):
    name = "avg"
    says = "the mean, as a DOUBLE; of decimals a DECIMAL with four digits more behind the point"
    exact = True
    distinct = COUNTS_ONCE
    numeric = True
    is_native = False
    instead_of_several = "a condition is written as CASE in it: avg(CASE WHEN c THEN x END)"

    def result(self, argument: DataType) -> DataType | str:
        return avg_of(argument) if isinstance(argument, DecimalOf) else super().result(argument)

    def evaluate(self, column: AggregateColumn, name: str, values: Values, engine: AggregateEngine) -> pa.Array:
        from presage.arrays.columns import with_nulls
        from presage.functions.aggregates.sums import as_double, decimal_sum, divided, doubles, halves

        count = engine.count(name, values.valid)
        if values.is_decimal:
            return decimal_sum(name, values, engine).mean(count)
        integral = values.is_integral
        total = as_double(*halves(name, values, engine)) if integral else doubles(name, values, engine)
        return with_nulls(divided(total, count), count > 0)

    def parts(self, integral: bool) -> tuple[str, ...]:
        return sum_parts(integral)

    def finish(self, merged: Any) -> pa.Array:
        from presage.arrays.columns import with_nulls
        from presage.functions.aggregates.sums import as_double, divided

        total = as_double(*merged.halves()) if merged.is_integral else merged.exact()
        return with_nulls(divided(total, merged.count), merged.count > 0)

    def catalyst(self, call: Any, value: Any, place: Any) -> Any:
        from pyspark.sql import functions as F

        from presage.functions.catalyst.sorted_doubles import mean, sorted_doubles

        if not is_integral(call.arg.type):
            return mean(sorted_doubles(call, value))
        exact = (F.sum_distinct if call.distinct else F.sum)(value.cast("decimal(19,0)")).cast("double")
        return exact / F.nullif((F.count_distinct if call.distinct else F.count)(value), F.lit(0))

    def over(self, call: Any, value: Any) -> Any:
        from pyspark.sql import functions as F

        return (F.try_avg if isinstance(call.type, DecimalOf) else F.avg)(value)


register_aggregate(Avg())
