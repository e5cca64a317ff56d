"""Aggregates of doubles in Spark that do not depend on the order of rows: over the sorted values of a group."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from presage.plan.expr import AggregateCall


def sorted_doubles(call: AggregateCall, value: Column) -> Column:
    """The values of a group as sorted doubles, for aggregates that cannot be merged from parts."""
    return F.sort_array((F.collect_set if call.distinct else F.collect_list)(value.cast("double")))


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
