"""Groups and aggregates of a select in this process: from parts where they merge, else over the values of each group.

The values are those of Spark (`spark_aggregates`): sums of doubles are exact where all aggregates of a select merge
from parts, else they are added in the order of the values, as `functions.catalyst.sorted_doubles` does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.codes import first_of, last_of
from presage.arrays.columns import Values, all_valid, column, lists_of, take, with_nulls
from presage.arrays.equality import equality_codes, first_occurrences
from presage.arrays.jit import Bools, Floats, Ints
from presage.arrays.order_keys import GREATEST, float_keys, floats_of, keys_of
from presage.arrays.pair_moments import WIDTH
from presage.columnar.evaluate import Evaluator
from presage.columnar.order import order_ranks
from presage.functions.aggregates import COUNTS_ONCE
from presage.model.arrow import to_arrow
from presage.operators.recall.answers import ARRIVED, WHEN, aggregates_of
from presage.operators.recall.finish import finish, finish_in_range
from presage.operators.recall.nodes import Select
from presage.operators.recall.partial import Aggregate, merge_parts, parts_of
from presage.operators.recall.questions import EVENT, EVER
from presage.plan.expr import AggregateCall


@dataclass(frozen=True)
class Grouped:
    """The rows of FROM and WHERE: their keys, and the arguments of the aggregates. They are in order of time, where
    aggregates do not merge from parts."""

    table: pa.Table
    keys: tuple[str, ...]
    calls: tuple[tuple[AggregateCall, Aggregate, str | None], ...]


def parts_in(select: Select, rows: pa.Table, evaluator: Evaluator) -> pa.Table:
    """EVENT, the groups, and the partial columns of the aggregates."""
    grouped = groups_of(select, rows, evaluator)
    return parts_of(grouped.table, grouped.keys, [(one, name) for _, one, name in grouped.calls], WHEN, ARRIVED)


def groups_of(select: Select, rows: pa.Table, evaluator: Evaluator) -> Grouped:
    calls = [call.expr for call in select.calls if isinstance(call.expr, AggregateCall)]
    args = {f"x{i}": call.arg for i, call in enumerate(calls) if call.arg is not None}
    made = evaluator.columns([*(g.expr for g in select.groups), *args.values()], rows)
    columns = dict(zip([*(g.name for g in select.groups), *args], made, strict=True))
    table = pa.table({EVENT: rows[EVENT]} | columns | {name: _places(rows, name) for name in (WHEN, ARRIVED)})
    if not select.in_parts():
        order = np.lexsort((table[ARRIVED].to_numpy(), table[WHEN].to_numpy()))
        table = table.take(pa.array(order)).combine_chunks()
    names = [f"x{i}" if call.arg is not None else None for i, call in enumerate(calls)]
    return Grouped(
        table, (EVENT, *(g.name for g in select.groups)), tuple(zip(calls, aggregates_of(select), names, strict=True))
    )


def _places(rows: pa.Table, name: str) -> pa.Array:
    """Times or arrivals; a row of an outer join without an event comes first."""
    if name not in rows.column_names:
        return pa.array(np.zeros(rows.num_rows, np.int64))
    return column(rows, name).fill_null(-EVER)


def values_of(select: Select, grouped: Grouped, or_null: bool) -> pa.Table:
    """EVENT, the groups and the aggregates. `or_null`: a sum that leaves the range of LONG is null, and no error."""
    codes, groups = equality_codes([grouped.table[name] for name in grouped.keys], grouped.table.num_rows)
    merged = merge_parts([grouped.table], grouped.keys, ())
    exact = select.in_parts()
    for call, aggregate, argument in grouped.calls:
        if aggregate.kinds and (exact or not aggregate.adds_doubles):
            values = _from_parts(grouped, codes, call, aggregate, argument, or_null)
        else:
            values = _over_values(grouped, codes, groups, call, aggregate, argument)
        merged = merged.append_column(aggregate.output, values.cast(to_arrow(call.type)))
    return merged


def _from_parts(
    grouped: Grouped, codes: Ints, call: AggregateCall, aggregate: Aggregate, argument: str | None, or_null: bool
) -> pa.Array:
    rows = grouped.table
    if argument is not None and _counts_once(call, aggregate):
        both, _ = equality_codes([pa.chunked_array([pa.array(codes)]), rows[argument]], rows.num_rows)
        rows = rows.filter(pa.array(first_occurrences(both)))
    parts = parts_of(rows, grouped.keys, [(aggregate, argument)], WHEN, ARRIVED)
    return column((finish_in_range if or_null else finish)(parts, grouped.keys, [aggregate]), aggregate.output)


def _over_values(
    grouped: Grouped, codes: Ints, groups: int, call: AggregateCall, aggregate: Aggregate, argument: str | None
) -> pa.Array:
    assert argument is not None
    array = column(grouped.table, argument)
    if aggregate.definition.numeric and pa.types.is_null(array.type):
        array = array.cast(pa.float64())
    places, _ = equality_codes([grouped.table[WHEN], grouped.table[ARRIVED]], grouped.table.num_rows)
    engine, values = ValuesEngine(codes, groups, places), Values(array)
    if _counts_once(call, aggregate):
        engine, values = engine.distinct("", values)
    return aggregate.definition.evaluate(Called(argument, aggregate.shown, call.constants), "", values, engine)


def _counts_once(call: AggregateCall, aggregate: Aggregate) -> bool:
    return call.distinct and aggregate.definition.distinct == COUNTS_ONCE


@dataclass(frozen=True)
class Called:
    """As of `AggregateColumn`."""

    column: str | None
    shown: str
    constants: tuple[object, ...]


@dataclass(frozen=True)
class ValuesEngine:
    """The engine of aggregates over all values of each code. Rows are in order of time; `places` numbers their times
    and arrivals in that order."""

    codes: Ints
    groups: int
    places: Ints

    def count(self, name: str, valid: Bools | None) -> Ints:
        return self.total(name, np.ones(len(self.codes), np.int64) if valid is None else valid.astype(np.int64))

    def total(self, name: str, values: Ints) -> Ints:
        total = np.zeros(self.groups, np.int64)
        np.add.at(total, self.codes, values)
        return total

    def sum(self, name: str, values: Floats) -> Floats:
        return self._added(values, np.argsort(float_keys(values), kind="stable"))

    def _added(self, values: Floats, order: Ints) -> Floats:
        total = np.zeros(self.groups, np.float64)
        np.add.at(total, self.codes[order], values[order])
        return total

    def spread(self, name: str, values: Values) -> tuple[Ints, Floats]:
        count = self.count(name, values.valid)
        numbers = np.where(all_valid(values), values.floats, 0.0)
        with np.errstate(invalid="ignore"):
            mean = self.sum(name, numbers) / np.maximum(count, 1)
            distances = np.where(all_valid(values), numbers - mean[self.codes], 0.0)
            return count, self._added(distances * distances, np.argsort(float_keys(numbers), kind="stable"))

    def extreme(self, name: str, values: Values, greatest: bool) -> pa.Array:
        keys, valid = keys_of(values.array, "max" if greatest else "min"), all_valid(values)
        least = np.full(self.groups, GREATEST, np.int64)
        np.minimum.at(least, self.codes[valid], (~keys.keys if greatest else keys.keys)[valid])
        return keys.restore(~least if greatest else least, self.count(name, valid) > 0)

    def first(self, name: str, values: Values) -> pa.Array:
        return take(values.array, first_of(self.codes, self.groups))

    def last(self, name: str, values: Values) -> pa.Array:
        return take(values.array, last_of(self.codes, self.groups))

    def lists(self, values: Values) -> pa.Array:
        # Of rows with one time and arrival, which a join makes, the values are in their own order.
        order = np.lexsort((order_ranks(values.array), self.places, self.codes))
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(self.codes, minlength=self.groups))))
        return lists_of(values.array, offsets, order)

    def moments(self, name: str, x: Floats, y: Floats, valid: Bools) -> Floats:
        order = np.lexsort((float_keys(y), float_keys(x)))
        order = order[valid[order]]
        count = self.count(name, valid)
        made = np.zeros((self.groups, WIDTH))
        with np.errstate(invalid="ignore"):
            means = [self._added(each, order) / np.maximum(count, 1) for each in (x, y)]
            dx, dy = (each - mean[self.codes] for each, mean in zip((x, y), means, strict=True))
            sums = [self._added(each, order) for each in (dx * dx, dy * dy, dx * dy)]
        made[:] = np.stack([count, *means, *sums], axis=1)
        return made

    def quantile(self, values: Values, share: float) -> tuple[Floats, Floats, Floats, Bools]:
        keys, rows = float_keys(values.floats), np.flatnonzero(all_valid(values))
        ranked = np.append(floats_of(keys[rows[np.lexsort((keys[rows], self.codes[rows]))]]), 0.0)
        counts = np.bincount(self.codes[rows], minlength=self.groups)
        start = np.cumsum(counts) - counts
        place = np.maximum(counts - 1, 0) * share
        below = place.astype(np.int64)
        above = np.minimum(below + 1, np.maximum(counts - 1, 0))
        return ranked[start + below], ranked[start + above], place - below, counts > 0

    def distinct(self, name: str, values: Values) -> tuple[ValuesEngine, Values]:
        columns = [pa.chunked_array([pa.array(self.codes)]), pa.chunked_array([values.array])]
        codes, _ = equality_codes(columns, len(self.codes))
        rows = np.arange(len(self.codes), dtype=np.int64)
        return self, Values(values.array.take(with_nulls(rows, first_occurrences(codes))))
