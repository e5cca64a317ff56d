"""Tiles: the layout [tile, value, column of the tile] in which weights of a Markov chain's values move step by step.

Columns are intervals, or candidates that are still to come. The compiler knows the size of a tile, so it updates
several columns with one vector instruction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats, inlined, inlined_always

TILE = 64
FOUR = 4  # values including no event; chains with fewer values are padded to four
ONE_TILE, TWO_TILES, THREE_TILES = np.uint64(TILE), np.uint64(2 * TILE), np.uint64(3 * TILE)
FOUR_TILES = np.uint64(4 * TILE)


class ChainMoves(NamedTuple):
    """One chain: matrices [step, value before, value] from table[base] on, codes of values [step, value] from
    says[said] on. A code above 0 marks a candidate. `size`: number of values, including no event."""

    table: Floats
    base: int
    says: np.ndarray
    said: int
    size: int


@inlined
def row_of(table, base):  # type: ignore[no-untyped-def]
    """Four adjacent entries: the transition probabilities from one value."""
    i = np.uint64(base)
    return table[i], table[i + np.uint64(1)], table[i + np.uint64(2)], table[i + np.uint64(3)]


@inlined
def fours(tile, lo, hi):  # type: ignore[no-untyped-def]
    """Columns lo … hi - 1 of a tile, rounded outward to multiples of four: no remainder loop."""
    return max(lo - tile * TILE, 0) // 4 * 4, min((hi - tile * TILE + 3) // 4 * 4, TILE)


@inlined
def eights(tile, lo, hi):  # type: ignore[no-untyped-def]
    """As `fours`, with multiples of eight."""
    return max(lo - tile * TILE, 0) // 8 * 8, min((hi - tile * TILE + 7) // 8 * 8, TILE)


@inlined
def cells_of(columns, size):  # type: ignore[no-untyped-def]
    return (columns + TILE - 1) // TILE * TILE * size


@inlined
def whole_fours(columns):  # type: ignore[no-untyped-def]
    return (columns + 3) // 4 * 4


@inlined
def whole_eights(columns):  # type: ignore[no-untyped-def]
    return (columns + 7) // 8 * 8


@inlined_always
def step_four(x, here, far, m, at, down, across, begin, end):  # type: ignore[no-untyped-def]
    """x[here + w, column] = Σ x[here + far + v, column] · m[at + v · down + w · across] for four values. One loop over
    all values: columns are few. `far` is a constant: the compiler must know the distance to vectorize the loop."""
    a0, a1, a2, a3 = m[at], m[at + across], m[at + 2 * across], m[at + 3 * across]
    at1, at2, at3 = at + down, at + 2 * down, at + 3 * down
    b0, b1, b2, b3 = m[at1], m[at1 + across], m[at1 + 2 * across], m[at1 + 3 * across]
    c0, c1, c2, c3 = m[at2], m[at2 + across], m[at2 + 2 * across], m[at2 + 3 * across]
    d0, d1, d2, d3 = m[at3], m[at3 + across], m[at3 + 2 * across], m[at3 + 3 * across]
    for column in range(begin, end):
        i = np.uint64(here + column)
        j = i + np.uint64(far)
        a, b, c, d = x[j], x[j + ONE_TILE], x[j + TWO_TILES], x[j + THREE_TILES]
        x[i] = (a * a0 + b * b0) + (c * c0 + d * d0)
        x[i + ONE_TILE] = (a * a1 + b * b1) + (c * c1 + d * d1)
        x[i + TWO_TILES] = (a * a2 + b * b2) + (c * c2 + d * d2)
        x[i + THREE_TILES] = (a * a3 + b * b3) + (c * c3 + d * d3)


@inlined
def times(x, buffer, lo, hi, size, m):  # type: ignore[no-untyped-def]
    """x[w] = Σ x[v] · m[v, w] for columns lo … hi - 1. Unused columns beside them are overwritten, too."""
    if hi <= lo:
        return
    for tile in range(lo // TILE, (hi - 1) // TILE + 1):
        begin, end = fours(tile, lo, hi)
        base = tile * size * TILE
        if size == FOUR:
            step_four(x, base, 0, m, 0, FOUR, 1, begin, end)
            continue
        for w in range(size):
            to = w * TILE
            for column in range(begin, end):
                buffer[np.uint64(to + column)] = 0.0
            for v in range(size):
                p, old = m[v * size + w], base + v * TILE
                if p:
                    for column in range(begin, end):
                        buffer[np.uint64(to + column)] += p * x[np.uint64(old + column)]
        for w in range(size):
            for column in range(begin, end):
                x[np.uint64(base + w * TILE + column)] = buffer[np.uint64(w * TILE + column)]


@inlined
def step_on(weights, m, at, size, buffer):  # type: ignore[no-untyped-def]
    """Advance the weights of values by one step."""
    for w in range(size):
        buffer[w] = 0.0
    for v in range(size):
        for w in range(size):
            buffer[w] += weights[v] * m[np.uint64(at + v * size + w)]
    for w in range(size):
        weights[w] = buffer[w]


@inlined
def no_candidates(keep, hit, said, size):  # type: ignore[no-untyped-def]
    """keep[w] = 1 for values that are no candidates, 0 for candidates: multiplying is faster than branching."""
    for w in range(size):
        keep[w] = 0.0 if hit[np.uint64(said + w)] else 1.0
