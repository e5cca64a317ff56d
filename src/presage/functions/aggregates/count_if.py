"""count_if: how many rows there are of which a condition is true."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presage.functions.aggregates.aggregate import AggregateFunction, register_aggregate
from presage.functions.aggregates.parts import TRUE
from presage.model.types import BOOLEAN, LONG, NULL, DataType

if TYPE_CHECKING:
    import pyarrow as pa

    from presage.arrays.aggregate_engine import AggregateColumn, AggregateEngine
    from presage.arrays.columns import Values


class CountIf(AggregateFunction):
    name = "count_if"
    says = "`count_if(c)`: the number of rows for which the condition is true"
    grows = True
    of_nothing = 0

    def result(self, argument: DataType) -> DataType | str:
        return LONG if argument in (BOOLEAN, NULL) else "a condition"

    def evaluate(self, column: AggregateColumn, name: str, values: Values, engine: AggregateEngine) -> pa.Array:
        import pyarrow as pa

        from presage.arrays.columns import bools

        return pa.array(engine.count(name, bools(values.array.cast(pa.bool_()))))

    def parts(self, integral: bool) -> tuple[str, ...]:
        return (TRUE,)

    def finish(self, merged: Any) -> pa.Array:
        import pyarrow as pa

        return pa.array(merged.scaled(merged.true))

    def catalyst(self, call: Any, value: Any, place: Any) -> Any:
        return self.over(call, value)

    def over(self, call: Any, value: Any) -> Any:
        from pyspark.sql import functions as F

        return F.count_if(value)


register_aggregate(CountIf())
