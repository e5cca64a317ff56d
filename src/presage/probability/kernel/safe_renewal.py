"""Goals that read one Markov chain each in, the chances of intervals out: no joint values (paper, Eq. 3).

Once the later chain has a candidate, all that waited for it is gone. So a sequence has held during an interval if the
goals before the last have, from the last goal's latest candidate before the interval up to its latest one in it: the
chains are independent, and each goes its own way. Values are numbered from 0, no event; there are at least four.

Columns (intervals, or candidates that are still to come) stand side by side in tiles: [tile, value, place in the tile].
The size of a tile is known to the compiler, and so is then that a step can be made in place, several columns at once.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, inlined

TILE = 64
LEAST = 4  # values


@inlined
def _cells(columns, size):  # type: ignore[no-untyped-def]
    return (columns + TILE - 1) // TILE * TILE * size


@inlined
def _times(x, room, lo, hi, size, m, at, down, across):  # type: ignore[no-untyped-def]
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
        # Eight at a time, so that none are left over.
        begin, end = max(lo - tile * TILE, 0) // 8 * 8, min((hi - tile * TILE + 7) // 8 * 8, TILE)
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
                    room[np.uint64(to + column)] = 0.0
                for v in range(size):
                    p, old = m[at + v * down + w * across], base + v * TILE
                    if p:
                        for column in range(begin, end):
                            room[np.uint64(to + column)] += p * x[np.uint64(old + column)]
            for w in range(size):
                for column in range(begin, end):
                    x[np.uint64(base + w * TILE + column)] = room[np.uint64(w * TILE + column)]


@inlined
def _step(weights, m, at, size, room):  # type: ignore[no-untyped-def]
    """Weights of values one step on."""
    for w in range(size):
        room[w] = 0.0
    for v in range(size):
        for w in range(size):
            room[w] += weights[v] * m[np.uint64(at + v * size + w)]
    for w in range(size):
        weights[w] = room[w]


@inlined
def _places(table, base, hit, hits, steps, size, place):  # type: ignore[no-untyped-def]
    """Numbers the values that can come without being a candidate, and no event; how many there are."""
    place[:] = -1
    place[0] = 0
    count = 1
    for w in range(1, size):
        t = 0
        while t < steps and place[w] < 0:
            if not hit[np.uint64(hits + t * size + w)]:
                for v in range(size):
                    if place[w] < 0 and table[np.uint64(base + (t * size + v) * size + w)]:
                        place[w] = count
                        count += 1
            t += 1
    return count


@inlined
def _first(result, starts, ends, table, base, hit, hits, size):  # type: ignore[no-untyped-def]
    """The first goal of a line: the chance of a candidate during each interval, to result[end, start].

    Once there was one, what the chain does makes no difference: values that are candidates whenever they come need no
    place, only those that can come without being one do, and one place is for what has held.
    """
    steps = ends[-1] + 1
    place = np.empty(size, np.int64)
    count = _places(table, base, hit, hits, steps, size, place)
    wide = max(count + 1, LEAST)
    m, room = np.zeros(wide * wide, np.float64), np.empty(wide * TILE, np.float64)
    x = np.zeros(_cells(len(starts), wide), np.float64)
    weights, after = np.zeros(size, np.float64), np.zeros(wide, np.float64)
    weights[0] = 1.0
    m[count * wide + count] = 1.0
    begun, asked = 0, 0
    for t in range(steps):
        at, said = base + t * size * size, hits + t * size
        for v in range(size):
            if place[v] >= 0:
                row = place[v] * wide
                m[row + count] = 0.0
                for w in range(size):
                    chance = table[np.uint64(at + v * size + w)]
                    if hit[np.uint64(said + w)]:
                        m[row + count] += chance
                        chance = 0.0
                    if place[w] >= 0:
                        m[row + place[w]] = chance
        _times(x, room, 0, begun, wide, m, 0, wide, 1)
        _step(weights, table, at, size, room)
        if begun < len(starts) and starts[begun] == t:
            after[:] = 0.0
            for w in range(size):
                if hit[np.uint64(said + w)]:
                    after[count] += weights[w]
                elif place[w] >= 0:
                    after[place[w]] = weights[w]
            while begun < len(starts) and starts[begun] == t:
                for w in range(wide):
                    x[(begun // TILE * wide + w) * TILE + begun % TILE] = after[w]
                begun += 1
        while asked < len(ends) and ends[asked] == t:
            for tile in range((begun + TILE - 1) // TILE):
                old, new = (tile * wide + count) * TILE, asked * len(starts) + tile * TILE
                for s in range(min(begun - tile * TILE, TILE)):
                    result[np.uint64(new + s)] = x[np.uint64(old + s)]
            asked += 1


@inlined
def _ways(witness, hit, hits, steps, size, way_witness, way_value, first):  # type: ignore[no-untyped-def]
    """A way leads to one candidate: the number of its witness and its value. Those to steps before t are the ways below
    first[t]."""
    ways, known = 0, 0
    for t in range(steps):
        first[t] = ways
        if known < len(witness) and witness[known] == t:
            for v in range(size):
                if hit[np.uint64(hits + t * size + v)]:
                    way_witness[ways], way_value[ways] = known, v
                    ways += 1
            known += 1
    first[steps] = ways
    return ways


@inlined
def _lead(leads, cells, first, way_value, steps, table, base, size):  # type: ignore[no-untyped-def]
    """Backwards, to leads[step, way, value before the step]: the chance that the chain comes to the way's candidate."""
    ways = first[steps]
    x, room = np.zeros(cells, np.float64), np.empty(size * TILE, np.float64)
    for t in range(steps - 1, -1, -1):
        at = base + t * size * size
        _times(x, room, first[t + 1], ways, size, table, at, 1, size)
        for k in range(first[t], first[t + 1]):
            for v in range(size):
                x[(k // TILE * size + v) * TILE + k % TILE] = table[at + v * size + way_value[k]]
        begin, here = first[t] // TILE * size * TILE, t * cells
        for i in range(begin, cells):
            leads[np.uint64(here + i)] = x[np.uint64(i)]


@inlined
def _next(result, inputs, since, witness, starts, ends, table, base, hit, hits, size, leads):  # type: ignore[no-untyped-def]
    """One more goal of a line, whose candidates are all accepted, to result[end, start]. inputs[i, j] is the chance
    that the goals before it have held from step since[j] up to the step before witness[i]; since[0] is the beginning.
    Gives back `leads`, the room for what `_lead` writes."""
    steps = ends[-1] + 1
    way_witness, way_value = np.empty(len(witness) * size, np.int64), np.empty(len(witness) * size, np.int64)
    first = np.empty(steps + 1, np.int64)
    ways = _ways(witness, hit, hits, steps, size, way_witness, way_value, first)
    cells = _cells(ways, size)
    if len(leads) < steps * cells:
        leads = np.empty(steps * cells, np.float64)
    _lead(leads, cells, first, way_value, steps, table, base, size)
    m, room = np.empty(size * size, np.float64), np.empty(size * TILE, np.float64)
    # By way: what the chain has come to since its latest candidate before the interval, times the input.
    waits = np.zeros(cells, np.float64)
    for k in range(ways):
        waits[k // TILE * size * TILE + k % TILE] = inputs[way_witness[k] * len(since)]
    weights = np.zeros(size, np.float64)
    weights[0] = 1.0
    # By start: what it has come to since its latest candidate in the interval, if the sequence has held.
    held = np.zeros(_cells(len(starts), size), np.float64)
    came = np.zeros(ways * len(starts), np.float64)
    begun, asked, j = 0, 0, 0
    for t in range(steps):
        at, said = base + t * size * size, hits + t * size
        while begun < len(starts) and starts[begun] == t:
            _meet(came, begun, len(starts), waits, leads, t * cells, first[t], ways, size, room)
            begun += 1
        for w in range(size):
            some = hit[np.uint64(said + w)]
            for v in range(size):
                m[np.uint64(v * size + w)] = 0.0 if some else table[np.uint64(at + v * size + w)]
        _times(held, room, 0, begun, size, m, 0, size, 1)
        for k in range(first[t], first[t + 1]):
            for tile in range((begun + TILE - 1) // TILE):
                to, old = (tile * size + way_value[k]) * TILE, k * len(starts) + tile * TILE
                for s in range(min(begun - tile * TILE, TILE)):
                    held[np.uint64(to + s)] += came[np.uint64(old + s)]
        while asked < len(ends) and ends[asked] == t:
            _sum(result, asked * len(starts), held, begun, size)
            asked += 1
        _times(waits, room, first[t + 1], ways, size, m, 0, size, 1)
        _step(weights, table, at, size, room)
        if j < len(since) and since[j] == t:
            for w in range(size):
                if hit[np.uint64(said + w)] and weights[w]:
                    for k in range(first[t + 1], ways):
                        to = np.uint64((k // TILE * size + w) * TILE + k % TILE)
                        waits[to] += weights[w] * inputs[np.uint64(way_witness[k] * len(since) + j)]
            j += 1
    return leads


@inlined
def _meet(came, start, starts, waits, leads, here, lo, hi, size, room):  # type: ignore[no-untyped-def]
    """One start: the chance to come by each way to its candidate, if the goals before have held by then."""
    if hi <= lo:
        return
    for tile in range(lo // TILE, (hi - 1) // TILE + 1):
        begin, end = max(lo - tile * TILE, 0) // 8 * 8, min((hi - tile * TILE + 7) // 8 * 8, TILE)
        base = tile * size * TILE
        if size == 4:
            for column in range(begin, end):
                i, n = np.uint64(base + column), np.uint64(here + base + column)
                a, b = waits[i] * leads[n], waits[i + np.uint64(TILE)] * leads[n + np.uint64(TILE)]
                c = waits[i + np.uint64(2 * TILE)] * leads[n + np.uint64(2 * TILE)]
                d = waits[i + np.uint64(3 * TILE)] * leads[n + np.uint64(3 * TILE)]
                room[np.uint64(column)] = (a + b) + (c + d)
        else:
            for column in range(begin, end):
                room[np.uint64(column)] = 0.0
            for v in range(size):
                i = base + v * TILE
                for column in range(begin, end):
                    room[np.uint64(column)] += waits[np.uint64(i + column)] * leads[np.uint64(here + i + column)]
        for k in range(max(lo, tile * TILE), min(hi, (tile + 1) * TILE)):
            came[np.uint64(k * starts + start)] = room[np.uint64(k - tile * TILE)]


@inlined
def _sum(result, at, held, columns, size):  # type: ignore[no-untyped-def]
    for tile in range((columns + TILE - 1) // TILE):
        base, to, own = tile * size * TILE, at + tile * TILE, min(columns - tile * TILE, TILE)
        if size == 4:
            for s in range(own):
                i = np.uint64(base + s)
                a, b = held[i] + held[i + np.uint64(TILE)], held[i + np.uint64(2 * TILE)] + held[i + np.uint64(3 * TILE)]
                result[np.uint64(to + s)] = a + b
        else:
            for v in range(size):
                for s in range(own):
                    result[np.uint64(to + s)] += held[np.uint64(base + v * TILE + s)]


@compiled
def renewal_spans(
    starts: Ints, ends: Ints, owner: Ints, owners: int, steps: int, sizes: Ints, chains: Ints,
    bases: Ints, table: Floats, hit_bases: Ints, hit: Bools,
    since: Ints, since_first: Ints, witness: Ints, witness_first: Ints,
) -> Floats:  # fmt: skip
    """(owners, ends, starts): the chance that at least one of an owner's lines has held. O(steps · (starts + ends ·
    values) · values²) for a goal of a line.

    By goal: `sizes`, how many values, with no event; chains[goal, line] (-1: the line has no candidate); where its
    matrices table[chain, step, value before, value] and its candidates hit[chain, step, value] begin; `witness`: its
    steps with candidates but for step 0; `since`: all of them, and step 0.
    """
    out = np.zeros((owners, len(ends), len(starts)), np.float64)
    goals = len(sizes)
    most = len(starts) * len(ends)
    for goal in range(1, goals):
        one, other = since_first[goal + 1] - since_first[goal], witness_first[goal + 1] - witness_first[goal]
        if other == 0:
            return out
        most = max(most, one * other)
    if not len(starts) or not len(ends):
        return out
    inputs, result = np.zeros(most, np.float64), np.zeros(most, np.float64)
    leads = np.empty(0, np.float64)
    flat = out.reshape(-1)
    for line in range(len(owner)):
        there = True
        for goal in range(goals):
            there = there and chains[goal, line] >= 0
        if not there:
            continue
        for goal in range(goals):
            size = sizes[goal]
            base = bases[goal] + chains[goal, line] * steps * size * size
            hits = hit_bases[goal] + chains[goal, line] * steps * size
            own_starts, own_ends = starts, ends
            if goal < goals - 1:
                own_starts = since[since_first[goal + 1] : since_first[goal + 2]]
                own_ends = witness[witness_first[goal + 1] : witness_first[goal + 2]] - 1
            result[: len(own_starts) * len(own_ends)] = 0.0
            if goal == 0:
                _first(result, own_starts, own_ends, table, base, hit, hits, size)
            else:
                leads = _next(
                    result, inputs, since[since_first[goal] : since_first[goal + 1]],
                    witness[witness_first[goal] : witness_first[goal + 1]], own_starts, own_ends,
                    table, base, hit, hits, size, leads,
                )  # fmt: skip
            inputs, result = result, inputs
        cells = owner[line] * len(ends) * len(starts)
        for i in range(len(ends) * len(starts)):
            own = np.uint64(cells + i)
            flat[own] += inputs[np.uint64(i)] * (1.0 - flat[own])
    return out
