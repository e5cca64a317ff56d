"""Partial aggregates over chunks of history, and their merge.

A row of a table of parts has the key (the event, then the columns of GROUP BY) and the partial columns of every
aggregate. Equal keys are those of SQL's GROUP BY: null equals null, NaN equals NaN, 0.0 equals -0.0. The merge is
associative and does not depend on the order: sums of doubles are exact. `finish` computes values from the parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.codes import first_of
from presage.arrays.columns import Values, column, plain, take, with_nulls
from presage.arrays.equality import equality_codes
from presage.arrays.exact_sums import LISTS, merged_sums, repeated, sums_of
from presage.arrays.jit import Ints
from presage.arrays.order_keys import GREATEST, keys_of
from presage.arrays.rows import lexical_order
from presage.functions.aggregates import AggregateFunction, aggregate_named
from presage.functions.aggregates.parts import (
    COUNT,
    EXACT,
    EXACT_SQUARES,
    GREATEST_VALUE,
    HIGH,
    LEAST,
    LOW,
    SEQ,
    TIME,
    TRUE,
    VALUE,
)
from presage.model import types as t
from presage.model.arrow import to_arrow
from presage.model.types import DataType


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a recall. `type` is that of the argument (None: count(*)); `shown` is the argument in errors."""

    function: str
    output: str
    type: DataType | None = None
    shown: str = ""

    @property
    def definition(self) -> AggregateFunction:
        return aggregate_named(self.function)

    @property
    def is_integral(self) -> bool:
        return self.type is not None and t.is_integral(self.type)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its partial columns. A count is of values that are not null; without an argument, of rows."""
        return self.definition.parts(self.is_integral)

    @property
    def adds_doubles(self) -> bool:
        return EXACT in self.kinds

    @property
    def by_parts(self) -> bool:
        """Whether it is computed from parts even over all rows: Spark would round, or does not have it."""
        return self.adds_doubles or not self.definition.is_native

    @property
    def result_type(self) -> DataType:
        result = t.LONG if self.type is None else self.definition.result(self.type)
        assert isinstance(result, DataType)
        return result

    def column(self, kind: str) -> str:
        return f"{self.output}.{kind}"

    def partial_columns(self) -> dict[str, pa.DataType]:
        """Names and types of the partial columns. In each of them null means no value."""
        return {self.column(kind): self._kind_type(kind) for kind in self.kinds}

    def _kind_type(self, kind: str) -> pa.DataType:
        if kind in (EXACT, EXACT_SQUARES):
            return LISTS
        return to_arrow(self.type or t.NULL) if kind in (LEAST, GREATEST_VALUE, VALUE) else pa.int64()


def parts_of(
    rows: pa.Table, keys: Sequence[str], aggregates: Sequence[tuple[Aggregate, str | None]], time: str, seq: str
) -> pa.Table:
    """Parts of plain rows. Each aggregate comes with the column of its argument (None: count(*))."""
    columns = {name: column(rows, name) for name in keys}
    for aggregate, argument in aggregates:
        values = None if argument is None else column(rows, argument).cast(to_arrow(aggregate.type or t.NULL))
        for kind in aggregate.kinds:
            columns[aggregate.column(kind)] = _one_row_each(kind, values, rows, time, seq)
    return merge_parts([pa.table(columns)], keys, [aggregate for aggregate, _ in aggregates])


def _one_row_each(kind: str, array: pa.Array | None, rows: pa.Table, time: str, seq: str) -> pa.Array:
    if kind in (TIME, SEQ):
        return column(rows, time if kind == TIME else seq).cast(pa.int64())
    if array is None:
        return pa.array(np.ones(rows.num_rows, np.int64))
    if kind in (LEAST, GREATEST_VALUE, VALUE):
        return array
    if kind == TRUE:
        return array.cast(pa.bool_()).fill_null(False).cast(pa.int64())
    if kind == COUNT:
        return array.is_valid().cast(pa.int64())
    if kind in (HIGH, LOW):
        return pa.array(Values(array).halves[0 if kind == HIGH else 1])
    return pa.array(Values(array).floats)  # the merge adds them up


def merge_parts(tables: Sequence[pa.Table], keys: Sequence[str], aggregates: Sequence[Aggregate]) -> pa.Table:
    """One row for each key, in order of first appearance. A table may have a key any number of times."""
    names = [*keys, *(name for aggregate in aggregates for name in aggregate.partial_columns())]
    whole = pa.concat_tables([_plain(table.select(names)) for table in tables], promote_options="permissive")
    codes, groups = equality_codes([whole.column(name) for name in keys], whole.num_rows)
    first = first_of(codes, groups)
    columns = {name: _normal(take(column(whole, name), first)) for name in keys}
    for aggregate in aggregates:
        columns |= _Merge(whole, codes, groups, aggregate).columns()
    return pa.table(columns)


def _plain(table: pa.Table) -> pa.Table:
    return pa.table({name: plain(table.column(name)) for name in table.column_names})


def _normal(key: pa.Array) -> pa.Array:
    """-0.0 becomes 0.0, so that the key does not depend on which of two equal ones came first."""
    return pc.add(key, pa.scalar(0.0, key.type)) if pa.types.is_floating(key.type) else key


class _Merge:
    """The partial columns of one aggregate, with one row for each code."""

    def __init__(self, table: pa.Table, codes: Ints, groups: int, aggregate: Aggregate) -> None:
        self.codes, self.groups, self.aggregate = codes, groups, aggregate
        self.arrays = {}
        for kind, data_type in zip(aggregate.kinds, aggregate.partial_columns().values(), strict=True):
            array = column(table, aggregate.column(kind))
            self.arrays[kind] = array if pa.types.is_floating(array.type) else array.cast(data_type)

    def columns(self) -> dict[str, pa.Array]:
        if TIME in self.arrays:
            merged = self._outermost(self.aggregate.definition.newest)
        else:
            merged = {kind: self._merged(kind) for kind in self.arrays}
        return {self.aggregate.column(kind): array for kind, array in merged.items()}

    def _merged(self, kind: str) -> pa.Array:
        if kind in (LEAST, GREATEST_VALUE):
            return self._extreme(self.arrays[kind], kind == GREATEST_VALUE)
        if kind in (EXACT, EXACT_SQUARES):
            return self._exact(self.arrays[kind], kind == EXACT_SQUARES)
        totals = np.zeros(self.groups, np.int64)
        np.add.at(totals, self.codes, whole_numbers(self.arrays[kind]))
        return pa.array(totals)

    def _exact(self, array: pa.Array, squares: bool) -> pa.Array:
        """The sums of sums, or of values where the parts are plain rows."""
        if pa.types.is_floating(array.type):
            return sums_of(self.codes, self.groups, Values(array).floats, squares)
        return merged_sums(self.codes, self.groups, array)

    def _extreme(self, array: pa.Array, greatest: bool) -> pa.Array:
        keys = keys_of(array, self.aggregate.function)
        valid = array.is_valid().to_numpy(zero_copy_only=False).astype(np.bool_)
        rows = np.flatnonzero(valid)
        least = np.full(self.groups, GREATEST, np.int64)
        np.minimum.at(least, self.codes[rows], ~keys.keys[rows] if greatest else keys.keys[rows])
        present = np.bincount(self.codes[rows], minlength=self.groups) > 0
        return keys.restore(~least if greatest else least, present)

    def _outermost(self, last: bool) -> dict[str, pa.Array]:
        """The row of least or greatest (time, seq); a row without a time means no rows."""
        timed = np.flatnonzero(self.arrays[TIME].is_valid().to_numpy(zero_copy_only=False))
        keys = (self.codes, whole_numbers(self.arrays[TIME]), whole_numbers(self.arrays[SEQ]))
        order = timed[lexical_order([each[timed] for each in keys])]
        codes = self.codes[order]
        chosen = np.full(self.groups, -1, np.int64)
        if last:
            chosen[codes] = order  # of several assignments the last one holds
        else:
            chosen[codes[::-1]] = order[::-1]
        rows = with_nulls(np.maximum(chosen, 0), chosen >= 0)
        return {kind: array.take(rows) for kind, array in self.arrays.items()}


def whole_numbers(array: pa.Array) -> Ints:
    """The numbers, with null as 0."""
    values: Ints = (array.fill_null(0) if array.null_count else array).to_numpy(zero_copy_only=False)
    return values


def of_older_version(parts: pa.Table, aggregates: Sequence[Aggregate]) -> pa.Table:
    """Parts in the current format. Older states have sums, means and squared distances from the mean as doubles."""
    rows = np.arange(parts.num_rows)
    for aggregate in aggregates:
        if not aggregate.adds_doubles or aggregate.column(EXACT) in parts.column_names:
            continue
        squared = EXACT_SQUARES in aggregate.kinds
        names = ("mean", "squares") if squared else ("sum",)
        older = [aggregate.column(name) for name in names]
        doubles = [Values(column(parts, name)).floats for name in older]
        if squared:
            count = whole_numbers(column(parts, aggregate.column(COUNT)))
            of_mean = repeated(count, doubles[0], squares=True)
            of_distances = sums_of(rows, len(rows), np.sqrt(doubles[1]), squares=True)
            both = merged_sums(np.tile(rows, 2), len(rows), pa.concat_arrays([of_mean, of_distances]))
            exact = {EXACT: repeated(count, doubles[0]), EXACT_SQUARES: both}
        else:
            exact = {EXACT: sums_of(rows, len(rows), doubles[0])}
        for kind, array in exact.items():
            parts = parts.append_column(aggregate.column(kind), array)
        parts = parts.drop_columns(older)
    # In the order of the merge.
    partial = [name for aggregate in aggregates for name in aggregate.partial_columns()]
    ordered = [*(name for name in parts.column_names if name not in partial), *partial]
    return parts.select(ordered) if parts.column_names != ordered else parts
