"""min: the least value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presage.functions.aggregates.aggregate import IDLE, AggregateFunction, register_aggregate
from presage.functions.aggregates.parts import LEAST
from presage.model.types import DataType, Scalar

if TYPE_CHECKING:
    import pyarrow as pa

    from presage.arrays.aggregate_engine import AggregateColumn, AggregateEngine
    from presage.arrays.columns import Values


class Min(AggregateFunction):
    name = "min"
    says = "the least value"
    distinct = IDLE
    greatest, part = False, LEAST
    instead_of_several = "least(a, b) is the least of several values, without those that are null"

    def result(self, argument: DataType) -> DataType | str:
        return argument if isinstance(argument, Scalar) else "a number, text, time or truth value"

    def evaluate(self, column: AggregateColumn, name: str, values: Values, engine: AggregateEngine) -> pa.Array:
        return engine.extreme(name, values, self.greatest)

    def parts(self, integral: bool) -> tuple[str, ...]:
        return (self.part,)

    def finish(self, merged: Any) -> pa.Array:
        return merged.found[self.part]

    def catalyst(self, call: Any, value: Any, place: Any) -> Any:
        return self.over(call, value)

    def over(self, call: Any, value: Any) -> Any:
        from pyspark.sql import functions as F

        return (F.max if self.greatest else F.min)(value)


register_aggregate(Min())
