"""Backward recursions over an automaton and one chain for each line, for all ends of intervals side by side.

The recursion computes, for each state and value before a step, the probability that the sequence is found from there up
to each end. Weighted with the probability of each value at its first step, this gives the probability of an interval.
States are the classes that differ in what is found next: what follows the first match makes no difference.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats, Ints, compiled, inlined, inlined_always
from presage.operators.sequence.kernel.safe.chain_rows import Intervals
from presage.operators.sequence.kernel.safe.chains.tiles import (
    FOUR,
    FOUR_TILES,
    ONE_TILE,
    THREE_TILES,
    TILE,
    TWO_TILES,
    ChainMoves,
    eights,
    row_of,
    whole_eights,
)
from presage.operators.sequence.kernel.safe.chains.two_states import back_two, push_two, roles_of


class ChainTables(NamedTuple):
    """Chains of a Markov source as tables: probabilities table[chain, step, value before, value], and
    says[chain, step, value], the code of a value. `size`: number of values, including no event."""

    steps: int
    size: int
    table: Floats
    says: np.ndarray


class ClassAutomaton(NamedTuple):
    """`follow` by state and letter; `classes` by state; `moves` by class and letter, -1 where the sequence is found;
    `order` of the classes: see `outward`."""

    follow: Ints
    classes: Ints
    moves: Ints
    order: Ints


@compiled
def markov_backward(spans: Intervals, chains: Ints, tables: ChainTables, automaton: ClassAutomaton) -> Floats:
    """(owners, ends, starts): the probability that at least one line of an owner holds. chains[line] is -1 for none.
    Letters of the automaton are codes of values. O(steps · ends · classes · values²) for a line."""
    starts, ends, owner, owners = spans
    steps, size, table, says = tables
    follow, classes, moves, order = automaton
    own_starts, out = _by_start(owners, starts, ends)
    states, blocks = len(follow), len(order)
    comes = np.empty(steps * blocks * size, np.float64)
    buffer = _lines(blocks, size, len(ends))
    roles = roles_of(size, follow, moves)
    mass = np.empty((steps + 1) * states * size, np.float64)
    for line in range(len(chains)):
        if chains[line] < 0:
            continue
        base, said = chains[line] * steps * size * size, chains[line] * steps * size
        last = ends[-1] + 1 if len(ends) else 0
        if len(roles):
            leads = push_two(last, table, base, says, said, follow, roles, comes)
            if leads:
                back_two(out, owner[line], own_starts, ends, table, base, leads, comes, buffer)
                continue
        else:
            comes[:] = 0.0
            mass[:] = 0.0
            mass[0] = 1.0
            for t in range(last):
                at, meant = base + t * size * size, said + t * size
                _push(mass, t, size, table, at, says, meant, follow, classes, comes, blocks)
        chain = ChainMoves(table, base, says, said, size)
        _back(out, owner[line], own_starts, ends, chain, size, moves, order, comes, buffer)
    turned: Floats = _by_end(out, owners, own_starts, starts, ends)
    return turned


@inlined_always
def _push(mass, t, size, table, at, says, said, follow, classes, comes, blocks):  # type: ignore[no-untyped-def]
    """Advance mass[step, state, value] by one step; comes[step, class, value] is what reaches a value from a class."""
    states = len(follow)
    for state in range(states):
        old, to = (t * states + state) * size, (t * blocks + classes[np.uint64(state)]) * size
        a, b, c, d = row_of(mass, old)
        for w in range(size):
            i = np.uint64(at + w)
            if size == FOUR:
                p = (a * table[i] + b * table[i + np.uint64(4)]) + (
                    c * table[i + np.uint64(8)] + d * table[i + np.uint64(12)]
                )
            else:
                p = 0.0
                for v in range(size):
                    p += mass[np.uint64(old + v)] * table[i + np.uint64(v * size)]
            comes[np.uint64(to + w)] += p
            after = follow[np.uint64(state), np.uint64(says[np.uint64(said + w)])]
            mass[np.uint64(((t + 1) * states + after) * size + w)] += p


@compiled
def independent_backward(
    spans: Intervals, steps: int, chains: Ints, chances: Floats, follow: Ints, classes: Ints, moves: Ints
) -> Floats:
    """As `markov_backward`, over chains without memory: chances[chain, step, letter], where letter 0 has the rest of
    the probability. The classes take the part of a chain's values; the last value means that the sequence is found."""
    starts, ends, owner, owners = spans
    own_starts, out = _by_start(owners, starts, ends)
    states, letters, count = len(follow), follow.shape[1], len(moves)
    size = max(count + 1, FOUR)
    table, comes = np.empty(steps * size * size, np.float64), np.empty(steps * size, np.float64)
    says = np.zeros(size, np.uint8)
    says[count] = 1
    whole, first = np.zeros((1, 2), np.int64), np.zeros(1, np.int64)
    whole[0, 1] = -1
    buffer = _lines(1, size, len(ends))
    mass, after = np.empty(states, np.float64), np.empty(states, np.float64)
    for line in range(len(chains)):
        if chains[line] < 0:
            continue
        table[:] = 0.0
        comes[:] = 0.0
        mass[:] = 0.0
        mass[0] = 1.0
        for t in range(ends[-1] + 1 if len(ends) else 0):
            after[:] = 0.0
            for letter in range(letters):
                p = chances[np.uint64((chains[line] * steps + t) * letters + letter)]
                if p:
                    for state in range(states):
                        after[np.uint64(follow[state, letter])] += p * mass[np.uint64(state)]
                        to = moves[classes[state], letter]
                        comes[np.uint64(t * size + (to if to >= 0 else count))] += p * mass[np.uint64(state)]
                    for own in range(count):
                        to = moves[own, letter]
                        table[np.uint64((t * size + own) * size + (to if to >= 0 else count))] += p
            mass, after = after, mass
        _back(out, owner[line], own_starts, ends, ChainMoves(table, 0, says, 0, size), 0, whole, first, comes, buffer)
    turned: Floats = _by_end(out, owners, own_starts, starts, ends)
    return turned


