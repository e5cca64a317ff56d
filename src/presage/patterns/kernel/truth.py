"""Rows and conditions come in, for each row and label goes out whether the condition may hold there (uint8, bits).

Only what speaks of a row and its neighbours is decided here, for all rows at once: flags and `nearby` programs. What
looks at the match so far is left to the search.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.arrays.columns import bools, column
from presage.arrays.jit import Ints
from presage.patterns.kernel.code import Code
from presage.patterns.kernel.encoding import Encoded
from presage.patterns.kernel.match_spec import Condition
from presage.patterns.kernel.reach import HOLDS, LOOKS, Truth
from presage.patterns.kernel.vectors import evaluate_all


def looks_ahead(conditions: tuple[Condition, ...]) -> Ints:
    """By label: how many rows beyond the current one its `nearby` program looks at."""
    ahead = [max([0, *(p.moved for p in c.places)]) if c.nearby >= 0 else 0 for c in conditions]
    return np.array([*ahead] or [0], np.int64)


def truth_of(
    conditions: tuple[Condition, ...], code: Code, rows: pa.Table, encoded: Encoded, begin: Ints, end: Ints
) -> Truth:
    """`begin` and `end` are the bounds of the partitions, which fill the table one after the other."""
    size = rows.num_rows
    truth = np.full((size, max(len(conditions), 1)), HOLDS, np.uint8)
    neighbours = _Neighbours(size, begin, end)
    look = looks_ahead(conditions)
    for label, condition in enumerate(conditions):
        known = None
        if condition.flag is not None:
            known = bools(column(rows, condition.flag))
            truth[:, label] = known
        if condition.nearby >= 0:
            places = [neighbours.moved(place.moved) for place in condition.places] or [neighbours.moved(0)]
            values, valid = evaluate_all(code, condition.nearby, places, encoded, [])
            truth[:, label] &= valid & (values != 0)
            if look[label]:
                truth[:, label] |= LOOKS if known is None else np.where(known, LOOKS, 0).astype(np.uint8)
    return truth


class _Neighbours:
    """Row numbers a few rows on or back, -1 where that leaves the partition."""

    def __init__(self, size: int, begin: Ints, end: Ints) -> None:
        self._begin = begin
        self._end = end
        self._rows = np.arange(size, dtype=np.int64)
        self._found: dict[int, Ints] = {0: self._rows}

    def moved(self, by: int) -> Ints:
        if by not in self._found:
            rows = self._rows + by
            # Only rows near a partition's end (or beginning) leave it: as many as `by` says, or the partition has.
            reach = np.minimum(abs(by), self._end - self._begin)
            first = self._begin if by < 0 else self._end - reach
            total = int(reach.sum())
            within = np.arange(total) - np.repeat(np.cumsum(reach) - reach, reach)
            rows[np.repeat(first, reach) + within] = -1
            self._found[by] = rows
        return self._found[by]
