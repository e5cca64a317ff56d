"""Alignment of two sequences of hashes: the rows of the first that the second begins with, in order."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Ints, compiled


@compiled
def kept_in_order(before: Ints, after: Ints) -> Ints:
    """Where the first rows of `after` stand in `before`, as many as can be found one behind the other.

    Rows leave anywhere and others come at the end: then all that stayed are found. The first one that is not there ends
    the search, so that it is O(len(before) + len(after)) always.
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
