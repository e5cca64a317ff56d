"""Aggregates over the counted rows of matches: one value for each output row.

The counted rows form a line, match after match; each output row sees a stretch of it that begins with its match. So
each aggregate is the value of a running loop at the stretch's last row, for RUNNING and FINAL alike. The meaning of
each is in `presage.functions.aggregates`, except of those that MATCH_RECOGNIZE alone has: array_agg, any_value, max_by
and min_by.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.columns import ELEMENT, MOST_LISTED, Values, take
from presage.arrays.jit import Bools, Floats, Ints
from presage.arrays.pair_moments import WIDTH, fold_pairs
from presage.errors import error
from presage.functions.aggregates import COUNTS_ONCE, aggregate_named
from presage.operators.match.kernel.measures.arguments import Argument
from presage.operators.match.kernel.measures.running import (
    first_in_match,
    listed,
    running_least,
    running_quantile,
    running_squares,
    running_sum,
)
from presage.operators.match.kernel.spec import Fold


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
    engine = RunningEngine(seen)
    if by is not None:
        return engine.picked_by(values, by, fold.function, fold.function == "max_by")
    if fold.function == "any_value":
        engine, values = engine.present(values)
        return engine.first("", values)
    if fold.function == "array_agg":
        engine, values = engine.distinct("", values) if fold.distinct else (engine, values)
        return engine.lists(values)
    function = aggregate_named(fold.function)
    if function.numeric and function.values == 1:
        values = _numbers(fold.function, values)
    if fold.distinct and function.distinct == COUNTS_ONCE:
        engine, values = engine.distinct("", values)
    return function.evaluate(fold, "", values, engine)


def _numbers(function: str, values: Argument) -> Argument:
    kind = values.source.type
    if pa.types.is_null(kind):
        return Argument(values.source.cast(pa.float64()), values.at)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise error("UNSUPPORTED", what=function, where=f"over values of type {kind}", fix="give it numbers")
    return values


@dataclass(frozen=True)
class RunningEngine:
    """The engine of aggregates over matches (`presage.arrays.aggregate_engine`); it has no accumulators to name."""

    seen: Stretches

    def count(self, name: str, valid: Bools | None) -> Ints:
        return self.seen.count if valid is None else self.seen.kept(valid).count

    def total(self, name: str, values: Ints) -> Ints:
        before = np.zeros(values.size + 1, np.int64)
        np.cumsum(values, out=before[1:])
        return before[self.seen.end] - before[self.seen.begin]

    def sum(self, name: str, values: Floats) -> Floats:
        return self.seen.at_end(running_sum(self.seen.match, values))

    def spread(self, name: str, values: Values) -> tuple[Ints, Floats]:
        engine, present = self.present(values)
        return engine.seen.count, engine.seen.at_end(running_squares(engine.seen.match, present.floats))

    def extreme(self, name: str, values: Values, greatest: bool) -> pa.Array:
        engine, present = self.present(values)
        return engine.picked_by(present, present, "max" if greatest else "min", greatest)

    def picked_by(self, values: Argument, by: Argument, what: str, greatest: bool) -> pa.Array:
        """The value where `by` is greatest or least."""
        seen = self.seen
        if by.valid is not None:
            seen, values, by = seen.kept(by.valid), values.kept(by.valid), by.kept(by.valid)
        keys = by.keys(what)
        # The greatest key has the least complement; a complement cannot overflow as a negation can.
        nth = seen.at_end(running_least(seen.match, ~keys if greatest else keys))
        return values.picked(nth, seen.present)

    def first(self, name: str, values: Values) -> pa.Array:
        return _argument(values).picked(self.seen.begin, self.seen.present)

    def last(self, name: str, values: Values) -> pa.Array:
        return _argument(values).picked(self.seen.end - 1, self.seen.present)

    def moments(self, name: str, x: Floats, y: Floats, valid: Bools) -> Floats:
        seen = self.seen
        if not seen.match.size:
            return np.zeros((seen.end.size, WIDTH))
        running, _ = fold_pairs(seen.match, x, y, valid, np.zeros((int(seen.match[-1]) + 1, WIDTH)))
        return np.where(seen.present[:, None], seen.at_end(running), 0.0)

    def quantile(self, values: Values, share: float) -> tuple[Floats, Floats, Floats, Bools]:
        engine, present = self.present(values)
        seen, floats = engine.seen, present.floats
        # NaN is sorted last, as the greatest number.
        by_rank = np.lexsort((floats, seen.match))
        sizes = np.bincount(seen.match)
        starts = (np.cumsum(sizes) - sizes)[seen.match]
        rank = np.empty(floats.size, np.int64)
        rank[by_rank] = np.arange(floats.size)
        ranked = floats[by_rank]
        lows, highs, weights = running_quantile(seen.match, rank - starts, sizes[seen.match], share)
        low, high = seen.at_end(ranked[lows + starts]), seen.at_end(ranked[highs + starts])
        return low + 0.0, high + 0.0, seen.at_end(weights), seen.present

    def lists(self, values: Values) -> pa.Array:
        """A list for each stretch, in order; null where it is empty."""
        seen, items = self.seen, _argument(values)
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
        rows = listed(seen.begin, seen.end, items.at, int(offsets[-1]))
        kind = pa.list_(pa.field(ELEMENT, items.source.type))
        nulls = None if seen.present.all() else pa.array(~seen.present)
        return pa.ListArray.from_arrays(
            pa.array(offsets.astype(np.int32)), take(items.source, rows), type=kind, mask=nulls
        )

    def distinct(self, name: str, values: Values) -> tuple[RunningEngine, Argument]:
        argument = _argument(values)
        return self._kept(argument, first_in_match(self.seen.match, *argument.codes()))

    def present(self, values: Values) -> tuple[RunningEngine, Argument]:
        """Without the rows whose value is null."""
        argument = _argument(values)
        return (self, argument) if values.valid is None else self._kept(argument, values.valid)

    def _kept(self, values: Argument, keep: Bools) -> tuple[RunningEngine, Argument]:
        return RunningEngine(self.seen.kept(keep)), values.kept(keep)


def _argument(values: Values) -> Argument:
    return values if isinstance(values, Argument) else Argument(values.array, np.arange(len(values.array)))
