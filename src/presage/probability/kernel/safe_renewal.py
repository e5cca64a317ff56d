"""Goals that read one Markov chain each in, the chances of intervals out: no joint values (paper, Eq. 3).

Once the later chain has a candidate, all that waited for it is gone. So a sequence has held during an interval if the
goals before the last have, from the last goal's latest candidate before the interval up to its latest one in it: the
chains are independent, and each goes its own way. Values are numbered from 0, no event, and fill lanes of four; a
matrix of moves has a row for each value before and a column for each value after.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, compiled_into, inlined
from presage.probability.kernel.safe_regular import LEAST_MASS

LANES = 4


@inlined
def _forward(x, lo, hi, lanes, m, room):  # type: ignore[no-untyped-def]
    """Columns lo … hi - 1 of `x` times the matrix, in place."""
    if lanes == 4:
        a0, a1, a2, a3 = m[0], m[1], m[2], m[3]
        b0, b1, b2, b3 = m[4], m[5], m[6], m[7]
        c0, c1, c2, c3 = m[8], m[9], m[10], m[11]
        d0, d1, d2, d3 = m[12], m[13], m[14], m[15]
        for column in range(lo, hi):
            i = np.uint64(4 * column)
            j, k, n = i + np.uint64(1), i + np.uint64(2), i + np.uint64(3)
            a, b, c, d = x[i], x[j], x[k], x[n]
            x[i] = (a * a0 + b * b0) + (c * c0 + d * d0)
            x[j] = (a * a1 + b * b1) + (c * c1 + d * d1)
            x[k] = (a * a2 + b * b2) + (c * c2 + d * d2)
            x[n] = (a * a3 + b * b3) + (c * c3 + d * d3)
        return
    for column in range(lo, hi):
        base = column * lanes
        for w in range(0, lanes, 4):
            i = np.uint64(w)
            a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
            for v in range(lanes):
                a, at = x[np.uint64(base + v)], np.uint64(v * lanes) + i
                a0 += a * m[at]
                a1 += a * m[at + np.uint64(1)]
                a2 += a * m[at + np.uint64(2)]
                a3 += a * m[at + np.uint64(3)]
            room[i], room[i + np.uint64(1)] = a0, a1
            room[i + np.uint64(2)], room[i + np.uint64(3)] = a2, a3
        for v in range(lanes):
            x[base + v] = room[v]


@inlined
def _backward(x, old, new, lo, hi, lanes, m, at):  # type: ignore[no-untyped-def]
    """The matrix at m[at] times the columns lo … hi - 1 from x[old] on, to x[new]."""
    if lanes == 4:
        a0, a1, a2, a3 = m[at], m[at + 1], m[at + 2], m[at + 3]
        b0, b1, b2, b3 = m[at + 4], m[at + 5], m[at + 6], m[at + 7]
        c0, c1, c2, c3 = m[at + 8], m[at + 9], m[at + 10], m[at + 11]
        d0, d1, d2, d3 = m[at + 12], m[at + 13], m[at + 14], m[at + 15]
        for column in range(lo, hi):
            i, to = np.uint64(old + 4 * column), np.uint64(new + 4 * column)
            a, b, c, d = x[i], x[i + np.uint64(1)], x[i + np.uint64(2)], x[i + np.uint64(3)]
            x[to] = (a * a0 + b * a1) + (c * a2 + d * a3)
            x[to + np.uint64(1)] = (a * b0 + b * b1) + (c * b2 + d * b3)
            x[to + np.uint64(2)] = (a * c0 + b * c1) + (c * c2 + d * c3)
            x[to + np.uint64(3)] = (a * d0 + b * d1) + (c * d2 + d * d3)
        return
    for column in range(lo, hi):
        for v in range(lanes):
            total = 0.0
            row, i = np.uint64(at + v * lanes), np.uint64(old + column * lanes)
            for w in range(lanes):
                total += m[row + np.uint64(w)] * x[i + np.uint64(w)]
            x[np.uint64(new + column * lanes + v)] = total


@inlined
def _step(weights, m, at, lanes, room):  # type: ignore[no-untyped-def]
    """Weights of values one step on, in place."""
    for w in range(lanes):
        room[w] = 0.0
    for v in range(lanes):
        if weights[v]:
            for w in range(lanes):
                room[w] += weights[v] * m[at + v * lanes + w]
    for w in range(lanes):
        weights[w] = room[w]


@inlined
def _first(result, starts, ends, table, base, hit, hits, lanes):  # type: ignore[no-untyped-def]
    """The first goal of a line: the chance of a candidate during each interval, to result[end, start].

    Once there was one, what the chain does makes no difference: values that are candidates whenever they come need no
    lane, only those that can come without being one do, and one lane is for what has held.
    """
    steps = ends[-1] + 1
    lane = np.full(lanes, -1, np.int64)
    lane[0], count = 0, 1
    for v in range(1, lanes):
        for t in range(steps):
            if lane[v] < 0 and not hit[hits + t * lanes + v]:
                for before in range(lanes):
                    if table[base + (t * lanes + before) * lanes + v] and lane[v] < 0:
                        lane[v] = count
                        count += 1
    wide = (count // LANES + 1) * LANES
    m, room = np.zeros(wide * wide, np.float64), np.zeros(max(wide, lanes), np.float64)
    x = np.zeros(len(starts) * wide, np.float64)
    weights = np.zeros(lanes, np.float64)
    weights[0] = 1.0
    begun, asked = 0, 0
    for t in range(steps):
        at, said = base + t * lanes * lanes, hits + t * lanes
        m[:] = 0.0
        m[count * wide + count] = 1.0
        old = begun
        while begun < len(starts) and starts[begun] == t:
            begun += 1
        for v in range(lanes):
            for w in range(lanes):
                chance = table[at + v * lanes + w]
                if chance:
                    to = count if hit[said + w] else lane[w]
                    if lane[v] >= 0:
                        m[lane[v] * wide + to] += chance
                    for s in range(old, begun):
                        x[s * wide + to] += weights[v] * chance
        _forward(x, 0, old, wide, m, room)
        _step(weights, table, at, lanes, room)
        while asked < len(ends) and ends[asked] == t:
            for s in range(begun):
                result[np.uint64(asked * len(starts) + s)] = x[np.uint64(s * wide + count)]
            asked += 1


@inlined
def _next(result, inputs, since, witness, starts, ends, table, base, hit, hits, lanes, leads):  # type: ignore[no-untyped-def]
    """One more goal of a line, whose candidates are all accepted, to result[end, start]. inputs[i, j] is the chance
    that the goals before it have held from step since[j] up to the step before witness[i]; since[0] is the beginning.

    `leads`: room for the chances that the chain comes from a value at the step before to a candidate later on.
    """
    steps = ends[-1] + 1
    # A way leads to one candidate: the number of its witness and its value. Those to steps before t: below first[t].
    way_witness, way_value = np.empty(len(witness) * lanes, np.int64), np.empty(len(witness) * lanes, np.int64)
    first, before = np.empty(steps + 1, np.int64), np.empty(steps + 1, np.int64)
    ways, known = 0, 0
    for t in range(steps):
        first[t], before[t] = ways, known
        if known < len(witness) and witness[known] == t:
            for v in range(lanes):
                if hit[hits + t * lanes + v]:
                    way_witness[ways], way_value[ways] = known, v
                    ways += 1
            known += 1
    first[steps], before[steps] = ways, known
    for t in range(steps - 1, -1, -1):
        at, here = base + t * lanes * lanes, t * ways * lanes
        for k in range(first[t], first[t + 1]):
            for v in range(lanes):
                leads[here + k * lanes + v] = table[at + v * lanes + way_value[k]]
        _backward(leads, here + ways * lanes, here, first[t + 1], ways, lanes, table, at)
    m, room = np.zeros(lanes * lanes, np.float64), np.zeros(lanes, np.float64)
    # By witness: what the chain has come to since its latest candidate before the interval, times the input.
    waits = np.zeros(known * lanes, np.float64)
    for i in range(known):
        waits[i * lanes] = inputs[i * len(since)]
    weights, active = np.zeros(lanes, np.float64), np.zeros(lanes, np.float64)
    weights[0] = 1.0
    # By start: what it has come to since its latest candidate in the interval, if the sequence has held.
    held = np.zeros(len(starts) * lanes, np.float64)
    came = np.zeros(ways * len(starts), np.float64)
    begun, asked, j = 0, 0, 0
    for t in range(steps):
        at, said = base + t * lanes * lanes, hits + t * lanes
        while begun < len(starts) and starts[begun] == t:
            _meet(came, begun, len(starts), waits, leads, t * ways * lanes, way_witness, first[t], ways, lanes)
            begun += 1
        for w in range(lanes):
            some = hit[said + w]
            active[w] = 0.0
            for v in range(lanes):
                chance = table[at + v * lanes + w]
                m[v * lanes + w] = 0.0 if some else chance
                if some:
                    active[w] += weights[v] * chance
        _forward(held, 0, begun, lanes, m, room)
        for k in range(first[t], first[t + 1]):
            for s in range(begun):
                held[np.uint64(s * lanes + way_value[k])] += came[np.uint64(k * len(starts) + s)]
        while asked < len(ends) and ends[asked] == t:
            _sum(result, asked * len(starts), held, begun, lanes)
            asked += 1
        _forward(waits, before[t + 1], known, lanes, m, room)
        if j < len(since) and since[j] == t:
            for w in range(lanes):
                if active[w]:
                    for i in range(before[t + 1], known):
                        waits[np.uint64(i * lanes + w)] += active[w] * inputs[np.uint64(i * len(since) + j)]
            j += 1
        _step(weights, table, at, lanes, room)


@inlined
def _meet(came, start, starts, waits, leads, here, way_witness, lo, hi, lanes):  # type: ignore[no-untyped-def]
    """One start: the chance to come by each way to its candidate, if the goals before have held by then."""
    for k in range(lo, hi):
        total = 0.0
        i, j = np.uint64(way_witness[k] * lanes), np.uint64(here + k * lanes)
        if lanes == 4:
            a, b = waits[i] * leads[j], waits[i + np.uint64(1)] * leads[j + np.uint64(1)]
            c = waits[i + np.uint64(2)] * leads[j + np.uint64(2)]
            total = (a + b) + (c + waits[i + np.uint64(3)] * leads[j + np.uint64(3)])
        else:
            for v in range(lanes):
                total += waits[i + np.uint64(v)] * leads[j + np.uint64(v)]
        came[np.uint64(k * starts + start)] = total


@inlined
def _sum(result, at, held, columns, lanes):  # type: ignore[no-untyped-def]
    for s in range(columns):
        i, total = np.uint64(s * lanes), 0.0
        if lanes == 4:
            total = (held[i] + held[i + np.uint64(1)]) + (held[i + np.uint64(2)] + held[i + np.uint64(3)])
        else:
            for v in range(lanes):
                total += held[i + np.uint64(v)]
        result[np.uint64(at + s)] = total


@compiled
def renewal_spans(
    starts: Ints, ends: Ints, owner: Ints, owners: int, steps: int, lanes: Ints, chains: Ints,
    bases: Ints, table: Floats, hit_bases: Ints, hit: Bools,
    since: Ints, since_first: Ints, witness: Ints, witness_first: Ints,
) -> Floats:  # fmt: skip
    """(owners, ends, starts): the chance that at least one of an owner's lines has held. O(steps · (starts + ends ·
    values) · values²) for a goal of a line.

    By goal: `lanes`, chains[goal, line] (-1: the line has no candidate), where its matrices table[chain, step, value
    before, value] and its candidates hit[line, step, value] begin; `witness`: its steps with candidates but for step
    0; `since`: all of them, and step 0.
    """
    out = np.zeros(owners * len(ends) * len(starts), np.float64)
    if not len(ends) or not len(starts):
        return out.reshape((owners, len(ends), len(starts)))
    goals = len(lanes)
    most = 0
    for goal in range(1, goals):
        if witness_first[goal] == witness_first[goal + 1]:
            return out.reshape((owners, len(ends), len(starts)))
        most = max(most, (since_first[goal + 1] - since_first[goal]) * (witness_first[goal + 1] - witness_first[goal]))
    inputs = np.zeros(max(most, len(starts) * len(ends)), np.float64)
    result = np.zeros(len(inputs), np.float64)
    leads = np.empty(0, np.float64)
    for line in range(len(owner)):
        there = True
        for goal in range(goals):
            if chains[goal, line] < 0:
                there = False
        if not there:
            continue
        for goal in range(goals):
            wide = lanes[goal]
            base = bases[goal] + chains[goal, line] * steps * wide * wide
            hits = hit_bases[goal] + line * steps * wide
            own_starts, own_ends = starts, ends
            if goal < goals - 1:
                own_starts = since[since_first[goal + 1] : since_first[goal + 2]]
                own_ends = witness[witness_first[goal + 1] : witness_first[goal + 2]] - 1
            result[: len(own_starts) * len(own_ends)] = 0.0
            if goal == 0:
                _first(result, own_starts, own_ends, table, base, hit, hits, wide)
            else:
                ways = 0
                for i in range(hits, hits + steps * wide):
                    ways += hit[i]
                if len(leads) < (steps + 1) * ways * wide:
                    leads = np.empty((steps + 1) * ways * wide, np.float64)
                _next(
                    result, inputs, since[since_first[goal] : since_first[goal + 1]],
                    witness[witness_first[goal] : witness_first[goal + 1]], own_starts, own_ends,
                    table, base, hit, hits, wide, leads,
                )  # fmt: skip
            inputs, result = result, inputs
        cells = owner[line] * len(ends) * len(starts)
        for i in range(len(ends) * len(starts)):
            own = np.uint64(cells + i)
            out[own] += inputs[np.uint64(i)] * (1.0 - out[own])
    return out.reshape((owners, len(ends), len(starts)))


@compiled_into
def fill_moves(
    table: Floats, base: int, lanes: int, steps: int, chains: int,
    chain: Ints, step: Ints, prev: Ints, value: Ints, chance: Floats,
) -> Ints:  # fmt: skip
    """A source's rows as matrices from table[base] on, (chains, steps, value before, value), with those to no event;
    how many rows lead to each value, (chains, steps, value)."""
    rows = np.zeros(chains * steps * lanes, np.int64)
    for i in range(len(chain)):
        if chance[i] > 0.0 and prev[i] + 1 < lanes:
            at = np.uint64((chain[i] * steps + step[i]) * lanes)
            table[np.uint64(base) + (at + np.uint64(prev[i] + 1)) * np.uint64(lanes) + np.uint64(value[i] + 1)] += chance[i]
            rows[at + np.uint64(value[i] + 1)] += 1
    for line in range(chains * steps * lanes):
        at = np.uint64(base + line * lanes)
        rest = 1.0
        for v in range(1, lanes):
            rest -= table[at + np.uint64(v)]
        table[at] = rest if rest > LEAST_MASS else 0.0
    return rows


@compiled_into
def mark_hits(
    hit: Bools, base: int, lanes: int, steps: int, lines: int, line: Ints, row: Ints, rows: Ints,
    chain: Ints, step: Ints, prev: Ints, value: Ints,
) -> tuple[Ints, bool]:  # fmt: skip
    """What the lines read, from hit[base] on, (lines, steps, value); the chain of each line, -1 if it reads none.
    Not to be used if a line reads several chains, or of a value at a step only some rows."""
    chains = np.full(lines, -1, np.int64)
    read = np.zeros(lines * steps * lanes, np.int64)
    for i in range(len(line)):
        k, own = row[i], line[i]
        if prev[k] + 1 < lanes:
            if chains[own] >= 0 and chains[own] != chain[k]:
                return chains, False
            chains[own] = chain[k]
            read[np.uint64((own * steps + step[k]) * lanes + value[k] + 1)] += 1
    alike = True
    for own in range(lines):
        if chains[own] >= 0:
            for i in range(steps * lanes):
                count = read[np.uint64(own * steps * lanes + i)]
                if count:
                    hit[np.uint64(base + own * steps * lanes + i)] = True
                    alike = alike and count == rows[np.uint64(chains[own] * steps * lanes + i)]
    return chains, alike