@inlined
def _lines(blocks, size, ends):  # type: ignore[no-untyped-def]
    """[tile, state, value, end], with one more line for each state: the result of an interval that begins there."""
    return np.zeros((ends + TILE - 1) // TILE * blocks * (size + 1) * TILE, np.float64)


@inlined
def _by_start(owners, starts, ends):  # type: ignore[no-untyped-def]
    """Distinct starts, and an array [owner, start, end] whose lines are padded to multiples of eight."""
    own = np.unique(starts)
    return own, np.zeros(owners * len(own) * whole_eights(len(ends)), np.float64)


@inlined
def _by_end(out, owners, own_starts, starts, ends):  # type: ignore[no-untyped-def]
    """Transpose [owner, start, end] to (owners, ends, starts); intervals that end before they start stay 0."""
    turned, wide = np.zeros(owners * len(ends) * len(starts), np.float64), whole_eights(len(ends))
    begun, place = np.searchsorted(starts, ends, side="right"), np.searchsorted(own_starts, starts) * wide
    for i in range(owners):
        for e in range(len(ends)):
            to, old = (i * len(ends) + e) * len(starts), i * len(own_starts) * wide + e
            for s in range(begun[e]):
                turned[np.uint64(to + s)] = out[np.uint64(old + place[np.uint64(s)])]
    return turned.reshape((owners, len(ends), len(starts)))


@inlined
def _back(out, own, starts, ends, chain, stride, moves, order, comes, x):  # type: ignore[no-untyped-def]
    """Unite one line with out[own, start, end] (see `_by_start`). `stride`: distance between the codes of two steps."""
    table, base, says, said, size = chain
    columns, blocks = len(ends), len(order)
    tiles, high, wide = (columns + TILE - 1) // TILE, (size + 1) * TILE, whole_eights(columns)
    far = blocks * high
    buffer = np.empty((size + 1) * TILE, np.float64)
    # By state and value: whether the search goes on, and the other state that it leads to (-1: none).
    keep, leads = np.empty(blocks * size, np.float64), np.empty(blocks * size, np.int64)
    known = -1
    lo, s = columns, len(starts) - 1
    for t in range(ends[-1] if columns else -1, -1, -1):
        while lo > 0 and ends[lo - 1] == t:
            lo -= 1
            i = lo // TILE * far + lo % TILE
            for k in range(blocks * (size + 1)):
                x[np.uint64(i + k * TILE)] = 0.0
        while s >= 0 and starts[s] > t:
            s -= 1
        at, meant = base + t * size * size, said + t * stride
        if known < 0 or not _same(says, known, meant, size):
            _meanings(says, meant, size, moves, keep, leads)
        known = meant
        for block in order:
            for w in range(size):
                after = leads[np.uint64(block * size + w)]
                if after >= 0:
                    for tile in range(lo // TILE, tiles):
                        line = tile * far + w * TILE
                        begin, end = eights(tile, lo, columns)
                        _copy(x, line + block * high, line + after * high, begin, end)
            arrived = (t * blocks + block) * size
            for tile in range(lo // TILE, tiles):
                begin, end = eights(tile, lo, columns)
                here = tile * far + block * high
                if size == FOUR:
                    _back_four(x, here, begin, end, table, at, keep, block * size, comes, arrived)
                else:
                    _back_any(x, here, begin, end, size, table, at, keep, block * size, comes, arrived, buffer)
        if s >= 0 and starts[s] == t:
            for tile in range(lo // TILE, tiles):
                begin, end = eights(tile, lo, columns)
                to = (own * len(starts) + s) * wide + tile * TILE
                _unite(out, to, x, tile * far + size * TILE, high, blocks, begin, end)


@inlined_always
def _same(says, one, other, size):  # type: ignore[no-untyped-def]
    """Whether the values have the same codes at two steps, as they mostly do."""
    same = True
    for w in range(size):
        same &= says[np.uint64(one + w)] == says[np.uint64(other + w)]
    return same


@inlined
def _meanings(says, meant, size, moves, keep, leads):  # type: ignore[no-untyped-def]
    """Write `keep` and `leads` of a step: see `_back`."""
    for block in range(len(moves)):
        for w in range(size):
            after = moves[block, says[np.uint64(meant + w)]]
            keep[block * size + w] = 1.0 if after >= 0 else 0.0
            leads[block * size + w] = after if after != block else -1


@inlined
def _copy(x, to, old, begin, end):  # type: ignore[no-untyped-def]
    for column in range(begin, end):
        x[np.uint64(to + column)] = x[np.uint64(old + column)]


@inlined
def _back_four(x, block, begin, end, table, at, keep, own, comes, arrived):  # type: ignore[no-untyped-def]
    """A step back from one state; `keep` is 0 for values that find the sequence. The line behind those of the values is
    the result of an interval that begins at the step, from what comes to each value at it."""
    k0, k1, k2, k3 = row_of(keep, own)
    a0, a1, a2, a3, a = _kept(table, at, k0, k1, k2, k3)
    b0, b1, b2, b3, b = _kept(table, at + 4, k0, k1, k2, k3)
    c0, c1, c2, c3, c = _kept(table, at + 8, k0, k1, k2, k3)
    d0, d1, d2, d3, d = _kept(table, at + 12, k0, k1, k2, k3)
    p, q, r, s, sure = _kept(comes, arrived, k0, k1, k2, k3)
    for column in range(begin, end):
        i = np.uint64(block + column)
        x0, x1, x2, x3 = x[i], x[i + ONE_TILE], x[i + TWO_TILES], x[i + THREE_TILES]
        x[i] = (x0 * a0 + x1 * a1) + (x2 * a2 + x3 * a3) + a
        x[i + ONE_TILE] = (x0 * b0 + x1 * b1) + (x2 * b2 + x3 * b3) + b
        x[i + TWO_TILES] = (x0 * c0 + x1 * c1) + (x2 * c2 + x3 * c3) + c
        x[i + THREE_TILES] = (x0 * d0 + x1 * d1) + (x2 * d2 + x3 * d3) + d
        x[i + FOUR_TILES] = (x0 * p + x1 * q) + (x2 * r + x3 * s) + sure


@inlined
def _kept(table, at, k0, k1, k2, k3):  # type: ignore[no-untyped-def]
    """Four transition probabilities, 0 for values that find the sequence, and the sum of those."""
    p, q, r, s = row_of(table, at)
    sure = ((1.0 - k0) * p + (1.0 - k1) * q) + ((1.0 - k2) * r + (1.0 - k3) * s)
    return k0 * p, k1 * q, k2 * r, k3 * s, sure


@inlined
def _back_any(x, block, begin, end, size, table, at, keep, own, comes, arrived, buffer):  # type: ignore[no-untyped-def]
    """As `_back_four`, for any number of values."""
    for v in range(size + 1):
        to, sure = v * TILE, 0.0
        for w in range(size):
            sure += (1.0 - keep[own + w]) * (table[at + v * size + w] if v < size else comes[arrived + w])
        for column in range(begin, end):
            buffer[np.uint64(to + column)] = sure
        for w in range(size):
            p, old = keep[own + w] * (table[at + v * size + w] if v < size else comes[arrived + w]), block + w * TILE
            if p:
                for column in range(begin, end):
                    buffer[np.uint64(to + column)] += p * x[np.uint64(old + column)]
    for v in range(size + 1):
        old, to = v * TILE, block + v * TILE
        for column in range(begin, end):
            x[np.uint64(to + column)] = buffer[np.uint64(old + column)]


@inlined
def _unite(out, to, x, line, high, blocks, begin, end):  # type: ignore[no-untyped-def]
    """Unite the results of all states with those of other lines, for one start and tile."""
    for own in range(2, blocks):
        for column in range(begin, end):
            x[np.uint64(line + column)] += x[np.uint64(line + own * high + column)]
    if blocks == 1:
        for column in range(begin, end):
            i = np.uint64(to + column)
            out[i] += x[np.uint64(line + column)] * (1.0 - out[i])
    else:
        for column in range(begin, end):
            i = np.uint64(to + column)
            out[i] += (x[np.uint64(line + column)] + x[np.uint64(line + high + column)]) * (1.0 - out[i])
