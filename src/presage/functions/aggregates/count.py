"""count: how many rows, or how many values that are not null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presage.functions.aggregates.aggregate import COUNTS_ONCE, AggregateFunction, register_aggregate
from presage.functions.aggregates.parts import COUNT
from presage.model.types import LONG, DataType

if TYPE_CHECKING:
    import pyarrow as pa

    from presage.arrays.aggregate_engine import AggregateColumn, AggregateEngine
    from presage.arrays.columns import Values


class Count(AggregateFunction):
    name = "count"
    says = "`count(*)`: the number of rows; `count(x)`: the number of values that are not null"
    distinct = COUNTS_ONCE
    takes_events = True
    counts_rows = True
    grows = True
    of_nothing = 0

    def result(self, argument: DataType) -> DataType | str:
        return LONG

    def evaluate(self, column: AggregateColumn, name: str, values: Values, engine: AggregateEngine) -> pa.Array:
        import pyarrow as pa

        return pa.array(engine.count(name, values.valid))

    def parts(self, integral: bool) -> tuple[str, ...]:
        return (COUNT,)

    def finish(self, merged: Any) -> pa.Array:
        import pyarrow as pa

        return pa.array(merged.scaled(merged.count))

    def catalyst(self, call: Any, value: Any, place: Any) -> Any:
        from pyspark.sql import functions as F

        return (F.count_distinct if call.distinct else F.count)(value)

    def over(self, call: Any, value: Any) -> Any:
        from pyspark.sql import functions as F

        return F.count(value)


register_aggregate(Count())
