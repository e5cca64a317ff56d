"""The argument of an aggregate: an array, and the index of each counted row in it.

Values are not copied until the result is known: overlapping matches share them, and texts are copied once.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from presage.arrays.columns import Values, column, take
from presage.arrays.equality import equality_codes
from presage.arrays.jit import Bools, Floats, Ints
from presage.arrays.order_keys import keys_of


class Columns:
    """The columns of a step's table, each combined into one array once."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self._arrays: dict[str, pa.Array] = {}

    def column(self, name: str) -> pa.Array:
        if name not in self._arrays:
            self._arrays[name] = column(self.table, name)
        return self._arrays[name]


class Argument(Values):
    """Counted row i has the value `source[at[i]]`."""

    def __init__(self, source: pa.Array, at: Ints) -> None:
        self.source, self.at = source, at

    @cached_property
    def array(self) -> pa.Array:  # made on demand
        return take(self.source, self.at)

    def kept(self, keep: Bools) -> Argument:
        return Argument(self.source, self.at[keep])

    @property
    def is_integral(self) -> bool:
        return Values(self.source).is_integral

    @property
    def is_decimal(self) -> bool:
        return Values(self.source).is_decimal

    @cached_property
    def limbs(self) -> tuple[Ints, ...]:
        return tuple(limb[self.at] for limb in Values(self.source).limbs)

    @cached_property
    def valid(self) -> Bools | None:
        valid = Values(self.source).valid
        return None if valid is None else valid[self.at]

    @cached_property
    def floats(self) -> Floats:
        return Values(self.source).floats[self.at]

    @cached_property
    def halves(self) -> tuple[Ints, Ints]:
        high, low = Values(self.source).halves
        return high[self.at], low[self.at]

    def codes(self) -> tuple[Ints, int]:
        """Equal values have equal codes; how many codes there are."""
        codes, count = equality_codes([pa.chunked_array([self.source])], len(self.source))
        return codes[self.at], count

    def keys(self, what: str) -> Ints:
        """Integers that compare as the values do; undefined for nulls."""
        return keys_of(self.source, what).keys[self.at]

    def picked(self, nth: Ints, present: Bools) -> pa.Array:
        """The value of the nth counted row; null where not `present`."""
        if present.all():
            return take(self.source, self.at[nth])
        places = np.zeros(nth.size, np.int64)
        places[present] = self.at[nth[present]]
        return self.source.take(pa.array(places, mask=~present))


def argument_of(columns: Columns, names: tuple[str, ...], which: Ints, rows: Ints) -> Argument:
    """`which` of the named columns each of `rows` takes its value from."""
    distinct = list(dict.fromkeys(names))
    if len(distinct) == 1:
        return _gathered(columns.column(distinct[0]), rows)
    number = np.array([distinct.index(name) for name in names], np.int64)[which]
    # Take from each column only the rows that need it, then index into the concatenation.
    arrays = []
    at = np.empty(rows.size, np.int64)
    start = 0
    for k, name in enumerate(distinct):
        mine = np.flatnonzero(number == k)
        arrays.append(take(columns.column(name), rows[mine]))
        at[mine] = np.arange(start, start + mine.size)
        start += mine.size
    return Argument(pa.concat_arrays(arrays), at)


def _gathered(array: pa.Array, rows: Ints) -> Argument:
    """With few matches only their rows are copied, because ranks and codes are computed for the whole array."""
    if rows.size * 2 < len(array):
        return Argument(take(array, rows), np.arange(rows.size))
    return Argument(array, rows)
