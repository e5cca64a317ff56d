"""The engine of aggregates over rows that only come: over accumulators of each group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from presage.arrays.aggregate_engine import AggregateEngine as Engine
from presage.arrays.codes import first_of, last_of
from presage.arrays.columns import Values, all_valid, take, with_nulls
from presage.arrays.folds import fold_least, fold_spread, fold_sum, fold_total
from presage.arrays.jit import Bools, Floats, Ints
from presage.arrays.order_keys import GREATEST, keys_of
from presage.arrays.pair_moments import WIDTH, fold_pairs

# Accumulators of a spread, by the end of their names.
SPREAD = {".w": np.int64, ".mean": np.float64, ".m2": np.float64}


@dataclass
class FoldEngine:
    """Engine that only adds. `before` holds accumulators of the earlier groups, which come first among the codes.

    With `running` there is a value for each row, else one for each code. `is_first` marks, for DISTINCT, the rows with
    a value that is new to their group. `slots` computes medians and lists.
    """

    codes: Ints
    groups: int
    before: dict[str, pa.Array]
    running: bool
    slots: Engine
    is_first: Callable[[str, Values], Bools]
    after: dict[str, pa.Array] = field(default_factory=dict)

    def _start(self, name: str, dtype: type) -> np.ndarray:
        start: np.ndarray = np.zeros(self.groups, dtype)
        if name in self.before:
            before = self.before[name].to_numpy(zero_copy_only=False)
            start[: before.size] = before
        return start

    def count(self, name: str, valid: Bools | None) -> Ints:
        ones = np.ones(self.codes.size, np.int64) if valid is None else valid.astype(np.int64)
        return self.total(name + ".n", ones)

    def total(self, name: str, values: Ints) -> Ints:
        out, end = fold_total(self.codes, values, self._start(name, np.int64))
        self.after[name] = pa.array(end)
        return out if self.running else end

    def sum(self, name: str, values: Floats) -> Floats:
        out, end = fold_sum(self.codes, values, self._start(name, np.float64))
        self.after[name] = pa.array(end)
        return out if self.running else end

    def spread(self, name: str, values: Values) -> tuple[Ints, Floats]:
        count = self.count(name, values.valid)
        start = [self._start(name + part, dtype) for part, dtype in SPREAD.items()]
        out, *end = fold_spread(self.codes, values.floats, all_valid(values), *start)
        self.after |= {name + part: pa.array(each) for part, each in zip(SPREAD, end, strict=True)}
        return count, (out if self.running else np.asarray(end[-1], np.float64))

    def extreme(self, name: str, values: Values, greatest: bool) -> pa.Array:
        before = self.before.get(name, pa.array([], values.array.type))
        # Earlier extremes and new values are ranked together, so that their keys compare.
        keys = keys_of(pa.concat_arrays([before, values.array]), "max" if greatest else "min")
        valid = all_valid(Values(pa.concat_arrays([before, values.array])))
        turned = np.where(valid, ~keys.keys if greatest else keys.keys, GREATEST)
        start, counted = np.full(self.groups, GREATEST, np.int64), np.zeros(self.groups, np.int64)
        start[: len(before)], counted[: len(before)] = turned[: len(before)], valid[: len(before)]
        out, end = fold_least(self.codes, turned[len(before) :], start)
        counts, final = fold_total(self.codes, valid[len(before) :].astype(np.int64), counted)
        self.after[name] = keys.restore(~end if greatest else end, final > 0)
        return keys.restore(~out if greatest else out, counts > 0) if self.running else self.after[name]

    def first(self, name: str, values: Values) -> pa.Array:
        before = self.before.get(name, pa.array([], values.array.type))
        everything = pa.concat_arrays([before, values.array])
        codes = np.concatenate([np.arange(len(before), dtype=np.int64), self.codes])
        oldest = first_of(codes, self.groups)
        self.after[name] = take(everything, oldest)
        return take(everything, oldest[self.codes]) if self.running else self.after[name]

    def last(self, name: str, values: Values) -> pa.Array:
        return values.array if self.running else take(values.array, last_of(self.codes, self.groups))

    def lists(self, values: Values) -> pa.Array:
        return self.slots.lists(values)

    def moments(self, name: str, x: Floats, y: Floats, valid: Bools) -> Floats:
        parts = [f"{name}.pairs{i}" for i in range(WIDTH)]
        start = np.stack([self._start(part, np.float64) for part in parts], axis=1)
        out, end = fold_pairs(self.codes, x, y, valid, start)
        self.after |= {part: pa.array(end[:, i]) for i, part in enumerate(parts)}
        return out if self.running else end

    def quantile(self, values: Values, share: float) -> tuple[Floats, Floats, Floats, Bools]:
        return self.slots.quantile(values, share)

    def distinct(self, name: str, values: Values) -> tuple[Engine, Values]:
        counted = self.is_first(name, values)
        rows = np.arange(counted.size, dtype=np.int64)
        return self, Values(values.array.take(with_nulls(rows, counted)))
