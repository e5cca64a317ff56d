"""The order of rows: by end, objects and start.

In a join of a stream with itself every row ends together with its mirror image, so there are many short ties.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.columns import plain
from presage.arrays.jit import Ints, compiled, inlined

# Ties of up to so many rows are sorted by insertion.
SHORT = 24


def row_order(end: Ints, objects: Sequence[pa.ChunkedArray], start: Ints) -> Ints:
    """By end, then by the values that identify the objects (null last), then by start. O(n log n)."""
    others = np.stack([*(ranks(column) for column in objects), start], axis=1)
    return settle_ties(np.argsort(end, kind="stable"), end, others)


def ranks(column: pa.ChunkedArray) -> Ints:
    """Numbers in the order of the values, null last. Only distinct values are compared."""
    # Every chunk has the dictionary of the whole column.
    chunks = plain(column).dictionary_encode(null_encoding="mask").chunks
    if not chunks:
        return np.empty(0, np.int64)
    distinct = chunks[-1].dictionary
    # The last rank is that of null.
    place = np.full(len(distinct) + 1, len(distinct), np.int64)
    place[pc.sort_indices(distinct).to_numpy()] = np.arange(len(distinct))
    return np.concatenate([place[chunk.indices.fill_null(len(distinct)).to_numpy()] for chunk in chunks])


@compiled
def settle_ties(order: Ints, end: Ints, others: Ints) -> Ints:
    """`order`: by end. Sorts rows that end together by the columns of `others`."""
    order = order.copy()
    n, begin = len(order), 0
    while begin < n:
        stop = begin + 1
        while stop < n and end[order[stop]] == end[order[begin]]:
            stop += 1
        if stop - begin > SHORT:
            for column in range(others.shape[1] - 1, -1, -1):
                run = order[begin:stop].copy()
                values = np.empty(len(run), np.int64)
                for i in range(len(run)):
                    values[i] = others[run[i], column]
                order[begin:stop] = run[np.argsort(values, kind="mergesort")]
        else:
            for place in range(begin + 1, stop):
                row, i = order[place], place
                while i > begin and _before(row, order[i - 1], others):
                    order[i] = order[i - 1]
                    i -= 1
                order[i] = row
        begin = stop
    return order


@inlined
def _before(a: int, b: int, others: Ints) -> bool:
    for column in range(others.shape[1]):
        if others[a, column] != others[b, column]:
            return bool(others[a, column] < others[b, column])
    return False
