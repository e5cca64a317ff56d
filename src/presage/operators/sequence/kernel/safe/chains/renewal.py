"""Loops over goals that read one Markov chain each: chances of intervals, no joint values (paper, Eq. 3).

Once the later chain has a candidate, all that waited for it is gone. So a sequence has held during an interval if the
goals before the last have, from the last goal's latest candidate before the interval up to its latest one in it: the
chains are independent, and each goes its own way. Values are numbered from 0, no event; there are at least four.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, inlined
from presage.operators.sequence.kernel.safe.chains.four import first_four, lead_four, next_four
from presage.operators.sequence.kernel.safe.chains.tiles import (
    FOUR,
    TILE,
    cells_of,
    fours,
    no_candidates,
    step_on,
    times,
    whole_fours,
)


class ChainMoves(NamedTuple):
    """One chain: matrices [step, value before, value] from table[base] on; hit[hits + step, value]: candidates."""

    table: Floats
    base: int
    hit: Bools
    hits: int
    size: int


class Scratch(NamedTuple):
    """Memory of a step, by value: whether it is no candidate, its weight; and a tile for each."""

    keep: Floats
    weights: Floats
    buffer: Floats


class GoalTables(NamedTuple):
    """By goal: `sizes`, how many values, with no event; where its matrices table[chain, step, value before, value] and
    its candidates hit[chain, step, value] begin; from witness_first[goal] on: its steps with candidates but for step
    0."""

    sizes: Ints
    bases: Ints
    table: Floats
    hit_bases: Ints
    hit: Bools
    witness: Ints
    witness_first: Ints


@inlined
def _first(result, last, starts, ends, stride, moves, alone, scratch):  # type: ignore[no-untyped-def]
    """The first goal of a line: the chance of a candidate during each interval, to result[end, start] if that is
    `last` of all, else to result[start, end], whose lines are `stride` apart; only of those that do not end before they
    start.

    Once there was one, what the chain does makes no difference: all of it goes to one place. If the last value is the
    candidate `alone`, it needs no other.
    """
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
        times(x, buffer, 0, begun, wide, m, 0, wide, 1)
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
def _lead(leads, first, way_value, steps, table, base, size):  # type: ignore[no-untyped-def]
    """Backwards, to leads[tile, step, value before the step, way]: the chance that the chain comes to the way's
    candidate. A tile has its steps together, so that the compiler knows how far it is from one to the next."""
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
            elif size == 4:
                lead_four(leads, here, begin, end, table, at)
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
def one_more_goal(  # type: ignore[no-untyped-def]
    result, last, inputs, since, witness, starts, ends, width, stride, moves, leads, scratch
):
    """One more goal of a line, whose candidates are all accepted, as `_first`. inputs[j, i], in lines that are `width`
    apart, is the chance that the goals before it have held from step since[j] up to the step before witness[i];
    since[0] is the beginning. Gives back `leads`, the array that `_lead` writes to."""
    table, base, hit, hits, size = moves
    keep, weights, buffer = scratch
    steps = ends[-1] + 1
    way_witness, way_value = np.empty(len(witness) * size, np.int64), np.empty(len(witness) * size, np.int64)
    first = np.empty(steps + 1, np.int64)
    ways = _ways(witness, hit, hits, steps, size, way_witness, way_value, first)
    # Lines of a power of two would all want the same places of the processor's cache.
    cells, wide = cells_of(ways, size), cells_of(ways, 1) + 8
    one_each = True
    for k in range(ways):
        one_each = one_each and way_witness[k] == k
    if len(leads) < steps * cells:
        leads = np.empty(steps * cells, np.float64)
    _lead(leads, first, way_value, steps, table, base, size)
    m = np.empty(size * size, np.float64)
    # By way: what the chain has come to since its latest candidate before the interval, times the input.
    waits = np.zeros(cells, np.float64)
    for k in range(ways):
        waits[k // TILE * size * TILE + k % TILE] = inputs[way_witness[k]]
    weights[:size] = 0.0
    weights[0] = 1.0
    # By start: what it has come to since its latest candidate in the interval, if the sequence has held.
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
        times(held, buffer, 0, begun, size, m, 0, size, 1)
        for k in range(first[t], first[t + 1]):
            for tile in range((begun + TILE - 1) // TILE):
                to, old = (tile * size + way_value[k]) * TILE, tile * TILE * wide + k
                for s in range(min(begun - tile * TILE, TILE)):
                    held[np.uint64(to + s)] += came[np.uint64(old + s * wide)]
        while asked < len(ends) and ends[asked] == t:
            _sum(result, last, asked, len(starts), stride, held, begun, size, buffer)
            asked += 1
        times(waits, buffer, first[t + 1], ways, size, m, 0, size, 1)
        step_on(weights, table, at, size, buffer)
        if j < len(since) and since[j] == t:
            for w in range(size):
                if weights[w] and not keep[w]:
                    _renew(waits, w, first[t + 1], ways, size, weights[w], inputs, way_witness, j * width, one_each)
            j += 1
    return leads


@inlined
def _renew(waits, value, lo, hi, size, weight, inputs, way_witness, here, one_each):  # type: ignore[no-untyped-def]
    """A candidate of this value: from now on the input counts from here."""
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
    """One start, to came[to + way]: the chance to come by each way to its candidate, if the goals before have held by
    then."""
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
    """One end: over all values."""
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
def renewal_spans(
    starts: Ints, ends: Ints, owner: Ints, owners: int, steps: int, tables: GoalTables, chains: Ints, alone: Bools
) -> Floats:
    """(owners, ends, starts): the chance that at least one of an owner's lines has held. O(steps · (starts + ends ·
    values) · values²) for a goal of a line.

    chains[goal, line] is -1 where the line has no candidate; alone[goal, line]: the chain's last value is a candidate
    whenever it comes, and no other is.
    """
    sizes, bases, table, hit_bases, hit, witness, witness_first = tables
    # Some columns beside those that are wanted are written to, too.
    out = np.zeros(owners * len(ends) * len(starts) + 8, np.float64)
    goals = len(sizes)
    # Lines of whole fours, as some are written beside those that are wanted.
    most, longest = len(starts) * len(ends), max(len(starts), len(ends))
    for goal in range(1, goals):
        count = witness_first[goal + 1] - witness_first[goal]
        if count == 0:
            return np.zeros((owners, len(ends), len(starts)), np.float64)
        most, longest = max(most, (count + 1) * whole_fours(count)), max(longest, count + 1)
    # What is asked of the goals before: from step 0, or any witness, up to the step before a witness.
    since = np.zeros(len(witness) + goals, np.int64)
    for goal in range(goals):
        lo, hi = witness_first[goal], witness_first[goal + 1]
        since[lo + goal + 1 : hi + goal + 1] = witness[lo:hi]
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
                own_starts = since[witness_first[goal + 1] + goal + 1 : witness_first[goal + 2] + goal + 2]
                own_ends = witness[witness_first[goal + 1] : witness_first[goal + 2]] - 1
            last, one = goal == goals - 1, alone[goal, line]
            own_since = since[witness_first[goal] + goal : witness_first[goal + 1] + goal + 1]
            own_witness = witness[witness_first[goal] : witness_first[goal + 1]]
            width, stride = whole_fours(len(own_witness)), whole_fours(len(own_ends))
            here = owner[line] * len(ends) * len(starts)
            if one and size == FOUR and goal == 0:
                first_four(out if last else result, last, here, own_starts, own_ends, stride, table, base, after, row)
            elif one and size == FOUR:
                leads = next_four(
                    out if last else result,
                    last,
                    here,
                    inputs,
                    own_since,
                    own_witness,
                    own_starts,
                    own_ends,
                    width,
                    stride,
                    table,
                    base,
                    leads,
                    after,
                )
            elif goal == 0:
                _first(
                    result, last, own_starts, own_ends, stride, ChainMoves(table, base, hit, hits, size), one, scratch
                )
            else:
                leads = one_more_goal(
                    result,
                    last,
                    inputs,
                    own_since,
                    own_witness,
                    own_starts,
                    own_ends,
                    width,
                    stride,
                    ChainMoves(table, base, hit, hits, size),
                    leads,
                    scratch,
                )
            if last and not (one and size == FOUR):
                _unite(out, here, result, starts, ends)
            inputs, result = result, inputs
    return out[: owners * len(ends) * len(starts)].reshape((owners, len(ends), len(starts)))


@inlined
def _unite(out, here, chances, starts, ends):  # type: ignore[no-untyped-def]
    """To out[here + end, start]: the chance that a line or those before it have held."""
    begun, i = 0, 0
    for e in range(len(ends)):
        while begun < len(starts) and starts[begun] <= ends[e]:
            begun += 1
        for k in range(i, i + begun):
            cell = np.uint64(here + k)
            out[cell] += chances[np.uint64(k)] * (1.0 - out[cell])
        i += len(starts)
