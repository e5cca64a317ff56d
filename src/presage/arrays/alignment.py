"""Alignment of two sequences of hashes: the rows of the first that the second begins with, in order."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Ints, compiled


@compiled
def kept_in_order(before: Ints, after: Ints) -> Ints:
    """The positions in `before` of the first rows of `after`, for as many as occur in order.

    Where rows left anywhere and others were appended, all remaining rows are found. The first row that is missing ends
    the search, so it is always O(len(before) + len(after)).
    """
    found = np.empty(min(before.size, after.size), np.int64)
    at = 0
    for row in range(found.size):
        while at < before.size and before[at] != after[row]:
            at += 1
        if at == before.size:
            return found[:row].copy()
        found[row] = at
        at += 1
    return found
