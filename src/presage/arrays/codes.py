"""Positions and orders of rows by their codes: equal rows have equal codes, numbered by first occurrence."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.arrays.equality import equality_codes, numbered
from presage.arrays.jit import Ints, compiled, inlined

# Up to so many possible pairs per row a table of them is faster than hashing.
DENSE = 4


def paired(left: Ints, right: Ints, right_count: int) -> tuple[Ints, int]:
    """Codes of the pairs of two codes. Both are below 2**31 (rows of a table), so the product fits."""
    if not left.size:
        return left, 0
    pairs = left * right_count + right
    possible = (int(left.max()) + 1) * right_count
    if possible <= DENSE * left.size:
        return numbered(pairs, possible)
    return equality_codes([pa.chunked_array([pa.array(pairs)])], left.size)


@compiled
def first_of(codes: Ints, count: int) -> Ints:
    """The first row of each code."""
    first = np.full(count, -1, np.int64)
    for i in range(codes.size - 1, -1, -1):
        first[codes[i]] = i
    return first


@compiled
def last_of(codes: Ints, count: int) -> Ints:
    """The last row of each code."""
    last = np.full(count, -1, np.int64)
    for i in range(codes.size):
        last[codes[i]] = i
    return last


@compiled
def positions(codes: Ints, count: int) -> tuple[Ints, Ints]:
    """The number of earlier rows with the same code, for each row, and the number of rows of each code."""
    seen = np.zeros(count, np.int64)
    position = np.empty(codes.size, np.int64)
    for i in range(codes.size):
        position[i] = seen[codes[i]]
        seen[codes[i]] += 1
    return position, seen


@inlined
def _run_starts(codes: Ints, count: int) -> Ints:
    """Where the run of each code starts in the order by code: `count + 1` bounds."""
    start = np.zeros(count + 1, np.int64)
    for i in range(codes.size):
        start[codes[i] + 1] += 1
    for g in range(count):
        start[g + 1] += start[g]
    return start


@compiled
def grouped_rank(codes: Ints, count: int) -> tuple[Ints, Ints]:
    """The position of each row in the stable order by code, and where the run of each code starts."""
    start = _run_starts(codes, count)
    free = start[:count].copy()
    rank = np.empty(codes.size, np.int64)
    for i in range(codes.size):
        rank[i] = free[codes[i]]
        free[codes[i]] += 1
    return rank, start


@compiled
def grouped_order(codes: Ints, count: int) -> tuple[Ints, Ints]:
    """The stable order of rows by code, and where the run of each code starts (`count + 1` bounds). A counting sort."""
    start = _run_starts(codes, count)
    free = start[:count].copy()
    order = np.empty(codes.size, np.int64)
    for i in range(codes.size):
        order[free[codes[i]]] = i
        free[codes[i]] += 1
    return order, start


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
