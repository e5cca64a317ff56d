"""Slow, obvious twin of mergeable aggregates: rows as dicts in, the values of each key out, from all rows at once."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa

from presage.functions.aggregates.parts import COUNT, HIGH, LOW
from presage.operators.recall.partial import Aggregate
from reference.window_aggregates import key_of, rank, total

Row = dict[str, Any]


def no_parts(keys: pa.Table, aggregates: Sequence[Aggregate]) -> pa.Table:
    """Parts of no rows, for each key."""
    columns = {name: keys.column(name) for name in keys.column_names}
    for aggregate in aggregates:
        for kind, (name, data_type) in zip(aggregate.kinds, aggregate.partial_columns().items(), strict=True):
            zeros = pa.array([0] * keys.num_rows, pa.int64())
            columns[name] = zeros if kind in (COUNT, HIGH, LOW) else pa.nulls(keys.num_rows, data_type)
    return pa.table(columns)


def values_by_key(
    rows: list[Row], keys: tuple[str, ...], aggregates: Sequence[tuple[Aggregate, str | None]]
) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(key_of(row, keys), []).append(row)
    return {key: [value_of(a.function, name, group) for a, name in aggregates] for key, group in groups.items()}


def value_of(function: str, argument: str | None, rows: list[Row]) -> Any:
    """`rows` have "time" and "seq", which no two of them share."""
    if argument is None:
        return len(rows)
    ordered = sorted(rows, key=lambda row: (row["time"], row["seq"]))
    if function in ("first", "last"):
        return ordered[0 if function == "first" else -1][argument]
    values = [row[argument] for row in rows if row[argument] is not None]
    if function == "count":
        return len(values)
    return of_values(function, values) if values else None


def of_values(function: str, values: list[Any]) -> Any:
    """Of values that are not null: sums and means of doubles without a rounding in between."""
    if function == "sum":
        return total(values)
    if function == "avg":
        return float(total(values)) / len(values)
    if function in ("min", "max"):
        return (min if function == "min" else max)(values, key=rank)
    if len(values) < 2:
        return None
    if not all(map(math.isfinite, values)):
        return math.nan
    exact = [Fraction(float(value)) for value in values]
    try:
        return math.sqrt(statistics.variance(exact))
    except OverflowError:  # the variance is no double, though its root would be one
        return math.inf
