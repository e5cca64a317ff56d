"""Loops over goals that read one Markov chain each, without joint values (paper, Eq. 3).

A candidate of the later chain ends all waits for it. So a sequence holds during an interval if the goals before the
last one hold from the last goal's latest candidate before the interval up to its latest candidate in it. The chains are
independent, so each is run by itself. Value 0 is no event; there are at least four values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, inlined
from presage.operators.sequence.kernel.safe.chain_rows import Intervals
from presage.operators.sequence.kernel.safe.chains.four import GoalIntervals, first_four, next_four
from presage.operators.sequence.kernel.safe.chains.tiles import (
    FOUR,
    TILE,
    ChainMoves,
    cells_of,
    fours,
    no_candidates,
    step_four,
    step_on,
    times,
    whole_fours,
)


class Scratch(NamedTuple):
    """Scratch memory of a step, by value: 1 if it is no candidate, its weight, and a tile."""

    keep: Floats
    weights: Floats
    buffer: Floats


class GoalTables(NamedTuple):
    """By goal: `sizes`, the number of values including no event; where its matrices table[chain, step, value before,
    value] and its candidates hit[chain, step, value] begin; its steps with candidates except step 0, from
    witness_first[goal] on."""

    sizes: Ints
    bases: Ints
    table: Floats
    hit_bases: Ints
    hit: Bools
    witness: Ints
    witness_first: Ints


@inlined
def _first(result, last, spans, moves, alone, scratch):  # type: ignore[no-untyped-def]
    """The first goal of a line: the probability of a candidate during each interval, to result[end, start] if it is the
    `last` goal, else to result[start, end]. Intervals that end before they start are left out.

    After a candidate the chain makes no difference: its weight goes to one more value, `held`. If the last value is the
    only candidate (`alone`), that value serves as `held`.
    """
    starts, ends, stride, _, _, _ = spans
    table, base, hit, hits, size = moves
    keep, weights, buffer = scratch
    steps = ends[-1] + 1
    held = size - 1 if alone else size
    wide = max(size, held + 1)
    m, x = np.zeros(wide * wide, np.float64), np.zeros(cells_of(len(starts), wide), np.float64)
    weights[:size] = 0.0
    weights[0] = 1.0
    begun, asked = 0, 0
    for t in range(steps):
        at = base + t * size * size
        no_candidates(keep, hit, hits + t * size, size)
        for v in range(size):
            total = 0.0
            for w in range(size):
                chance = table[np.uint64(at + v * size + w)]
                kept = keep[w] * chance
                m[np.uint64(v * wide + w)] = kept
                total += chance - kept
            m[np.uint64(v * wide + held)] = total
        for w in range(wide):
            m[np.uint64(held * wide + w)] = 0.0
        m[np.uint64(held * wide + held)] = 1.0
        times(x, buffer, 0, begun, wide, m)
        step_on(weights, table, at, size, buffer)
        while begun < len(starts) and starts[begun] == t:
            to = begun // TILE * wide * TILE + begun % TILE
            total = 0.0
            for w in range(size):
                x[to + w * TILE] = keep[w] * weights[w]
                total += (1.0 - keep[w]) * weights[w]
            x[to + held * TILE] = total
            begun += 1
        while asked < len(ends) and ends[asked] == t:
            for tile in range((begun + TILE - 1) // TILE):
                old, some = (tile * wide + held) * TILE, min(begun - tile * TILE, TILE)
                if last:
                    new = asked * len(starts) + tile * TILE
                    for s in range(some):
                        result[np.uint64(new + s)] = x[np.uint64(old + s)]
                else:
                    new = tile * TILE * stride + asked
                    for s in range(some):
                        result[np.uint64(new + s * stride)] = x[np.uint64(old + s)]
            asked += 1


@inlined
def _ways(witness, hit, hits, steps, size, way_witness, way_value, first):  # type: ignore[no-untyped-def]
    """A way leads to one candidate: the number of its witness and its value. Ways below first[t] lead to steps before
    t."""
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
def _lead(leads, first, way_value, steps, table, base, size):  # type: ignore[no-untyped-def]
    """Backwards, to leads[tile, step, value before the step, way]: the probability that the chain comes to the way's
    candidate. The steps of a tile are adjacent, so that their distance is known to the compiler."""
    ways = first[steps]
    far = size * TILE
    for tile in range((ways + TILE - 1) // TILE):
        lo, hi = tile * TILE, min((tile + 1) * TILE, ways)
        here = ((tile + 1) * steps - 1) * far
        for t in range(steps - 1, -1, -1):
            at = base + t * size * size
            begin, end = max(first[t + 1] - lo, 0) // 4 * 4, (hi - lo + 3) // 4 * 4
            if first[t + 1] >= hi:
                for i in range(far):
                    leads[np.uint64(here + i)] = 0.0
            elif size == FOUR:
                step_four(leads, here, FOUR * TILE, table, at, 1, FOUR, begin, end)
            else:
                for v in range(size):
                    to = here + v * TILE
                    for column in range(begin, end):
                        leads[np.uint64(to + column)] = 0.0
                    for w in range(size):
                        p, old = table[np.uint64(at + v * size + w)], here + far + w * TILE
                        if p:
                            for column in range(begin, end):
                                leads[np.uint64(to + column)] += p * leads[np.uint64(old + column)]
            for k in range(max(first[t], lo), min(first[t + 1], hi)):
                for v in range(size):
                    leads[np.uint64(here + v * TILE + k - lo)] = table[np.uint64(at + v * size + way_value[k])]
            here -= far


@inlined
def _next(result, last, inputs, spans, moves, leads, scratch):  # type: ignore[no-untyped-def]
    """One more goal of a line, whose candidates are all accepted, as `_first`. Returns `leads`, which `_lead` writes
    and which may have grown."""
    starts, ends, stride, since, witness, width = spans
    table, base, hit, hits, size = moves
    keep, weights, buffer = scratch
    steps = ends[-1] + 1
    way_witness, way_value = np.empty(len(witness) * size, np.int64), np.empty(len(witness) * size, np.int64)
    first = np.empty(steps + 1, np.int64)
    ways = _ways(witness, hit, hits, steps, size, way_witness, way_value, first)
    # Not a power of two: such lines would compete for the same places of the processor's cache.
    cells, wide = cells_of(ways, size), cells_of(ways, 1) + 8
    one_each = True
    for k in range(ways):
        one_each = one_each and way_witness[k] == k
    if len(leads) < steps * cells:
        leads = np.empty(steps * cells, np.float64)
    _lead(leads, first, way_value, steps, table, base, size)
    m = np.empty(size * size, np.float64)
    # By way: weight of each value since the latest candidate before the interval, times the input.
    waits = np.zeros(cells, np.float64)
    for k in range(ways):
        waits[k // TILE * size * TILE + k % TILE] = inputs[way_witness[k]]
    weights[:size] = 0.0
    weights[0] = 1.0
    # By start: weight of each value since the latest candidate in the interval, if the sequence has held.
    held = np.zeros(cells_of(len(starts), size), np.float64)
    came = np.empty(len(starts) * wide, np.float64)
    begun, asked, j = 0, 0, 0
    for t in range(steps):
        at = base + t * size * size
        while begun < len(starts) and starts[begun] == t:
            _meet(came, begun * wide, waits, leads, t, steps, first[t], ways, size)
            begun += 1
        no_candidates(keep, hit, hits + t * size, size)
        for v in range(size):
            for w in range(size):
                m[np.uint64(v * size + w)] = keep[w] * table[np.uint64(at + v * size + w)]
        times(held, buffer, 0, begun, size, m)
        for k in range(first[t], first[t + 1]):
            for tile in range((begun + TILE - 1) // TILE):
                to, old = (tile * size + way_value[k]) * TILE, tile * TILE * wide + k
                for s in range(min(begun - tile * TILE, TILE)):
                    held[np.uint64(to + s)] += came[np.uint64(old + s * wide)]
        while asked < len(ends) and ends[asked] == t:
            _sum(result, last, asked, len(starts), stride, held, begun, size, buffer)
            asked += 1
        times(waits, buffer, first[t + 1], ways, size, m)
        step_on(weights, table, at, size, buffer)
        if j < len(since) and since[j] == t:
            for w in range(size):
                if weights[w] and not keep[w]:
                    _renew(waits, w, first[t + 1], ways, size, weights[w], inputs, way_witness, j * width, one_each)
            j += 1
    return leads


@inlined
def _renew(waits, value, lo, hi, size, weight, inputs, way_witness, here, one_each):  # type: ignore[no-untyped-def]
    """A candidate of this value: from now on the input counts from this step."""
    if hi <= lo:
        return
    for tile in range(lo // TILE, (hi - 1) // TILE + 1):
        to, way = (tile * size + value) * TILE, tile * TILE
        begin, end = max(lo - way, 0), min(hi - way, TILE)
        if one_each:
            for column in range(begin, end):
                waits[np.uint64(to + column)] += weight * inputs[np.uint64(here + way + column)]
        else:
            for column in range(begin, end):
                old = np.uint64(here + way_witness[np.uint64(way + column)])
                waits[np.uint64(to + column)] += weight * inputs[old]


@inlined
def _meet(came, to, waits, leads, step, steps, lo, hi, size):  # type: ignore[no-untyped-def]
    """One start, to came[to + way]: the probability of each way's candidate when the goals before hold by then."""
    if hi <= lo:
        return
    for tile in range(lo // TILE, (hi - 1) // TILE + 1):
        begin, end = fours(tile, lo, hi)
        base, here, own = tile * size * TILE, (tile * steps + step) * size * TILE, to + tile * TILE
        for column in range(begin, end):
            came[np.uint64(own + column)] = 0.0
        for v in range(size):
            i, n = base + v * TILE, here + v * TILE
            for column in range(begin, end):
                came[np.uint64(own + column)] += waits[np.uint64(i + column)] * leads[np.uint64(n + column)]


@inlined
def _sum(result, last, asked, starts, stride, held, columns, size, buffer):  # type: ignore[no-untyped-def]
    """Sum over all values, for one end."""
    for tile in range((columns + TILE - 1) // TILE):
        base, some = tile * size * TILE, min(columns - tile * TILE, TILE)
        for s in range(some):
            buffer[np.uint64(s)] = 0.0
        for v in range(size):
            for s in range(some):
                buffer[np.uint64(s)] += held[np.uint64(base + v * TILE + s)]
        if last:
            to = asked * starts + tile * TILE
            for s in range(some):
                result[np.uint64(to + s)] = buffer[np.uint64(s)]
        else:
            to = tile * TILE * stride + asked
            for s in range(some):
                result[np.uint64(to + s * stride)] = buffer[np.uint64(s)]


@compiled
def renewal_spans(spans: Intervals, steps: int, tables: GoalTables, chains: Ints, alone: Bools) -> Floats:
    """(owners, ends, starts): the probability that at least one line of an owner holds. O(steps · (starts + ends ·
    values) · values²) for a goal of a line.

    chains[goal, line] is -1 where the line has no candidate; alone[goal, line]: the chain's last value is always a
    candidate, and no other value is.
    """
    starts, ends, owner, owners = spans
    sizes, bases, table, hit_bases, hit, witness, witness_first = tables
    # Eight cells more: loops round columns up.
    out = np.zeros(owners * len(ends) * len(starts) + 8, np.float64)
    goals = len(sizes)
    most, longest = len(starts) * len(ends), max(len(starts), len(ends))
    for goal in range(1, goals):
        count = witness_first[goal + 1] - witness_first[goal]
        if count == 0:
            return np.zeros((owners, len(ends), len(starts)), np.float64)
        most, longest = max(most, (count + 1) * whole_fours(count)), max(longest, count + 1)
    if not len(starts) or not len(ends):
        return np.zeros((owners, len(ends), len(starts)), np.float64)
    inputs, result = np.zeros(most + 8, np.float64), np.zeros(most + 8, np.float64)
    row = np.empty(cells_of(longest, 1), np.float64)
    leads = np.empty(0, np.float64)
    scratch = Scratch(
        np.empty(sizes.max(), np.float64),
        np.empty(sizes.max(), np.float64),
        np.empty((sizes.max() + 1) * TILE, np.float64),
    )
    after = np.empty(steps * FOUR, np.float64)
    since = _since(witness, witness_first)
    for line in range(len(owner)):
        if (chains[:, line] < 0).any():
            continue
        here = owner[line] * len(ends) * len(starts)
        for goal in range(goals):
            size, last, one = sizes[goal], goal == goals - 1, alone[goal, line]
            base = bases[goal] + chains[goal, line] * steps * size * size
            moves = ChainMoves(table, base, hit, hit_bases[goal] + chains[goal, line] * steps * size, size)
            own = _goal_intervals(goal, starts, ends, since, witness, witness_first)
            if one and size == FOUR:
                to = out if last else result
                if goal == 0:
                    first_four(to, last, here, own, table, base, after, row)
                else:
                    leads = next_four(to, last, here, inputs, own, table, base, leads, after)
            elif goal == 0:
                _first(result, last, own, moves, one, scratch)
            else:
                leads = _next(result, last, inputs, own, moves, leads, scratch)
            if last and not (one and size == FOUR):
                _unite(out, here, result, starts, ends)
            inputs, result = result, inputs
    return out[: owners * len(ends) * len(starts)].reshape((owners, len(ends), len(starts)))


@inlined
def _since(witness, witness_first):  # type: ignore[no-untyped-def]
    """By goal: step 0, then its witnesses. The goals before it are evaluated from each of them."""
    goals = len(witness_first) - 1
    since = np.zeros(len(witness) + goals, np.int64)
    for goal in range(goals):
        lo, hi = witness_first[goal], witness_first[goal + 1]
        since[lo + goal + 1 : hi + goal + 1] = witness[lo:hi]
    return since


@inlined
def _goal_intervals(goal, starts, ends, since, witness, witness_first):  # type: ignore[no-untyped-def]
    """A goal but the last is evaluated from step 0 or a witness of the next goal up to the step before a witness."""
    lo, hi = witness_first[goal], witness_first[goal + 1]
    if goal + 2 < len(witness_first):
        starts = since[hi + goal + 1 : witness_first[goal + 2] + goal + 2]
        ends = witness[hi : witness_first[goal + 2]] - 1
    own = witness[lo:hi]
    return GoalIntervals(
        starts, ends, whole_fours(len(ends)), since[lo + goal : hi + goal + 1], own, whole_fours(len(own))
    )


@inlined
def _unite(out, here, chances, starts, ends):  # type: ignore[no-untyped-def]
    """Unite out[here + end, start] with the probabilities of one more line."""
    begun, i = 0, 0
    for e in range(len(ends)):
        while begun < len(starts) and starts[begun] <= ends[e]:
            begun += 1
        for k in range(i, i + begun):
            cell = np.uint64(here + k)
            out[cell] += chances[np.uint64(k)] * (1.0 - out[cell])
        i += len(starts)
