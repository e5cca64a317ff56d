"""The aggregates of the language, one module each, in the order in which pages list them."""

# ruff: noqa: I001

from __future__ import annotations

import presage.functions.aggregates.count
import presage.functions.aggregates.count_if
import presage.functions.aggregates.sum
import presage.functions.aggregates.avg
import presage.functions.aggregates.min
import presage.functions.aggregates.max
import presage.functions.aggregates.stddev
import presage.functions.aggregates.median
import presage.functions.aggregates.percentile
import presage.functions.aggregates.corr
import presage.functions.aggregates.first
import presage.functions.aggregates.last
import presage.functions.aggregates.window
from presage.functions.aggregates.arguments import bound_arguments, check_count
from presage.functions.aggregates.aggregate import (
    COUNTS_ONCE,
    IDLE,
    REFUSED,
    AggregateFunction,
    ConstantArgument,
    aggregate_named,
    aggregates,
    is_aggregate,
    register_aggregate,
    resolve_aggregate,
)

__all__ = [
    "COUNTS_ONCE",
    "IDLE",
    "REFUSED",
    "AggregateFunction",
    "ConstantArgument",
    "aggregate_named",
    "aggregates",
    "bound_arguments",
    "check_count",
    "is_aggregate",
    "register_aggregate",
    "resolve_aggregate",
]
