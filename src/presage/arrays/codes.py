"""Codes of rows come in (equal values, equal codes, numbered as they appear), places and orders by code go out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.arrays.equality import equality_codes, numbered
from presage.arrays.jit import Ints, compiled, inlined

# A table of all possible pairs is faster than hashing the pairs, while it is not much longer than the column.
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
    """Row at which each code appears first."""
    first = np.full(count, -1, np.int64)
    for i in range(codes.size - 1, -1, -1):
        first[codes[i]] = i
    return first


@compiled
def last_of(codes: Ints, count: int) -> Ints:
    """Row at which each code appears last."""
    last = np.full(count, -1, np.int64)
    for i in range(codes.size):
        last[codes[i]] = i
    return last


@compiled
def positions(codes: Ints, count: int) -> tuple[Ints, Ints]:
    """How many rows of the same code come before each row, and how many rows each code has."""
    seen = np.zeros(count, np.int64)
    position = np.empty(codes.size, np.int64)
    for i in range(codes.size):
        position[i] = seen[codes[i]]
        seen[codes[i]] += 1
    return position, seen


@inlined
def _run_starts(codes: Ints, count: int) -> Ints:
    """Where each code's run starts when the rows are sorted by code: `count + 1` bounds."""
    start = np.zeros(count + 1, np.int64)
    for i in range(codes.size):
        start[codes[i] + 1] += 1
    for g in range(count):
        start[g + 1] += start[g]
    return start


@compiled
def grouped_rank(codes: Ints, count: int) -> tuple[Ints, Ints]:
    """Place of each row when the rows are sorted by code (stably), and where each code's run starts."""
    start = _run_starts(codes, count)
    free = start[:count].copy()
    rank = np.empty(codes.size, np.int64)
    for i in range(codes.size):
        rank[i] = free[codes[i]]
        free[codes[i]] += 1
    return rank, start


@compiled
def grouped_order(codes: Ints, count: int) -> tuple[Ints, Ints]:
    """Stable order of the rows by code, and where each code's run starts (`count + 1` bounds). One counting sort."""
    start = _run_starts(codes, count)
    free = start[:count].copy()
    order = np.empty(codes.size, np.int64)
    for i in range(codes.size):
        order[free[codes[i]]] = i
        free[codes[i]] += 1
    return order, start
