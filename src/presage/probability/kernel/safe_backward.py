"""One chain a line and an automaton in, the chances of intervals out: backwards, all ends of intervals side by side.

From a state and a value before a step: the chance that the sequence is found from there up to each end. Going back a
step puts together what comes of each value; with what is before an interval, that tells of the interval. The states
are those that differ in what is found next, as what comes after that makes no difference.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, Ints, compiled, inlined
from presage.probability.kernel.safe_tiles import (
    FOUR,
    FOUR_TILES,
    ONE_TILE,
    THREE_TILES,
    TILE,
    TWO_TILES,
    eights,
    row_of,
    whole_eights,
)


@compiled
def markov_backward(
    starts: Ints, ends: Ints, owner: Ints, owners: int, steps: int, size: int, chains: Ints,
    table: Floats, says: np.ndarray, follow: Ints, classes: Ints, moves: Ints, order: Ints,
) -> Floats:  # fmt: skip
    """(owners, ends, starts): the chance that at least one of an owner's lines has held. chains[line] (-1: none) moves
    by table[chain, step, value before, value] and says[chain, step, value] what its value means. By state and meaning:
    `follow`; `classes` are those of states; by class and meaning: `moves`, -1 where the sequence is found; `order`:
    see `outward`. O(steps · ends · classes · values²) for a line."""
    out = np.zeros(owners * len(starts) * whole_eights(len(ends)), np.float64)
    states, blocks = len(follow), len(order)
    before = np.empty(steps * blocks * size, np.float64)
    room = _room(blocks, size, len(ends))
    mass, after = np.empty(states * size, np.float64), np.empty(states * size, np.float64)
    for line in range(len(chains)):
        if chains[line] < 0:
            continue
        base, said = chains[line] * steps * size * size, chains[line] * steps * size
        before[:] = 0.0
        mass[:] = 0.0
        mass[0] = 1.0
        for t in range(ends[-1] + 1 if len(ends) else 0):
            for state in range(states):
                here = (t * blocks + classes[state]) * size
                for v in range(size):
                    before[np.uint64(here + v)] += mass[np.uint64(state * size + v)]
            _push(mass, after, size, table, base + t * size * size, says, said + t * size, follow)
            mass, after = after, mass
        here = owner[line] * len(starts) * whole_eights(len(ends))
        _back(out, here, starts, ends, size, table, base, says, said, size, moves, order, False, before, room)
    turned: Floats = _by_end(out, owners, starts, ends)
    return turned


@inlined
def _push(mass, after, size, table, at, says, said, follow):  # type: ignore[no-untyped-def]
    """One step of all mass: after[state, value]."""
    after[:] = 0.0
    for state in range(len(follow)):
        here = state * size
        if size == FOUR:
            a, b, c, d = row_of(mass, here)
            for w in range(FOUR):
                i = np.uint64(at + w)
                p = (a * table[i] + b * table[i + np.uint64(4)]) + (
                    c * table[i + np.uint64(8)] + d * table[i + np.uint64(12)]
                )
                after[np.uint64(follow[state, says[np.uint64(said + w)]] * size + w)] += p
        else:
            for w in range(size):
                to = np.uint64(follow[state, says[np.uint64(said + w)]] * size + w)
                for v in range(size):
                    after[to] += mass[np.uint64(here + v)] * table[np.uint64(at + v * size + w)]


@compiled
def independent_backward(
    starts: Ints, ends: Ints, owner: Ints, owners: int, steps: int, chains: Ints,
    chances: Floats, follow: Ints, classes: Ints, moves: Ints,
) -> Floats:  # fmt: skip
    """As `markov_backward`, over chains that forget: chances[chain, step, letter], of which 0 is whatever is left to 1.
    The classes are the values of a chain, and the last one is that the sequence is found."""
    out = np.zeros(owners * len(starts) * whole_eights(len(ends)), np.float64)
    states, letters, count = len(follow), follow.shape[1], len(moves)
    size = max(count + 1, FOUR)
    table, before = np.empty(steps * size * size, np.float64), np.empty(steps * size, np.float64)
    says = np.zeros(size, np.uint8)
    says[count] = 1
    whole, first = np.zeros((1, 2), np.int64), np.zeros(1, np.int64)
    whole[0, 1] = -1
    room = _room(1, size, len(ends))
    mass, after = np.empty(states, np.float64), np.empty(states, np.float64)
    for line in range(len(chains)):
        if chains[line] < 0:
            continue
        table[:] = 0.0
        before[:] = 0.0
        mass[:] = 0.0
        mass[0] = 1.0
        for t in range(ends[-1] + 1 if len(ends) else 0):
            after[:] = 0.0
            for state in range(states):
                before[np.uint64(t * size + classes[state])] += mass[np.uint64(state)]
            for letter in range(letters):
                p = chances[np.uint64((chains[line] * steps + t) * letters + letter)]
                if p:
                    for state in range(states):
                        after[np.uint64(follow[state, letter])] += p * mass[np.uint64(state)]
                    for own in range(count):
                        to = moves[own, letter]
                        table[np.uint64((t * size + own) * size + (to if to >= 0 else count))] += p
            mass, after = after, mass
        here = owner[line] * len(starts) * whole_eights(len(ends))
        _back(out, here, starts, ends, size, table, 0, says, 0, 0, whole, first, count == 2, before, room)
    turned: Floats = _by_end(out, owners, starts, ends)
    return turned


@inlined
def _room(blocks, size, ends):  # type: ignore[no-untyped-def]
    """[tile, state, value, end], with a line more for each state: what comes of an interval that begins there."""
    return np.zeros((ends + TILE - 1) // TILE * blocks * (size + 1) * TILE, np.float64)


@inlined
def _by_end(out, owners, starts, ends):  # type: ignore[no-untyped-def]
    """(owners, ends, starts), where `out` is by start and end. What ends before it starts has no meaning there."""
    turned, wide = np.zeros(owners * len(ends) * len(starts), np.float64), whole_eights(len(ends))
    begun = np.searchsorted(starts, ends, side="right")
    for i in range(owners):
        for e in range(len(ends)):
            to, old = (i * len(ends) + e) * len(starts), i * len(starts) * wide + e
            for s in range(begun[e]):
                turned[np.uint64(to + s)] = out[np.uint64(old + s * wide)]
    return turned.reshape((owners, len(ends), len(starts)))


@inlined
def _back(out, here, starts, ends, size, table, base, says, said, stride, moves, order, two, before, x):  # type: ignore[no-untyped-def]
    """One line, to out[here + start, end], in lines of whole eights: the chance that this or what is there has held.
    What the values mean at a step is `stride` after what they mean at the one before. `two`: of four values only the
    first two come about without that the sequence is found."""
    columns, blocks = len(ends), len(order)
    tiles, high = (columns + TILE - 1) // TILE, (size + 1) * TILE
    far = blocks * high
    keep, sums = np.empty(size, np.float64), np.empty(size * TILE, np.float64)
    lo, s = columns, len(starts) - 1
    for t in range(ends[-1] if columns else -1, -1, -1):
        while lo > 0 and ends[lo - 1] == t:
            lo -= 1
            i = lo // TILE * far + lo % TILE
            for k in range(blocks * (size + 1)):
                x[np.uint64(i + k * TILE)] = 0.0
        at, meant = base + t * size * size, said + t * stride
        for own in order:
            weights = (t * blocks + own) * size
            for w in range(size):
                to = moves[own, says[np.uint64(meant + w)]]
                keep[np.uint64(w)] = 1.0 if to >= 0 else 0.0
                if to >= 0 and to != own:
                    for tile in range(lo // TILE, tiles):
                        line = tile * far + w * TILE
                        _copy(x, line + own * high, line + to * high, tile, lo, columns)
            for tile in range(lo // TILE, tiles):
                block = tile * far + own * high
                if two:
                    _back_two(x, block, tile, lo, columns, table, at, before, weights)
                elif size == FOUR:
                    _back_four(x, block, tile, lo, columns, table, at, keep, before, weights)
                else:
                    _back_any(x, block, tile, lo, columns, size, table, at, keep, before, weights, sums)
        while s >= 0 and starts[s] >= t:
            if starts[s] == t:
                for tile in range(lo // TILE, tiles):
                    _unite(
                        out,
                        here + s * whole_eights(columns),
                        x,
                        tile,
                        far,
                        high,
                        blocks,
                        size,
                        lo,
                        columns,
                    )
            s -= 1


@inlined
def _copy(x, to, old, tile, lo, hi):  # type: ignore[no-untyped-def]
    begin, end = eights(tile, lo, hi)
    for column in range(begin, end):
        x[np.uint64(to + column)] = x[np.uint64(old + column)]


@inlined
def _back_four(x, block, tile, lo, hi, table, at, keep, before, weights):  # type: ignore[no-untyped-def]
    """A step back from one state, whose values' lines are those that they lead to; `keep` is 0 for values by which the
    sequence is found."""
    k0, k1, k2, k3 = row_of(keep, 0)
    a0, a1, a2, a3, a = _kept(table, at, k0, k1, k2, k3)
    b0, b1, b2, b3, b = _kept(table, at + 4, k0, k1, k2, k3)
    c0, c1, c2, c3, c = _kept(table, at + 8, k0, k1, k2, k3)
    d0, d1, d2, d3, d = _kept(table, at + 12, k0, k1, k2, k3)
    p, q, r, s = row_of(before, weights)
    begin, end = eights(tile, lo, hi)
    if k1 + k2 + k3 == 0.0:
        # All but no event find it.
        for column in range(begin, end):
            i = np.uint64(block + column)
            e, f, g, h = x[i] * a0 + a, x[i] * b0 + b, x[i] * c0 + c, x[i] * d0 + d
            x[i], x[i + ONE_TILE], x[i + TWO_TILES], x[i + THREE_TILES] = e, f, g, h
            x[i + FOUR_TILES] = (e * p + f * q) + (g * r + h * s)
        return
    for column in range(begin, end):
        i = np.uint64(block + column)
        x0, x1, x2, x3 = x[i], x[i + ONE_TILE], x[i + TWO_TILES], x[i + THREE_TILES]
        e = (x0 * a0 + x1 * a1) + (x2 * a2 + x3 * a3) + a
        f = (x0 * b0 + x1 * b1) + (x2 * b2 + x3 * b3) + b
        g = (x0 * c0 + x1 * c1) + (x2 * c2 + x3 * c3) + c
        h = (x0 * d0 + x1 * d1) + (x2 * d2 + x3 * d3) + d
        x[i], x[i + ONE_TILE], x[i + TWO_TILES], x[i + THREE_TILES] = e, f, g, h
        x[i + FOUR_TILES] = (e * p + f * q) + (g * r + h * s)


@inlined
def _back_two(x, block, tile, lo, hi, table, at, before, weights):  # type: ignore[no-untyped-def]
    """As `_back_four`, where other values lead nowhere."""
    a0, a1, _, _, a = _kept(table, at, 1.0, 1.0, 0.0, 0.0)
    b0, b1, _, _, b = _kept(table, at + 4, 1.0, 1.0, 0.0, 0.0)
    p, q, _, _ = row_of(before, weights)
    begin, end = eights(tile, lo, hi)
    for column in range(begin, end):
        i = np.uint64(block + column)
        e, f = (x[i] * a0 + x[i + ONE_TILE] * a1) + a, (x[i] * b0 + x[i + ONE_TILE] * b1) + b
        x[i], x[i + ONE_TILE], x[i + FOUR_TILES] = e, f, e * p + f * q


@inlined
def _kept(table, at, k0, k1, k2, k3):  # type: ignore[no-untyped-def]
    """Four chances of a move, without those by which the sequence is found; and these together."""
    p, q, r, s = row_of(table, at)
    sure = ((1.0 - k0) * p + (1.0 - k1) * q) + ((1.0 - k2) * r + (1.0 - k3) * s)
    return k0 * p, k1 * q, k2 * r, k3 * s, sure


@inlined
def _back_any(x, block, tile, lo, hi, size, table, at, keep, before, weights, sums):  # type: ignore[no-untyped-def]
    begin, end = eights(tile, lo, hi)
    for v in range(size):
        to, sure = v * TILE, 0.0
        for w in range(size):
            sure += (1.0 - keep[w]) * table[at + v * size + w]
        for column in range(begin, end):
            sums[np.uint64(to + column)] = sure
        for w in range(size):
            p, old = keep[w] * table[at + v * size + w], block + w * TILE
            if p:
                for column in range(begin, end):
                    sums[np.uint64(to + column)] += p * x[np.uint64(old + column)]
    total = block + size * TILE
    for column in range(begin, end):
        x[np.uint64(total + column)] = 0.0
    for v in range(size):
        p, old, to = before[weights + v], v * TILE, block + v * TILE
        for column in range(begin, end):
            x[np.uint64(to + column)] = sums[np.uint64(old + column)]
            x[np.uint64(total + column)] += p * sums[np.uint64(old + column)]


@inlined
def _unite(out, to, x, tile, far, high, blocks, size, lo, hi):  # type: ignore[no-untyped-def]
    """One start, in one tile: what comes of all states."""
    first = tile * TILE
    begin, end = eights(tile, lo, hi)
    line = tile * far + size * TILE
    for own in range(2, blocks):
        for column in range(begin, end):
            x[np.uint64(line + column)] += x[np.uint64(line + own * high + column)]
    if blocks == 1:
        for column in range(begin, end):
            i = np.uint64(to + first + column)
            out[i] += x[np.uint64(line + column)] * (1.0 - out[i])
    else:
        for column in range(begin, end):
            i = np.uint64(to + first + column)
            out[i] += (x[np.uint64(line + column)] + x[np.uint64(line + high + column)]) * (1.0 - out[i])
