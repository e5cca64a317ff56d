"""The truth of conditions, for each label and row, before the search.

Only conditions over a row and its neighbours are evaluated here, for all rows at once: flags and `nearby` programs.
Conditions over the match so far are left to the search.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.arrays.columns import bools, column
from presage.arrays.jit import Ints
from presage.arrays.programs.code import Code
from presage.arrays.programs.encoding import Encoded
from presage.arrays.programs.vectors import Neighbours, true_for
from presage.operators.match.kernel.search.tables import HOLDS, LOOKS, Truth
from presage.operators.match.kernel.spec import Condition


def looks_ahead(conditions: tuple[Condition, ...]) -> Ints:
    """By label: how many rows beyond the current one its `nearby` program reads."""
    ahead = [max([0, *(p.moved for p in c.places)]) if c.nearby >= 0 else 0 for c in conditions]
    return np.array(ahead or [0], np.int64)


def truth_of(
    conditions: tuple[Condition, ...], code: Code, rows: pa.Table, encoded: Encoded, begin: Ints, end: Ints
) -> Truth:
    """`begin` and `end` are the bounds of the partitions, which lie in the table one after the other."""
    size = rows.num_rows
    truth = np.full((max(len(conditions), 1), size), HOLDS, np.uint8)
    neighbours: dict[int, Neighbours] = {}
    look = looks_ahead(conditions)
    for label, condition in enumerate(conditions):
        flags = None
        if condition.flag is not None:
            flags = bools(column(rows, condition.flag))
            truth[label] = flags
        if condition.nearby >= 0:
            moves = [place.moved for place in condition.places] or [0]
            for by in moves:
                if by not in neighbours:
                    neighbours[by] = _neighbours(by, size, begin, end)
            truth[label] &= true_for(code, condition.nearby, [neighbours[by] for by in moves], encoded)
            if look[label]:
                truth[label] |= LOOKS if flags is None else np.where(flags, LOOKS, 0).astype(np.uint8)
    return truth


def _neighbours(by: int, size: int, begin: Ints, end: Ints) -> Neighbours:
    # Only the `by` rows at the partition's end (or beginning) have a neighbour outside of it.
    reach = np.minimum(abs(by), end - begin)
    first = begin if by < 0 else end - reach
    within = np.arange(int(reach.sum())) - np.repeat(np.cumsum(reach) - reach, reach)
    return Neighbours(size, by, np.repeat(first, reach) + within)
