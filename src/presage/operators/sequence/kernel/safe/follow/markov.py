"""Loops of one more goal over Markov chains: over any chains, and over one chain for each line given as tables.

The chains of a goal are independent of each other, but a chain has memory: its event at the goal depends on its event
at the latest step that ended all waits. Bits of rows: RESET ends all waits, ACCEPTED continues the match.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, inlined
from presage.operators.sequence.kernel.facts import ROUNDING
from presage.operators.sequence.kernel.safe.chain_rows import Chains
from presage.operators.sequence.kernel.safe.chains.backward import ChainTables
from presage.operators.sequence.kernel.safe.chains.tiles import TILE, cells_of, step_on, times
from presage.operators.sequence.kernel.safe.follow.independent import FollowInput

RESET, ACCEPTED = 1, 2
SIDE_BY_SIDE = 64  # starts of intervals that are evaluated together


@inlined
def _row_ranges(item: int, steps: int, first: Ints, step: Ints) -> Ints:
    """Where the rows of each step begin."""
    found = np.empty(steps + 1, np.int64)
    at = first[item]
    for t in range(steps + 1):
        while at < first[item + 1] and step[at] < t:
            at += 1
        found[t] = at
    return found


@inlined
def _uncovered(rows: Ints, size: int, prev: Ints, chance: Floats) -> Floats:
    """By step: the probability of no event after each value."""
    rest = np.ones((len(rows) - 1, size), np.float64)
    for t in range(len(rows) - 1):
        for k in range(rows[t], rows[t + 1]):
            rest[t, prev[k]] -= chance[k]
        least = ROUNDING * (rows[t + 1] - rows[t] + 1)
        for v in range(size):
            rest[t, v] = rest[t, v] if rest[t, v] > least else 0.0
    return rest


@inlined
def _moved(weight: Floats, after: Floats, lo, hi, rest, prev, value, chance, bits, resetting):  # type: ignore[no-untyped-def]
    """To `after`: weights of values one step later, over rows that end waits (1), that do not (0), or all (2)."""
    for v in range(len(weight)):
        after[v] = 0.0
    if resetting != 1:
        for v in range(len(weight)):
            after[0] += weight[v] * rest[v]
    for k in range(lo, hi):
        if resetting == 2 or (bits[k] & RESET) == resetting:
            after[value[k]] += weight[prev[k]] * chance[k]


@compiled
def markov_points(below: FollowInput, markov: Chains) -> Floats:
    """(lines, hits): the probability at each step, over any number of chains. O(resets · steps · rows of a step).

    For a reset and a hit each chain has four weights: whether it had an event at the reset and at the hit, with no
    reset between them. Chains are independent, so their weights combine as unions. All resets are evaluated together:
    column 0 is no reset before the hit, column j + 1 the reset j.
    """
    resets, hits, inputs, lines, which = below
    start, sizes, first, step, prev, value, chance, bits = markov
    out = np.zeros((len(lines), len(hits)), np.float64)
    steps = hits[-1] + 1 if len(hits) else 0
    columns = len(resets) + 1
    union = np.empty(len(hits) * 4 * columns, np.float64)
    now = np.empty(4 * columns, np.float64)
    for i in range(len(lines)):
        line, own = lines[i], which[i]
        union[:] = 0.0
        for h in range(len(hits)):
            union[4 * h * columns : (4 * h + 1) * columns] = 1.0
        for item in range(start[line], start[line + 1]):
            size = sizes[item]
            rows = _row_ranges(item, steps, first, step)
            rest = _uncovered(rows, size, prev, chance)
            buffer = np.zeros((4, size), np.float64)
            marginal, after, idle, active = buffer[0], buffer[1], buffer[2], buffer[3]
            marginal[0] = 1.0
            # By value: weights of a chain without and with an event at the reset.
            x, y = np.zeros(2 * size * columns, np.float64), np.empty(2 * size * columns, np.float64)
            x[0] = 1.0
            begun, h = 1, 0
            for t in range(steps):
                lo, hi = rows[t], rows[t + 1]
                if h < len(hits) and hits[h] == t:
                    now[:] = 0.0
                    for v in range(size):
                        _add(now, 0, x, v, rest[t, v], begun, columns)
                    for k in range(lo, hi):
                        _add(now, 1 if bits[k] & ACCEPTED else 0, x, prev[k], chance[k], begun, columns)
                    _unite(union, 4 * h * columns, now, begun, columns)
                    h += 1
                y[:] = 0.0
                for v in range(size):
                    _add(y, 0, x, v, rest[t, v], begun, columns)
                for k in range(lo, hi):
                    if bits[k] & RESET == 0:
                        _add(y, value[k], x, prev[k], chance[k], begun, columns)
                x, y = y, x
                if begun < columns and resets[begun - 1] == t:
                    _moved(marginal, idle, lo, hi, rest[t], prev, value, chance, bits, 0)
                    _moved(marginal, active, lo, hi, rest[t], prev, value, chance, bits, 1)
                    for v in range(size):
                        x[2 * v * columns + begun], x[(2 * v + 1) * columns + begun] = idle[v], active[v]
                    begun += 1
                _moved(marginal, after, lo, hi, rest[t], prev, value, chance, bits, 2)
                marginal, after = after, marginal
        for h in range(len(hits)):
            total = union[(4 * h + 2) * columns] * inputs[own, h, 0]
            for j in range(len(resets)):
                if resets[j] < hits[h]:
                    total += union[(4 * h + 3) * columns + j + 1] * inputs[own, h, j + 1]
            out[i, h] = total
    return out


@inlined
def _add(to, new, weights, old, chance, begun, columns):  # type: ignore[no-untyped-def]
    """Move weight from one value to another, in all columns that have begun."""
    if chance:
        i, k = 2 * new * columns, 2 * old * columns
        for c in range(begun):
            to[np.uint64(i + c)] += chance * weights[np.uint64(k + c)]
        i, k = i + columns, k + columns
        for c in range(begun):
            to[np.uint64(i + c)] += chance * weights[np.uint64(k + c)]


@inlined
def _unite(union, here, now, begun, columns):  # type: ignore[no-untyped-def]
    """Unite a chain with those before it, at one hit."""
    for c in range(begun):
        n0, n1 = now[np.uint64(c)], now[np.uint64(columns + c)]
        n2, n3 = now[np.uint64(2 * columns + c)], now[np.uint64(3 * columns + c)]
        i = np.uint64(here + c)
        j, k, n = i + np.uint64(columns), i + np.uint64(2 * columns), i + np.uint64(3 * columns)
        o0, o1, o2, o3 = union[i], union[j], union[k], union[n]
        union[i] = o0 * n0
        union[j] = o0 * n1 + o1 * (n0 + n1)
        union[k] = o0 * n2 + o2 * (n0 + n2)
        union[n] = o0 * n3 + o1 * (n2 + n3) + o2 * (n1 + n3) + o3 * (n0 + n1 + n2 + n3)


@compiled
def markov_spans(below: FollowInput, starts: Ints, ends: Ints, markov: Chains) -> Floats:
    """(lines, ends, starts): the probability during intervals, over one chain whose candidates are all accepted and are
    the hits. O(starts · steps · values · rows of a step).

    As `follow_spans`, with a weight for each value: before[value, hit] at the step before the interval. Several starts
    are evaluated together: `begins` is `before` at each of them.
    """
    resets, hits, inputs, lines, which = below
    start, sizes, first, step, prev, value, chance, bits = markov
    out = np.zeros((len(lines), len(ends), len(starts)), np.float64)
    steps = ends[-1] + 1 if len(ends) else 0
    for i in range(len(lines)):
        line, own = lines[i], which[i]
        if start[line] == start[line + 1]:
            continue
        item = start[line]
        size = sizes[item]
        rows = _row_ranges(item, steps, first, step)
        rest = _uncovered(rows, size, prev, chance)
        buffer = np.zeros((3, size), np.float64)
        marginal, after, active = buffer[0], buffer[1], buffer[2]
        marginal[0] = 1.0
        before, moved = np.zeros((size, len(hits)), np.float64), np.zeros((size, len(hits)), np.float64)
        before[0] = inputs[own, :, 0]
        s, j, t = 0, 0, 0
        while s < len(starts) and starts[s] < steps:
            columns = min(len(starts) - s, SIDE_BY_SIDE)
            begins = np.zeros((len(hits), size, columns), np.float64)
            s, begin = s + columns, s
            for c in range(columns):
                while t < min(starts[begin + c], steps):
                    lo, hi = rows[t], rows[t + 1]
                    _all_moved(before, moved, len(hits), lo, hi, rest[t], prev, value, chance, bits, 0)
                    before, moved = moved, before
                    if j < len(resets) and resets[j] == t:
                        _moved(marginal, active, lo, hi, rest[t], prev, value, chance, bits, 1)
                        j += 1
                        for v in range(size):
                            if active[v]:
                                for h in range(len(hits)):
                                    before[v, h] += active[v] * inputs[own, h, j]
                    _moved(marginal, after, lo, hi, rest[t], prev, value, chance, bits, 2)
                    marginal, after = after, marginal
                    t += 1
                for h in range(len(hits)):
                    for v in range(size):
                        begins[h, v, c] = before[v, h]
            _hold(out[i], begin, columns, starts, hits, ends, rows, rest, begins, markov)
    return out


@inlined
def _all_moved(weights, after, columns, lo, hi, rest, prev, value, chance, bits, resetting):  # type: ignore[no-untyped-def]
    """As `_moved`, for the first columns of weights[value, column]."""
    size = len(weights)
    for v in range(size):
        for c in range(columns):
            after[v, c] = 0.0
    if resetting != 1:
        for v in range(size):
            _more(after[0], weights[v], rest[v], columns)
    for k in range(lo, hi):
        if resetting == 2 or (bits[k] & RESET) == resetting:
            _more(after[value[k]], weights[prev[k]], chance[k], columns)


@inlined
def _more(to, weights, chance, columns):  # type: ignore[no-untyped-def]
    if chance:
        for c in range(columns):
            to[np.uint64(c)] += chance * weights[np.uint64(c)]


@inlined
def _hold(out, begin, columns, starts, hits, ends, rows, rests, begins, markov):  # type: ignore[no-untyped-def]
    """Starts from number `begin` on: the probability that the goal holds by each end. paths[value at the start, value,
    start] leads to the step before a candidate; `held` is the weight of each value after the goal held."""
    _, _, _, _, prev, value, chance, bits = markov
    size = begins.shape[1]
    paths, led = np.zeros((size, size, columns), np.float64), np.zeros((size, size, columns), np.float64)
    held, after = np.zeros((size, columns), np.float64), np.zeros((size, columns), np.float64)
    weight = np.zeros((size, columns), np.float64)
    h, e = np.searchsorted(hits, starts[begin]), np.searchsorted(ends, starts[begin])
    begun = 0
    for t in range(starts[begin], len(rows) - 1):
        while begun < columns and starts[begin + begun] == t:
            for v in range(size):
                paths[v, v, begun] = 1.0
            begun += 1
        lo, hi, rest = rows[t], rows[t + 1], rests[t]
        _all_moved(held, after, begun, lo, hi, rest, prev, value, chance, bits, 0)
        held, after = after, held
        if h < len(hits) and hits[h] == t:
            for w in range(size):
                for c in range(begun):
                    weight[w, c] = 0.0
                for v in range(size):
                    for c in range(begun):
                        weight[w, c] += begins[h, v, c] * paths[v, w, c]
            _all_moved(weight, after, begun, lo, hi, rest, prev, value, chance, bits, 1)
            for v in range(size):
                _more(held[v], after[v], 1.0, begun)
            h += 1
        while e < len(ends) and ends[e] == t:
            for v in range(size):
                for c in range(begun):
                    out[e, begin + c] += held[v, c]
            e += 1
        for v in range(size):
            _all_moved(paths[v], led[v], begun, lo, hi, rest, prev, value, chance, bits, 2)
        paths, led = led, paths


@compiled
def steps_said(says: np.ndarray, steps: int, size: int, flags: Bools, others: Bools) -> tuple[Ints, Ints]:
    """Steps at which a value of some chain has a flagged code, for both sets of flags."""
    seen, also = np.zeros(steps, np.bool_), np.zeros(steps, np.bool_)
    for line in range(len(says) // size):
        t = np.uint64(line % steps)
        for v in range(size):
            code = np.uint64(says[np.uint64(line * size + v)])
            seen[t] |= flags[code]
            also[t] |= others[code]
    return np.flatnonzero(seen), np.flatnonzero(also)


@compiled
def chain_points(below: FollowInput, chains: Ints, tables: ChainTables, resetting: Bools, accepting: Bools) -> Floats:
    """(lines, hits): the probability at each step. `resetting` and `accepting` are by code. O(steps · hits · values²)
    for a line."""
    resets, hits, inputs, lines, which = below
    steps, size, table, says = tables
    out = np.zeros((len(lines), len(hits)), np.float64)
    columns, buffer = len(hits), np.empty(size * TILE, np.float64)
    waits, m = np.empty(cells_of(columns, size), np.float64), np.empty(size * size, np.float64)
    ended, weights = np.empty(size, np.float64), np.empty(size, np.float64)
    since = np.empty(cells_of(columns, 1), np.float64)
    for i in range(len(lines)):
        chain, own = chains[lines[i]], which[i]
        if chain < 0:
            continue
        waits[:] = 0.0
        for h in range(columns):
            waits[h // TILE * size * TILE + h % TILE] = inputs[own, h, 0]
        weights[:] = 0.0
        weights[0] = 1.0
        h, j = 0, 0
        for t in range(hits[-1] + 1 if columns else 0):
            at, said = (chain * steps + t) * size * size, (chain * steps + t) * size
            if hits[h] == t:
                here = h // TILE * size * TILE + h % TILE
                for v in range(size):
                    for w in range(size):
                        if accepting[says[said + w]]:
                            out[i, h] += waits[here + v * TILE] * table[at + v * size + w]
                h += 1
            for w in range(size):
                keep = 0.0 if resetting[np.uint64(says[np.uint64(said + w)])] else 1.0
                ended[w] = 1.0 - keep
                for v in range(size):
                    m[np.uint64(v * size + w)] = keep * table[np.uint64(at + v * size + w)]
            times(waits, buffer, h, columns, size, m)
            step_on(weights, table, at, size, buffer)
            if j < len(resets) and resets[j] == t:
                j += 1
                # Copied once for all values: inputs are by hit.
                for k in range(h, columns):
                    since[np.uint64(k)] = inputs[np.uint64(own), np.uint64(k), np.uint64(j)]
                for v in range(size):
                    if ended[v] * weights[v]:
                        _renew_from(waits, v, size, h, columns, weights[v], since)
    return out


@inlined
def _renew_from(waits, value, size, lo, hi, weight, since):  # type: ignore[no-untyped-def]
    """A candidate of this value: from now on the input counts from this step."""
    for tile in range(lo // TILE, (hi + TILE - 1) // TILE):
        to, old = (tile * size + value) * TILE, tile * TILE
        for column in range(max(lo - old, 0), min(hi - old, TILE)):
            waits[np.uint64(to + column)] += weight * since[np.uint64(old + column)]
