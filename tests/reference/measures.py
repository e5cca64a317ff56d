"""Slow, obvious twin of the measures: rows as dicts, the spec and the matches come in, a dict per output row goes out.

Written from the definitions, for one output row after the other. Programs of aggregates are given as Python functions.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from presage.operators.match.kernel.matches import Matches
from presage.operators.match.kernel.spec import Fold, MatchSpec, Measure, Place
from presage.operators.windows.kernel.spec import Aggregate
from reference.window_aggregates import apply

Row = dict[str, Any]
Program = Callable[[list[Row | None]], Any]  # the rows at the fold's places -> the argument
KEEPS_NULLS = ("first", "last", "array_agg", "max_by", "min_by")


@dataclass(frozen=True)
class View:
    """A row of a match, from which a measure is seen: `rows` and `labels` are those of the whole match."""

    table: list[Row]
    rows: list[int]
    labels: list[int]
    partition: range
    row: int
    at: int

    def seen(self, final: bool) -> list[tuple[int, int]]:
        """Rows with their labels that count here."""
        pairs = list(zip(self.rows, self.labels, strict=True))
        return pairs if final else pairs[: self.at]


def measured(
    spec: MatchSpec, table: list[Row], matches: Matches, programs: dict[int, Program] | None = None
) -> list[Row]:
    out = []
    for match, row, at in zip(matches.out_match, matches.out_row, matches.out_at, strict=True):
        if match < 0:
            out.append({m.output: None for m in spec.measures})
            continue
        start, length = int(matches.starts[match]), int(matches.lengths[match])
        view = View(
            table,
            list(range(start, start + length)),
            [int(label) for label in matches.labels[matches.offsets[match] : matches.offsets[match + 1]]],
            range(int(matches.partition_begin[match]), int(matches.partition_end[match])),
            int(row),
            int(at),
        )
        number = int(matches.numbers[match]) or None
        out.append({m.output: measure(spec, m, view, number, programs or {}) for m in spec.measures})
    return out


def measure(spec: MatchSpec, asked: Measure, view: View, number: int | None, programs: dict[int, Program]) -> Any:
    if asked.match_number:
        return number
    if asked.fold is not None:
        return folded(asked.fold, view, len(spec.automaton.variables), programs)
    assert asked.place is not None
    row = row_at(asked.place, view)
    if row is None:
        return None
    if asked.column is not None:
        return view.table[row][asked.column]
    label = dict(zip(view.rows, view.labels, strict=True)).get(row)
    return None if label is None else spec.automaton.variables[label]


def row_at(place: Place, view: View) -> int | None:
    if place.current:
        found = [view.row] if view.at > 0 else []
    else:
        found = [row for row, label in view.seen(place.final) if place.labels is None or label in place.labels]
        found = found[place.offset :][:1] if place.first else found[::-1][place.offset :][:1]
    if not found:
        return None
    row = found[0] + place.moved
    return row if row in view.partition else None


# -- aggregates ---------------------------------------------------------------------------------------


def folded(fold: Fold, view: View, variables: int, programs: dict[int, Program]) -> Any:
    labels = list(range(variables)) if fold.labels is None else list(fold.labels)
    seen = [(row, label, i + 1) for i, (row, label) in enumerate(view.seen(fold.final)) if label in labels]
    if not fold.columns and fold.program < 0:
        return len(seen)
    values = []
    for row, label, at in seen:
        if fold.program >= 0:
            there = View(view.table, view.rows, view.labels, view.partition, row, at)
            rows = [row_at(place, there) for place in fold.places]
            values.append(programs[fold.program]([None if r is None else view.table[r] for r in rows]))
        else:
            values.append(view.table[row][column_of(fold.columns, labels, label)])
    if fold.function in ("max_by", "min_by"):
        keys = [view.table[row][column_of(fold.by, labels, label)] for row, label, _ in seen]
        return by_key(values, keys, fold.function == "max_by")
    if fold.function in ("corr", "percentile", "count_if"):
        rows = [{"v": value} for value in values]
        return apply(Aggregate(fold.function, "v", "", constants=fold.constants), rows) if rows else empty(fold)
    return aggregate(fold.function, fold.distinct, values)


def empty(fold: Fold) -> Any:
    return 0 if fold.function == "count_if" else None


def column_of(columns: tuple[str, ...], labels: list[int], label: int) -> str:
    return columns[0] if len(columns) == 1 else columns[labels.index(label)]


def rank(value: Any) -> Any:
    """Sort key: NaN after everything, text by its bytes."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value


def same(value: Any) -> Any:
    """What two values have in common when they count as one: NaN is NaN, -0.0 is 0.0, null is null."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, dict):
        return tuple((name, same(field)) for name, field in value.items())
    return (type(value).__name__, value)


def by_key(values: list[Any], keys: list[Any], greatest: bool) -> Any:
    best = None
    for i, key in enumerate(keys):
        if key is None:
            continue
        if best is None or (rank(key) > rank(keys[best]) if greatest else rank(key) < rank(keys[best])):
            best = i
    return None if best is None else values[best]


def aggregate(function: str, distinct: bool, values: list[Any]) -> Any:
    if function not in KEEPS_NULLS:
        values = [v for v in values if v is not None]
    if distinct:
        once: dict[Any, Any] = {}
        for value in values:
            once.setdefault(same(value), value)
        values = list(once.values())
    if function == "count":
        return len(values)
    if not values:
        return None
    if function == "array_agg":
        return values
    if function in ("first", "any_value"):
        return values[0]
    if function == "last":
        return values[-1]
    if function == "min":
        return min(values, key=rank)
    if function == "max":
        return max(values, key=rank)
    if function == "median":
        ordered = sorted((float(v) for v in values), key=rank)
        low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
        return low if low == high else low / 2 + high / 2
    if function == "stddev":
        if len(values) < 2:
            return None
        return statistics.stdev(map(float, values)) if all(map(math.isfinite, values)) else math.nan
    return added(values) if function == "sum" else added(values) / len(values)


def added(values: list[Any]) -> Any:
    """From left to right: the sum of doubles is that of this order, no other."""
    total = 0.0 if isinstance(values[0], float) else 0
    for value in values:
        total += value
    return total
