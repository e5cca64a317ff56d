"""window: the values of all events as an array, nulls too, in order of arrival."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presage.functions.aggregates.aggregate import AggregateFunction, register_aggregate
from presage.model.types import ArrayOf, DataType

if TYPE_CHECKING:
    import pyarrow as pa

    from presage.arrays.aggregate_engine import AggregateColumn, AggregateEngine
    from presage.arrays.columns import Values


class Window(AggregateFunction):
    name = "window"
    says = "an array of the values of all events, nulls included, in order of arrival"
    takes_events = True
    ordered = True
    keeps_values = True

    def result(self, argument: DataType) -> DataType | str:
        return ArrayOf(argument)

    def evaluate(self, column: AggregateColumn, name: str, values: Values, engine: AggregateEngine) -> pa.Array:
        return engine.lists(values)

    def catalyst(self, call: Any, value: Any, place: Any) -> Any:
        from pyspark.sql import functions as F

        listed = F.collect_list(F.struct(place.alias("place"), value.alias("v")))
        return F.transform(F.sort_array(listed), lambda each: each["v"])


register_aggregate(Window())
