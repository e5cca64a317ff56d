"""Aggregates over the counted rows of matches: one value for each output row.

The counted rows form a line, match after match; each output row sees a stretch of it that begins with its match. So
each aggregate is the value of a running loop at the stretch's last row, for RUNNING and FINAL alike. Only first, last,
array_agg, max_by and min_by count nulls as values; an aggregate over no value is null (count: 0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.columns import ELEMENT, HIGH_BITS, LOW_MASK, MOST_LISTED, take, with_nulls
from presage.arrays.jit import Bools, Ints
from presage.errors import error
from presage.operators.match.kernel.measures.arguments import Argument
from presage.operators.match.kernel.measures.running import (
    first_in_match,
    listed,
    running_least,
    running_middle,
    running_squares,
    running_sum,
    running_total,
)
from presage.operators.match.kernel.spec import Fold

NUMERIC = ("sum", "avg", "stddev", "median")
KEEP_NULLS = ("first", "last", "array_agg", "max_by", "min_by")
# DISTINCT does not change the others.
DISTINCT = ("count", "array_agg", *NUMERIC)
MOST_HIGH = 1 << 31  # a LONG is high * 2**32 + low with high in [-2**31, 2**31)


@dataclass(frozen=True)
class Stretches:
    """The match of each counted row, and the counted rows [begin, end) that each output row sees."""

    match: Ints
    begin: Ints
    end: Ints

    def kept(self, keep: Bools) -> Stretches:
        before = np.zeros(keep.size + 1, np.int64)
        np.cumsum(keep, out=before[1:])
        return Stretches(self.match[keep], before[self.begin], before[self.end])

    @property
    def count(self) -> Ints:
        return self.end - self.begin

    @property
    def present(self) -> Bools:
        return self.end > self.begin

    def at_end(self, running: np.ndarray) -> np.ndarray:
        """The running value at the last row of each stretch; undefined where the stretch is empty."""
        if not running.size:
            return np.zeros(self.end.size, running.dtype)
        return running[np.maximum(self.end - 1, 0)]


def fold_values(fold: Fold, values: Argument, by: Argument | None, seen: Stretches) -> pa.Array:
    """The column of an aggregate; `by` is what max_by and min_by compare."""
    function = fold.function
    if function in NUMERIC:
        values = _numbers(function, values)
    if by is not None:
        return _picked_by(function, values, by, seen)
    if function not in KEEP_NULLS and values.valid is not None:
        seen, values = seen.kept(values.valid), values.kept(values.valid)
    if fold.distinct and function in DISTINCT:
        once = first_in_match(seen.match, *values.codes())
        seen, values = seen.kept(once), values.kept(once)
    if function == "count":
        return pa.array(seen.count)
    if function in ("first", "any_value"):
        return values.picked(seen.begin, seen.present)
    if function == "last":
        return values.picked(seen.end - 1, seen.present)
    if function in ("min", "max"):
        return values.picked(_least(seen, values.keys(function), function == "max"), seen.present)
    if function == "array_agg":
        return _lists(values, seen)
    if function == "median":
        return _median(values, seen)
    if function == "stddev":
        # Of a sample: null below two values; NaN if one of them is not finite.
        squares = seen.at_end(running_squares(seen.match, values.floats()))
        return with_nulls(np.sqrt(squares / np.maximum(seen.count - 1, 1)), seen.count > 1)
    if function in ("sum", "avg"):
        return _sum_or_avg(fold, values, seen)
    raise error("INTERNAL", what=f"the kernels have no aggregate {function}")


def _numbers(function: str, values: Argument) -> Argument:
    kind = values.array.type
    if pa.types.is_null(kind):
        return Argument(values.array.cast(pa.float64()), values.at)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise error("UNSUPPORTED", what=function, where=f"over values of type {kind}", fix="give it numbers")
    return values


def _picked_by(function: str, values: Argument, by: Argument, seen: Stretches) -> pa.Array:
    if by.valid is not None:
        seen, values, by = seen.kept(by.valid), values.kept(by.valid), by.kept(by.valid)
    return values.picked(_least(seen, by.keys(function), function == "max_by"), seen.present)


def _least(seen: Stretches, keys: Ints, greatest: bool) -> Ints:
    """The greatest key has the least complement; a complement cannot overflow as a negation can."""
    nth: Ints = seen.at_end(running_least(seen.match, ~keys if greatest else keys))
    return nth


def _sum_or_avg(fold: Fold, values: Argument, seen: Stretches) -> pa.Array:
    mean = fold.function == "avg"
    count = np.maximum(seen.count, 1)
    if not values.is_integral:
        total = seen.at_end(running_sum(seen.match, values.floats()))
        return with_nulls(total / count if mean else total, seen.present)
    highs, lows = running_total(seen.match, *values.halves())
    high, low = seen.at_end(highs), seen.at_end(lows)
    high, low = high + (low >> HIGH_BITS), low & LOW_MASK
    if mean:
        return with_nulls((high * float(1 << HIGH_BITS) + low) / count, seen.present)
    counted = high[seen.present]
    if counted.size and (counted.max() >= MOST_HIGH or counted.min() < -MOST_HIGH):
        shown = fold.shown or ", ".join(fold.columns)
        raise error(
            "ARITHMETIC_OVERFLOW",
            what=f"sum({shown})",
            type="LONG",
            fix=f"add up doubles: sum(CAST({shown} AS DOUBLE))",
        )
    return with_nulls((high << HIGH_BITS) + low, seen.present)


def _median(values: Argument, seen: Stretches) -> pa.Array:
    floats = values.floats()
    # NaN is sorted last, as the greatest number.
    by_rank = np.lexsort((floats, seen.match))
    sizes = np.bincount(seen.match)
    starts = (np.cumsum(sizes) - sizes)[seen.match]
    rank = np.empty(floats.size, np.int64)
    rank[by_rank] = np.arange(floats.size)
    ranked = floats[by_rank]
    lows, highs = running_middle(seen.match, rank - starts, sizes[seen.match])
    low, high = seen.at_end(ranked[lows + starts]), seen.at_end(ranked[highs + starts])
    with np.errstate(invalid="ignore"):  # half of infinity and half of minus infinity: NaN, as in Spark
        between = 0.5 * low + 0.5 * high
    return with_nulls(np.where(low == high, low, between) + 0.0, seen.present)


def _lists(values: Argument, seen: Stretches) -> pa.Array:
    """A list for each stretch, in order; null where it is empty."""
    offsets = np.zeros(seen.end.size + 1, np.int64)
    np.cumsum(seen.count, out=offsets[1:])
    if offsets[-1] > MOST_LISTED:
        raise error(
            "LIMIT",
            what="the lists that array_agg(...) makes in one step",
            limit_name="values in lists",
            limit=MOST_LISTED,
            fix="bound the matches with WITHIN, or use FINAL or ONE ROW PER MATCH",
        )
    rows = listed(seen.begin, seen.end, values.at, int(offsets[-1]))
    kind = pa.list_(pa.field(ELEMENT, values.array.type))
    nulls = None if seen.present.all() else pa.array(~seen.present)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), take(values.array, rows), type=kind, mask=nulls)
