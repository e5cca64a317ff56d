"""sum: the values added up; a LONG for integers, a DECIMAL for decimals, else a DOUBLE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presage.errors import error
from presage.functions.aggregates.aggregate import COUNTS_ONCE, AggregateFunction, register_aggregate
from presage.functions.aggregates.parts import sum_parts
from presage.model.decimals import sum_of
from presage.model.types import LONG, DataType, DecimalOf, is_integral

if TYPE_CHECKING:
    import pyarrow as pa

    from presage.arrays.aggregate_engine import AggregateColumn, AggregateEngine
    from presage.arrays.columns import Values


class Sum(AggregateFunction):
    name = "sum"
    says = "the sum; a LONG for integers, a DECIMAL with ten digits more for decimals, else a DOUBLE"
    exact = True
    distinct = COUNTS_ONCE
    numeric = True
    grows = True
    instead_of_several = "a condition is written as CASE in it: sum(CASE WHEN c THEN x END)"

    def result(self, argument: DataType) -> DataType | str:
        if isinstance(argument, DecimalOf):
            return sum_of(argument)
        return LONG if is_integral(argument) else super().result(argument)

    def evaluate(self, column: AggregateColumn, name: str, values: Values, engine: AggregateEngine) -> pa.Array:
        from presage.arrays.columns import with_nulls
        from presage.functions.aggregates.sums import as_long, decimal_sum, doubles, halves, overflows

        present = engine.count(name, values.valid) > 0
        if values.is_decimal:
            return decimal_sum(name, values, engine).array(present)
        if not values.is_integral:
            return with_nulls(doubles(name, values, engine), present)
        high, low = halves(name, values, engine)
        if overflows(high).any():
            shown = column.shown or column.column or ""
            raise error("ARITHMETIC_OVERFLOW", what=f"sum({shown})", type="LONG", fix=self.overflow_fix(shown))
        return with_nulls(as_long(high, low), present)

    def parts(self, integral: bool) -> tuple[str, ...]:
        return sum_parts(integral)

    def finish(self, merged: Any) -> pa.Array:
        from presage.arrays.columns import with_nulls

        present = merged.count > 0
        if merged.is_integral:
            return with_nulls(merged.scaled(merged.whole()), present)
        total = merged.exact()
        return with_nulls(total if merged.factors is None else total * merged.factors, present)

    def catalyst(self, call: Any, value: Any, place: Any) -> Any:
        from presage.functions.catalyst.sorted_doubles import sorted_doubles, total

        return self.wide(call, value).try_cast("long") if call.type == LONG else total(sorted_doubles(call, value))

    def over(self, call: Any, value: Any) -> Any:
        from pyspark.sql import functions as F

        return (F.try_sum if isinstance(call.type, DecimalOf) else F.sum)(value)

    def may_overflow(self, result: DataType) -> bool:
        return result == LONG

    def wide(self, call: Any, value: Any) -> Any:
        from pyspark.sql import functions as F

        return (F.sum_distinct if call.distinct else F.sum)(value.cast("decimal(19,0)"))

    def overflow_fix(self, argument: str) -> str:
        return f"add up doubles: sum(CAST({argument} AS DOUBLE))"


register_aggregate(Sum())
