"""One step of the weights of a Markov chain's values, for many columns at once.

Columns (intervals, or candidates that are still to come) stand side by side in tiles: [tile, value, place in the tile].
The size of a tile is known to the compiler, and so is then that a step can be made in place, several columns at once.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import inlined

TILE = 64
FOUR = 4  # values, with no event: fewer are taken for as many
ONE_TILE, TWO_TILES, THREE_TILES = np.uint64(TILE), np.uint64(2 * TILE), np.uint64(3 * TILE)
FOUR_TILES = np.uint64(4 * TILE)


@inlined
def row_of(table, base):  # type: ignore[no-untyped-def]
    """Four chances of a move."""
    i = np.uint64(base)
    return table[i], table[i + np.uint64(1)], table[i + np.uint64(2)], table[i + np.uint64(3)]


@inlined
def fours(tile, lo, hi):  # type: ignore[no-untyped-def]
    """Columns of a tile from lo to hi, and some beside them: four at a time, so that none are left over."""
    return max(lo - tile * TILE, 0) // 4 * 4, min((hi - tile * TILE + 3) // 4 * 4, TILE)


@inlined
def eights(tile, lo, hi):  # type: ignore[no-untyped-def]
    """As `fours`, eight at a time."""
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


@inlined
def times(x, buffer, lo, hi, size, m, at, down, across):  # type: ignore[no-untyped-def]
    """Columns lo … hi - 1, and some of no meaning beside them: x[w] = Σ x[v] · m[at + v · down + w · across]."""
    if hi <= lo:
        return
    a0, a1, a2, a3 = m[at], m[at + across], m[at + 2 * across], m[at + 3 * across]
    at1 = at + down
    b0, b1, b2, b3 = m[at1], m[at1 + across], m[at1 + 2 * across], m[at1 + 3 * across]
    at2 = at + 2 * down
    c0, c1, c2, c3 = m[at2], m[at2 + across], m[at2 + 2 * across], m[at2 + 3 * across]
    at3 = at + 3 * down
    d0, d1, d2, d3 = m[at3], m[at3 + across], m[at3 + 2 * across], m[at3 + 3 * across]
    for tile in range(lo // TILE, (hi - 1) // TILE + 1):
        begin, end = fours(tile, lo, hi)
        base = tile * size * TILE
        if size == 4:
            for column in range(begin, end):
                i = np.uint64(base + column)
                j, k, n = i + np.uint64(TILE), i + np.uint64(2 * TILE), i + np.uint64(3 * TILE)
                a, b, c, d = x[i], x[j], x[k], x[n]
                x[i] = (a * a0 + b * b0) + (c * c0 + d * d0)
                x[j] = (a * a1 + b * b1) + (c * c1 + d * d1)
                x[k] = (a * a2 + b * b2) + (c * c2 + d * d2)
                x[n] = (a * a3 + b * b3) + (c * c3 + d * d3)
        else:
            for w in range(size):
                to = w * TILE
                for column in range(begin, end):
                    buffer[np.uint64(to + column)] = 0.0
                for v in range(size):
                    p, old = m[at + v * down + w * across], base + v * TILE
                    if p:
                        for column in range(begin, end):
                            buffer[np.uint64(to + column)] += p * x[np.uint64(old + column)]
            for w in range(size):
                for column in range(begin, end):
                    x[np.uint64(base + w * TILE + column)] = buffer[np.uint64(w * TILE + column)]


@inlined
def step_on(weights, m, at, size, buffer):  # type: ignore[no-untyped-def]
    """Weights of values one step on."""
    if size == 4:
        a, b, c, d = weights[0], weights[1], weights[2], weights[3]
        for w in range(4):
            i = np.uint64(at + w)
            weights[w] = (a * m[i] + b * m[i + np.uint64(4)]) + (c * m[i + np.uint64(8)] + d * m[i + np.uint64(12)])
        return
    for w in range(size):
        buffer[w] = 0.0
    for v in range(size):
        for w in range(size):
            buffer[w] += weights[v] * m[np.uint64(at + v * size + w)]
    for w in range(size):
        weights[w] = buffer[w]


@inlined
def no_candidates(keep, hit, said, size):  # type: ignore[no-untyped-def]
    """1 for values that are no candidates. To multiply is faster than to ask."""
    for w in range(size):
        keep[w] = 0.0 if hit[np.uint64(said + w)] else 1.0
