"""Aggregates over parts of history: what a chunk delivers for each, and tables of it in, one merged table out.

A row of a table of parts has the key (the event, then the columns of GROUP BY) and the partial columns of every
aggregate. Equal keys are those of SQL's GROUP BY: null equals null, NaN equals NaN, 0.0 equals -0.0. Merging is
associative and does not depend on the order, up to the rounding of doubles. `finish` makes values of the parts.
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
from presage.arrays.jit import Floats, Ints
from presage.arrays.order_keys import GREATEST, keys_of
from presage.arrays.rows import lexical_order
from presage.model import types as t
from presage.model.arrow import to_arrow
from presage.model.types import DataType

# Others, and DISTINCT where it matters, are evaluated anew over all that is covered.
MERGEABLE = frozenset({"count", "sum", "avg", "min", "max", "stddev", "first", "last"})

# Kinds of partial columns. A LONG is high * 2**32 + low, so that no sum of parts overflows before the whole is known.
COUNT, SUM, HIGH, LOW = "count", "sum", "high", "low"
MEAN, SQUARES = "mean", "squares"  # squares: of the distances from the mean, added up
LEAST, GREATEST_VALUE = "least", "greatest"
TIME, SEQ, VALUE = "time", "seq", "value"  # of the first or last row, by (time, seq)


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a recall. `type` is that of the argument (None: count(*)); `shown` is the argument in errors."""

    function: str
    output: str
    type: DataType | None = None
    shown: str = ""

    @property
    def is_integral(self) -> bool:
        return self.type is not None and t.is_integral(self.type)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of its partial columns. A count is of the values that are not null; that of count(*), of the rows."""
        if self.function in ("sum", "avg"):
            return (COUNT, HIGH, LOW) if self.is_integral else (COUNT, SUM)
        return {
            "count": (COUNT,),
            "stddev": (COUNT, MEAN, SQUARES),
            "min": (LEAST,),
            "max": (GREATEST_VALUE,),
            "first": (TIME, SEQ, VALUE),
            "last": (TIME, SEQ, VALUE),
        }[self.function]

    @property
    def result_type(self) -> DataType:
        if self.function == "count":
            return t.LONG
        if self.function in ("sum", "avg", "stddev"):
            return t.LONG if self.function == "sum" and self.is_integral else t.DOUBLE
        return self.type or t.NULL

    def column(self, kind: str) -> str:
        return f"{self.output}.{kind}"

    def partial_columns(self) -> dict[str, pa.DataType]:
        """Names and types of what a chunk delivers. Null stands for no value at all, in each of them."""
        return {self.column(kind): self._kind_type(kind) for kind in self.kinds}

    def _kind_type(self, kind: str) -> pa.DataType:
        if kind in (SUM, MEAN, SQUARES):
            return pa.float64()
        return to_arrow(self.type or t.NULL) if kind in (LEAST, GREATEST_VALUE, VALUE) else pa.int64()


def parts_of(
    rows: pa.Table, keys: Sequence[str], aggregates: Sequence[tuple[Aggregate, str | None]], time: str, seq: str
) -> pa.Table:
    """Parts of plain rows. Beside each aggregate stands the column of its argument (None: count(*))."""
    made = {name: column(rows, name) for name in keys}
    for aggregate, argument in aggregates:
        values = None if argument is None else column(rows, argument).cast(to_arrow(aggregate.type or t.NULL))
        for kind in aggregate.kinds:
            made[aggregate.column(kind)] = _one_row_each(kind, values, rows, time, seq)
    return merge_parts([pa.table(made)], keys, [aggregate for aggregate, _ in aggregates])


def _one_row_each(kind: str, array: pa.Array | None, rows: pa.Table, time: str, seq: str) -> pa.Array:
    if kind in (TIME, SEQ):
        return column(rows, time if kind == TIME else seq).cast(pa.int64())
    if array is None:
        return pa.array(np.ones(rows.num_rows, np.int64))
    if kind in (LEAST, GREATEST_VALUE, VALUE):
        return array
    if kind == COUNT:
        return array.is_valid().cast(pa.int64())
    if kind in (HIGH, LOW):
        return pa.array(Values(array).halves[0 if kind == HIGH else 1])
    return pa.array(np.zeros(len(array)) if kind == SQUARES else Values(array).floats)


def no_parts(keys: pa.Table, aggregates: Sequence[Aggregate]) -> pa.Table:
    """Parts of no rows, for each key: an aggregate without GROUP BY has a row for an event that has no history."""
    made = {name: keys.column(name) for name in keys.column_names}
    for aggregate in aggregates:
        for kind, (name, data_type) in zip(aggregate.kinds, aggregate.partial_columns().items(), strict=True):
            counted = kind in (COUNT, HIGH, LOW)
            made[name] = pa.array(np.zeros(keys.num_rows, np.int64)) if counted else pa.nulls(keys.num_rows, data_type)
    return pa.table(made)


def merge_parts(tables: Sequence[pa.Table], keys: Sequence[str], aggregates: Sequence[Aggregate]) -> pa.Table:
    """One row for each key, in order of first appearance. A table may have a key any number of times."""
    names = [*keys, *(name for aggregate in aggregates for name in aggregate.partial_columns())]
    whole = pa.concat_tables([_plain(table.select(names)) for table in tables], promote_options="permissive")
    codes, groups = equality_codes([whole.column(name) for name in keys], whole.num_rows)
    first = first_of(codes, groups)
    made = {name: _normal(take(column(whole, name), first)) for name in keys}
    for aggregate in aggregates:
        made |= _Merging(whole, codes, groups, aggregate).columns()
    return pa.table(made)


def _plain(table: pa.Table) -> pa.Table:
    return pa.table({name: plain(table.column(name)) for name in table.column_names})


def _normal(key: pa.Array) -> pa.Array:
    """Which of two equal keys came first must not show: -0.0 becomes 0.0."""
    return pc.add(key, pa.scalar(0.0, key.type)) if pa.types.is_floating(key.type) else key


class _Merging:
    """The partial columns of one aggregate, with the rows of each code made one."""

    def __init__(self, table: pa.Table, codes: Ints, groups: int, aggregate: Aggregate) -> None:
        self.codes, self.groups, self.aggregate = codes, groups, aggregate
        self.arrays = {
            kind: column(table, aggregate.column(kind)).cast(data_type)
            for kind, data_type in zip(aggregate.kinds, aggregate.partial_columns().values(), strict=True)
        }

    def columns(self) -> dict[str, pa.Array]:
        if self.aggregate.function in ("first", "last"):
            merged = self._outermost(self.aggregate.function == "last")
        elif self.aggregate.function == "stddev":
            merged = self._spread()
        else:
            merged = {kind: self._merged(kind) for kind in self.arrays}
        return {self.aggregate.column(kind): array for kind, array in merged.items()}

    def _merged(self, kind: str) -> pa.Array:
        if kind in (LEAST, GREATEST_VALUE):
            return self._extreme(self.arrays[kind], kind == GREATEST_VALUE)
        return pa.array(self._sums(kind) if kind == SUM else self._totals(kind))

    def _totals(self, kind: str) -> Ints:
        totals = np.zeros(self.groups, np.int64)
        np.add.at(totals, self.codes, whole_numbers(self.arrays[kind]))
        return totals

    def _sums(self, kind: str) -> Floats:
        return self._summed(Values(self.arrays[kind]).floats)

    def _summed(self, values: Floats) -> Floats:
        # Sums that leave the range of doubles, and those of both infinities, are what Spark's are: infinite and NaN.
        with np.errstate(over="ignore", invalid="ignore"):
            return np.bincount(self.codes, values, self.groups).astype(np.float64)

    def _spread(self) -> dict[str, pa.Array]:
        """Means are added up as distances from the first of their group, so that large means lose no digits."""
        count = whole_numbers(self.arrays[COUNT])
        held = count > 0
        mean = np.where(held, Values(self.arrays[MEAN]).floats, 0.0)
        squares = np.where(held, Values(self.arrays[SQUARES]).floats, 0.0)
        counts = self._totals(COUNT)
        of_some = np.flatnonzero(held)
        origin_row = first_of(self.codes[of_some], self.groups)
        origin = np.where(origin_row >= 0, mean[of_some[origin_row]] if of_some.size else 0.0, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            moved = np.where(held, (mean - origin[self.codes]) * count, 0.0)
            means = origin + self._summed(moved) / np.maximum(counts, 1)
            apart = np.where(held, mean - means[self.codes], 0.0)
            merged = self._summed(squares + apart * apart * count)
        present = counts > 0
        return {COUNT: pa.array(counts), MEAN: with_nulls(means, present), SQUARES: with_nulls(merged, present)}

    def _extreme(self, array: pa.Array, greatest: bool) -> pa.Array:
        keys = keys_of(array, self.aggregate.function)
        valid = array.is_valid().to_numpy(zero_copy_only=False).astype(np.bool_)
        rows = np.flatnonzero(valid)
        least = np.full(self.groups, GREATEST, np.int64)
        np.minimum.at(least, self.codes[rows], ~keys.keys[rows] if greatest else keys.keys[rows])
        present = np.bincount(self.codes[rows], minlength=self.groups) > 0
        return keys.restore(~least if greatest else least, present)

    def _outermost(self, last: bool) -> dict[str, pa.Array]:
        """The row of least or greatest (time, seq); a row without a time stands for no rows."""
        timed = np.flatnonzero(self.arrays[TIME].is_valid().to_numpy(zero_copy_only=False))
        order = timed[
            lexical_order(
                [
                    each[timed]
                    for each in (self.codes, whole_numbers(self.arrays[TIME]), whole_numbers(self.arrays[SEQ]))
                ]
            )
        ]
        codes = self.codes[order]
        chosen = np.full(self.groups, -1, np.int64)
        if last:
            chosen[codes] = order  # of several assignments the last one stays
        else:
            chosen[codes[::-1]] = order[::-1]
        rows = with_nulls(np.maximum(chosen, 0), chosen >= 0)
        return {kind: array.take(rows) for kind, array in self.arrays.items()}


def whole_numbers(array: pa.Array) -> Ints:
    """Null as 0."""
    values: Ints = (array.fill_null(0) if array.null_count else array).to_numpy(zero_copy_only=False)
    return values
