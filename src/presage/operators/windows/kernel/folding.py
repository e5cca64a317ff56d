"""Rows with codes and accumulators come in, aggregates so far and new accumulators go out: nothing leaves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from presage.arrays.codes import first_of, last_of
from presage.arrays.columns import Values, take, with_nulls
from presage.arrays.jit import Bools, Floats, Ints
from presage.arrays.order_keys import GREATEST, keys_of
from presage.operators.windows.kernel.engine import Engine, all_valid
from presage.operators.windows.kernel.fold import fold_least, fold_spread, fold_sum, fold_total
from presage.operators.windows.kernel.slotting import Slotting


class Folding:
    """Engine that only adds. `before` holds accumulators of the groups known so far, which come first among the codes.

    With `running` it answers for each row, else once for each code. `is_first` tells, for DISTINCT, which rows bring a
    value that their group has not had. `slotting` answers for medians and lists.
    """

    def __init__(
        self,
        codes: Ints,
        groups: int,
        before: dict[str, pa.Array],
        running: bool,
        slotting: Slotting,
        is_first: Callable[[str, Values], Bools],
    ) -> None:
        self.codes, self.groups, self.before, self.running = codes, groups, before, running
        self.slotting = slotting
        self.is_first = is_first
        self.after: dict[str, pa.Array] = {}

    def _start(self, name: str, dtype: type, neutral: int) -> np.ndarray:
        start: np.ndarray = np.full(self.groups, neutral, dtype)
        if name in self.before:
            known = self.before[name].to_numpy(zero_copy_only=False)
            start[: known.size] = known
        return start

    def count(self, name: str, valid: Bools | None) -> Ints:
        ones = np.ones(self.codes.size, np.int64) if valid is None else valid.astype(np.int64)
        return self.total(name + ".n", ones)

    def total(self, name: str, values: Ints) -> Ints:
        out, end = fold_total(self.codes, values, self._start(name, np.int64, 0))
        self.after[name] = pa.array(end)
        return out if self.running else end

    def sum(self, name: str, values: Floats) -> Floats:
        out, end = fold_sum(self.codes, values, self._start(name, np.float64, 0))
        self.after[name] = pa.array(end)
        return out if self.running else end

    def spread(self, name: str, values: Values) -> tuple[Ints, Floats]:
        count = self.count(name, values.valid)
        out, n, mean, m2 = fold_spread(
            self.codes,
            values.floats,
            all_valid(values),
            self._start(name + ".w", np.int64, 0),
            self._start(name + ".mean", np.float64, 0),
            self._start(name + ".m2", np.float64, 0),
        )
        self.after |= {name + ".w": pa.array(n), name + ".mean": pa.array(mean), name + ".m2": pa.array(m2)}
        return count, (out if self.running else m2)

    def extreme(self, name: str, values: Values, greatest: bool) -> pa.Array:
        known = self.before.get(name, pa.array([], values.array.type))
        # Known extremes and new values are ranked together, so that their keys compare.
        keys = keys_of(pa.concat_arrays([known, values.array]), "max" if greatest else "min")
        valid = all_valid(Values(pa.concat_arrays([known, values.array])))
        turned = np.where(valid, ~keys.keys if greatest else keys.keys, GREATEST)
        start = np.full(self.groups, GREATEST, np.int64)
        start[: len(known)] = turned[: len(known)]
        out, end = fold_least(self.codes, turned[len(known) :], start)
        counts, final = fold_total(self.codes, valid[len(known) :].astype(np.int64), self._known_counts(known))
        self.after[name] = keys.restore(~end if greatest else end, final > 0)
        return keys.restore(~out if greatest else out, counts > 0) if self.running else self.after[name]

    def _known_counts(self, known: pa.Array) -> Ints:
        counts = np.zeros(self.groups, np.int64)
        counts[: len(known)] = all_valid(Values(known))
        return counts

    def first(self, name: str, values: Values) -> pa.Array:
        known = self.before.get(name, pa.array([], values.array.type))
        everything = pa.concat_arrays([known, values.array])
        codes = np.concatenate([np.arange(len(known), dtype=np.int64), self.codes])
        oldest = first_of(codes, self.groups)
        self.after[name] = take(everything, oldest)
        return take(everything, oldest[self.codes]) if self.running else self.after[name]

    def last(self, name: str, values: Values) -> pa.Array:
        return values.array if self.running else take(values.array, last_of(self.codes, self.groups))

    def lists(self, values: Values) -> pa.Array:
        return self.slotting.lists(values)

    def middle(self, values: Values) -> tuple[Floats, Floats, Bools]:
        return self.slotting.middle(values)

    def distinct(self, name: str, values: Values) -> tuple[Engine, Values]:
        counted = self.is_first(name, values)
        rows = np.arange(counted.size, dtype=np.int64)
        return self, Values(values.array.take(with_nulls(rows, counted)))
