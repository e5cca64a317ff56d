"""first: the value of the oldest event, null too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presage.functions.aggregates.aggregate import AggregateFunction, register_aggregate
from presage.functions.aggregates.parts import SEQ, TIME, VALUE

if TYPE_CHECKING:
    import pyarrow as pa

    from presage.arrays.aggregate_engine import AggregateColumn, AggregateEngine
    from presage.arrays.columns import Values


class First(AggregateFunction):
    name = "first"
    says = "the value of the oldest event, which may be null"
    takes_events = True
    ordered = True

    def evaluate(self, column: AggregateColumn, name: str, values: Values, engine: AggregateEngine) -> pa.Array:
        return engine.first(name, values)

    def parts(self, integral: bool) -> tuple[str, ...]:
        return (TIME, SEQ, VALUE)

    def finish(self, merged: Any) -> pa.Array:
        return merged.found[VALUE]

    def catalyst(self, call: Any, value: Any, place: Any) -> Any:
        from pyspark.sql import functions as F

        # In a struct: a null is a value here, and not skipped.
        return (F.max_by if self.newest else F.min_by)(F.struct(value.alias("v")), place)["v"]


register_aggregate(First())
