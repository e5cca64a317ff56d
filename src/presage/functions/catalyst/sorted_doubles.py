"""Aggregates of doubles in Spark that do not depend on the order of rows: over the sorted values of a group."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from presage.plan.expr import AggregateCall


def sorted_doubles(call: AggregateCall, value: Column) -> Column:
    """The values of a group as sorted doubles, for aggregates that cannot be merged from parts."""
    return F.sort_array((F.collect_set if call.distinct else F.collect_list)(value.cast("double")))


def sorted_pairs(value: Column) -> Column:
    """The pairs of a group without a null, as sorted structs of two doubles."""
    return F.sort_array(F.collect_list(F.when(value["x1"].isNotNull() & value["x2"].isNotNull(), value)))


def total(values: Column) -> Column:
    return F.when(F.size(values) > 0, F.aggregate(values, F.lit(0.0), lambda added, x: added + x))


def mean(values: Column) -> Column:
    return total(values) / F.size(values)


def deviation(values: Column) -> Column:
    def squares(middle: Column) -> Column:
        return F.aggregate(values, F.lit(0.0), lambda added, x: added + (x - middle) * (x - middle))

    # Inside of an array of one, the mean is computed once, not for every value.
    squared = F.transform(F.array(mean(values)), squares)[0]
    return F.when(F.size(values) > 1, F.sqrt(squared / (F.size(values) - 1)))


def correlation(pairs: Column, least: float) -> Column:
    """`least`: the least product of two sums of squares that has an exact root."""

    def distances(middles: Column) -> Column:
        """The sums of the squared distances from both means, and of their products."""
        start = F.struct(*(F.lit(0.0).alias(name) for name in ("xx", "yy", "xy")))

        def added(sums: Column, pair: Column) -> Column:
            x, y = pair["x1"] - middles["x"], pair["x2"] - middles["y"]
            return F.struct(
                (sums["xx"] + x * x).alias("xx"), (sums["yy"] + y * y).alias("yy"), (sums["xy"] + x * y).alias("xy")
            )

        return F.aggregate(pairs, start, added)

    def quotient(sums: Column) -> Column:
        both = sums["xx"] * sums["yy"]
        exact = (both > least) & (both < float("inf"))
        root = F.sqrt(F.when(exact, both).otherwise(sums["xx"]))
        found = sums["xy"] / root / F.when(exact, F.lit(1.0)).otherwise(F.sqrt(sums["yy"]))
        bounded = F.when(F.isnan(found), found).otherwise(F.greatest(F.least(found, F.lit(1.0)), F.lit(-1.0)))
        return F.when((sums["xx"] != 0.0) & (sums["yy"] != 0.0), bounded)

    # Inside of an array of one, a value is computed once.
    middles = F.struct(mean(pairs["x1"]).alias("x"), mean(pairs["x2"]).alias("y"))
    found = F.transform(F.transform(F.array(middles), distances), quotient)[0]
    return F.when(F.size(pairs) > 1, found)
