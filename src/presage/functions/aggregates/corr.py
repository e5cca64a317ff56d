"""corr: Pearson's correlation of two numbers, over the rows in which neither is null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presage.functions.aggregates.aggregate import AggregateFunction, register_aggregate

if TYPE_CHECKING:
    import pyarrow as pa

    from presage.arrays.aggregate_engine import AggregateColumn, AggregateEngine
    from presage.arrays.columns import Values


# Below it a product of two doubles loses digits.
LEAST_PRODUCT = 1e-290


class Corr(AggregateFunction):
    name = "corr"
    says = (
        "`corr(x, y)`: Pearson's correlation over the rows in which neither is null, as a DOUBLE; null for fewer than "
        "two such rows, and if x or y is the same in all of them"
    )
    numeric = True
    values = 2
    is_native = False

    def evaluate(self, column: AggregateColumn, name: str, values: Values, engine: AggregateEngine) -> pa.Array:
        import numpy as np

        from presage.arrays.columns import Values, with_nulls

        x, y = map(Values, values.array.flatten())
        there = [each.valid for each in (x, y) if each.valid is not None]
        valid = np.logical_and.reduce(there) if there else np.ones(len(values.array), np.bool_)
        count, _, _, xx, yy, xy = engine.moments(name, x.floats, y.floats, valid).T
        with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
            # The root of a square is exact: corr(x, x) is 1. A product out of the range of doubles has no such root.
            both = xx * yy
            exact = (both > LEAST_PRODUCT) & np.isfinite(both)
            found = np.clip(np.where(exact, xy / np.sqrt(both), xy / np.sqrt(xx) / np.sqrt(yy)), -1.0, 1.0)
        return with_nulls(found, (count > 1) & (xx != 0.0) & (yy != 0.0))

    def catalyst(self, call: Any, value: Any, place: Any) -> Any:
        from presage.functions.catalyst.sorted_doubles import correlation, sorted_pairs

        return correlation(sorted_pairs(value), LEAST_PRODUCT)


register_aggregate(Corr())
