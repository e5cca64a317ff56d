"""last: the value of the newest event, null too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presage.functions.aggregates.aggregate import register_aggregate
from presage.functions.aggregates.first import First

if TYPE_CHECKING:
    import pyarrow as pa

    from presage.arrays.aggregate_engine import AggregateColumn, AggregateEngine
    from presage.arrays.columns import Values


class Last(First):
    name = "last"
    says = "the value of the newest event, which may be null"
    newest = True

    def evaluate(self, column: AggregateColumn, name: str, values: Values, engine: AggregateEngine) -> pa.Array:
        return engine.last(name, values)


register_aggregate(Last())
