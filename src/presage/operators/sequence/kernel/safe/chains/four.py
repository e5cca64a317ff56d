"""The loops of `renewal` for chains of up to three values of which one is the candidate.

Value 0 is no event, value 3 is always a candidate, and no other value is. A transition matrix has 16 probabilities:
[value before, value]. Each loop does all the work of a step on a column: columns are few, so that starting a loop costs
as much as running it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Ints, inlined
from presage.operators.sequence.kernel.safe.chains.tiles import (
    FOUR,
    ONE_TILE,
    THREE_TILES,
    TILE,
    TWO_TILES,
    fours,
    row_of,
    step_four,
)


class GoalIntervals(NamedTuple):
    """The intervals of one goal of a line: from one of `starts` to one of `ends`, in lines of results that are `stride`
    apart. Inputs, in lines that are `width` apart, are the probabilities that the goals before it hold from step
    since[j] up to the step before witness[i]; since[0] is the beginning."""

    starts: Ints
    ends: Ints
    stride: int
    since: Ints
    witness: Ints
    width: int


@inlined
def _marginals(after, table, base, steps):  # type: ignore[no-untyped-def]
    """To after[step, value]: the probability of each value."""
    a, b, c, d = 1.0, 0.0, 0.0, 0.0
    for t in range(steps):
        a0, a1, a2, a3 = row_of(table, base + 16 * t)
        b0, b1, b2, b3 = row_of(table, base + 16 * t + 4)
        c0, c1, c2, c3 = row_of(table, base + 16 * t + 8)
        d0, d1, d2, d3 = row_of(table, base + 16 * t + 12)
        e, f = (a * a0 + b * b0) + (c * c0 + d * d0), (a * a1 + b * b1) + (c * c1 + d * d1)
        g, h = (a * a2 + b * b2) + (c * c2 + d * d2), (a * a3 + b * b3) + (c * c3 + d * d3)
        a, b, c, d = e, f, g, h
        to = np.uint64(4 * t)
        after[to], after[to + np.uint64(1)], after[to + np.uint64(2)], after[to + np.uint64(3)] = a, b, c, d


@inlined
def first_four(result, last, there, spans, table, base, after, row):  # type: ignore[no-untyped-def]
    """The first goal of a line: the probability of a candidate during each interval, to result[start, end]. If the goal
    is the `last` one, it is united with result[there + end, start] instead. Intervals that end before they start are
    left out.

    Backwards, by end: x[value before the step] is the probability that a candidate follows."""
    starts, ends, stride, _, _, _ = spans
    steps, columns = ends[-1] + 1, len(ends)
    _marginals(after, table, base, steps)
    tiles = (columns + TILE - 1) // TILE
    x = np.zeros(tiles * 3 * TILE, np.float64)
    lo, s = columns, len(starts) - 1
    while s >= 0 and starts[s] >= steps:
        s -= 1
    for t in range(steps - 1, -1, -1):
        while lo > 0 and ends[lo - 1] == t:
            lo -= 1
            i = np.uint64(lo // TILE * 3 * TILE + lo % TILE)
            x[i] = x[i + ONE_TILE] = x[i + TWO_TILES] = 0.0
        # From the values after the step: the probability of a candidate at it or later, by the value before it.
        to, at = (row, 0) if last or s < 0 or starts[s] != t else (result, s * stride)
        p, q, r, h = row_of(after, 4 * t)
        a0, a1, a2, a3 = row_of(table, base + 16 * t)
        b0, b1, b2, b3 = row_of(table, base + 16 * t + 4)
        c0, c1, c2, c3 = row_of(table, base + 16 * t + 8)
        for tile in range(lo // TILE, tiles):
            begin, end = fours(tile, lo, columns)
            here, own = tile * 3 * TILE, at + tile * TILE
            for column in range(begin, end):
                i = np.uint64(here + column)
                a, b, c = x[i], x[i + ONE_TILE], x[i + TWO_TILES]
                to[np.uint64(own + column)] = (a * p + b * q) + (c * r + h)
                x[i] = (a * a0 + b * a1) + (c * a2 + a3)
                x[i + ONE_TILE] = (a * b0 + b * b1) + (c * b2 + b3)
                x[i + TWO_TILES] = (a * c0 + b * c1) + (c * c2 + c3)
        given = s
        while s >= 0 and starts[s] == t:
            if last:
                for e in range(lo, columns):
                    i = np.uint64(there + e * len(starts) + s)
                    result[i] += row[np.uint64(e)] * (1.0 - result[i])
            elif s < given:
                for e in range(lo, columns):
                    result[np.uint64(s * stride + e)] = result[np.uint64(given * stride + e)]
            s -= 1


@inlined
def _lead(leads, first, steps, table, base):  # type: ignore[no-untyped-def]
    """Backwards, to leads[tile, step, value before the step, witness]: the probability of a candidate at the witness.
    The steps of a tile are adjacent, so that their distance is known to the compiler."""
    columns = first[steps]
    for tile in range((columns + TILE - 1) // TILE):
        lo, hi = tile * TILE, min((tile + 1) * TILE, columns)
        here = ((tile + 1) * steps - 1) * FOUR * TILE
        for t in range(steps - 1, -1, -1):
            if first[t + 1] < hi:
                begin, end = max(first[t + 1] - lo, 0) // 4 * 4, (hi - lo + 3) // 4 * 4
                step_four(leads, here, FOUR * TILE, table, base + 16 * t, 1, FOUR, begin, end)
            if lo <= first[t] < first[t + 1] and first[t] < hi:
                for v in range(4):
                    leads[np.uint64(here + v * TILE + first[t] - lo)] = table[np.uint64(base + 16 * t + 4 * v + 3)]
            here -= FOUR * TILE


@inlined
def next_four(result, last, there, inputs, spans, table, base, leads, after):  # type: ignore[no-untyped-def]
    """One more goal of a line, whose candidates are all accepted, as `first_four`. Returns `leads`, which `_lead`
    writes and which may have grown."""
    starts, ends, stride, since, witness, width = spans
    steps = ends[-1] + 1
    _marginals(after, table, base, steps)
    # Witnesses before step t are those below first[t]. `came` has a line for each witness, and one for steps without,
    # with a column for each start up to the next step; `place` is where a line begins.
    first, place = np.empty(steps + 1, np.int64), np.empty(len(witness) + 1, np.int64)
    count, begun, size = 0, 0, 0
    for t in range(steps):
        first[t] = count
        while begun < len(starts) and starts[begun] <= t + 1:
            begun += 1
        if count < len(witness) and witness[count] == t:
            place[count] = size
            size += (begun + 3) // 4 * 4
            count += 1
    first[steps], place[count] = count, size
    tiles = (count + TILE - 1) // TILE
    if len(leads) < steps * tiles * FOUR * TILE:
        leads = np.empty(steps * tiles * FOUR * TILE, np.float64)
    _lead(leads, first, steps, table, base)
    # By witness: weight of each value since the latest candidate before the interval, times the input. Value 3, a
    # candidate at the step before, follows from the input and its weight; its line holds the result instead.
    waits = np.zeros(tiles * FOUR * TILE, np.float64)
    for k in range(count):
        waits[np.uint64(k // TILE * FOUR * TILE + k % TILE)] = inputs[np.uint64(k)]
    # By start: weight of each value since the latest candidate in the interval, if the sequence has held. A candidate
    # at the step before is in `came`.
    held = np.zeros((len(starts) + TILE - 1) // TILE * FOUR * TILE, np.float64)
    came = np.zeros(size + len(starts) + 3, np.float64)
    begun, asked, j = 0, 0, 0
    weight, source, latest = 0.0, 0, count
    for t in range(steps):
        lo = first[t]
        _wait(waits, leads, t, steps, lo, count, table, base + 16 * t, weight, inputs, source)
        while begun < len(starts) and starts[begun] == t:
            for tile in range(lo // TILE, tiles):
                old = (tile * FOUR + 3) * TILE - tile * TILE
                for k in range(max(lo, tile * TILE), min(count, (tile + 1) * TILE)):
                    came[np.uint64(place[np.uint64(k)] + begun)] = waits[np.uint64(old + k)]
            begun += 1
        weight = 0.0
        if j < len(since) and since[j] == t:
            weight, source = after[np.uint64(4 * t + 3)], j * width
            j += 1
        now = lo if first[t + 1] > lo else count
        _hold(held, begun, table, base + 16 * t, came, place[latest], place[now])
        latest = now
        while asked < len(ends) and ends[asked] == t:
            for tile in range((begun + TILE - 1) // TILE):
                _, end = fours(tile, 0, begun)
                old, some = (tile * FOUR + 3) * TILE, min(begun - tile * TILE, TILE)
                if last:
                    to = there + asked * len(starts) + tile * TILE
                    for s in range(end):
                        i = np.uint64(to + s)
                        result[i] += held[np.uint64(old + s)] * (1.0 - result[i])
                else:
                    to = asked + tile * TILE * stride
                    for s in range(some):
                        result[np.uint64(to + s * stride)] = held[np.uint64(old + s)]
            asked += 1
    return leads


@inlined
def _wait(waits, leads, step, steps, lo, hi, table, base, weight, inputs, source):  # type: ignore[no-untyped-def]
    """Advance `waits` by one step, columns lo … hi - 1. The last line gets the probability, for an interval that begins
    here, of a candidate at the witness when the goals before hold by then."""
    if hi <= lo:
        return
    a0, a1, a2, _ = row_of(table, base)
    b0, b1, b2, _ = row_of(table, base + 4)
    c0, c1, c2, _ = row_of(table, base + 8)
    d0, d1, d2, _ = row_of(table, base + 12)
    for tile in range(lo // TILE, (hi - 1) // TILE + 1):
        begin, end = fours(tile, lo, hi)
        here, lead, own = tile * FOUR * TILE, (tile * steps + step) * FOUR * TILE, source + tile * TILE
        for column in range(begin, end):
            i, n = np.uint64(here + column), np.uint64(lead + column)
            a, b, c = waits[i], waits[i + ONE_TILE], waits[i + TWO_TILES]
            d = weight * inputs[np.uint64(own + column)]
            low, high = a * leads[n] + b * leads[n + ONE_TILE], c * leads[n + TWO_TILES] + d * leads[n + THREE_TILES]
            waits[i] = (a * a0 + b * b0) + (c * c0 + d * d0)
            waits[i + ONE_TILE] = (a * a1 + b * b1) + (c * c1 + d * d1)
            waits[i + TWO_TILES] = (a * a2 + b * b2) + (c * c2 + d * d2)
            waits[i + THREE_TILES] = low + high


@inlined
def _hold(held, columns, table, base, came, latest, now):  # type: ignore[no-untyped-def]
    """Advance `held` by one step in the first columns; the last line gets the sum."""
    a0, a1, a2, _ = row_of(table, base)
    b0, b1, b2, _ = row_of(table, base + 4)
    c0, c1, c2, _ = row_of(table, base + 8)
    d0, d1, d2, _ = row_of(table, base + 12)
    for tile in range((columns + TILE - 1) // TILE):
        _, end = fours(tile, 0, columns)
        here, old, new = tile * FOUR * TILE, latest + tile * TILE, now + tile * TILE
        for column in range(end):
            i = np.uint64(here + column)
            a, b, c, d = held[i], held[i + ONE_TILE], held[i + TWO_TILES], came[np.uint64(old + column)]
            e = (a * a0 + b * b0) + (c * c0 + d * d0)
            f = (a * a1 + b * b1) + (c * c1 + d * d1)
            g = (a * a2 + b * b2) + (c * c2 + d * d2)
            held[i], held[i + ONE_TILE], held[i + TWO_TILES] = e, f, g
            held[i + THREE_TILES] = (e + f) + (g + came[np.uint64(new + column)])
