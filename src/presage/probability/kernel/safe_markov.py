"""A plan's intervals and the Markov chains of one more goal in, the chances of both out (arguments: see `safe_follow`).

The chains of a goal are independent of each other, but a chain remembers: what it did at the latest step that ended all
waits tells what it does at the goal's event. Rows have bits: RESET ends all waits, ACCEPTED goes on.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, Ints, compiled, inlined

RESET, ACCEPTED = 1, 2


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
def _uncovered(lo: int, hi: int, size: int, prev: Ints, chance: Floats) -> Floats:
    """The chance of no event after each value."""
    rest = np.ones(size, np.float64)
    for k in range(lo, hi):
        rest[prev[k]] -= chance[k]
    for v in range(size):
        rest[v] = rest[v] if rest[v] > 1e-12 else 0.0
    return rest


@inlined
def _moved(weight: Floats, lo, hi, rest, prev, value, chance, bits, resetting):  # type: ignore[no-untyped-def]
    """Weights of values one step on, over rows that do (1) or do not (0) end waits, or over all (2)."""
    after = np.zeros(len(weight), np.float64)
    if resetting != 1:
        for v in range(len(weight)):
            after[0] += weight[v] * rest[v]
    for k in range(lo, hi):
        if resetting == 2 or (bits[k] & RESET) == resetting:
            after[value[k]] += weight[prev[k]] * chance[k]
    return after


@compiled
def markov_points(
    resets: Ints, hits: Ints, inputs: Floats, lines: Ints, which: Ints,
    start: Ints, sizes: Ints, first: Ints, step: Ints, prev: Ints, value: Ints, chance: Floats, bits: Ints,
) -> Floats:  # fmt: skip
    """(lines, hits): the chance at each step, over any number of chains. O(resets · steps · rows of a step).

    For a reset and a hit each chain has four weights: whether it did anything at the reset, and at the hit, with no
    reset between them. Chains are independent, so the weights of all of them are those of the unions.
    """
    out = np.zeros((len(lines), len(hits)), np.float64)
    steps = hits[-1] + 1 if len(hits) else 0
    for i in range(len(lines)):
        line, own = lines[i], which[i]
        # Line 0: no reset at all before the hit.
        union = np.zeros((len(resets) + 1, len(hits), 4), np.float64)
        union[:, :, 0] = 1.0
        for item in range(start[line], start[line + 1]):
            rows = _row_ranges(item, steps, first, step)
            marginal = np.zeros(sizes[item], np.float64)
            marginal[0] = 1.0
            _unite(union[0], 0, hits, rows, marginal, np.zeros_like(marginal), prev, value, chance, bits)
            j = 0
            for t in range(steps):
                rest = _uncovered(rows[t], rows[t + 1], sizes[item], prev, chance)
                if j < len(resets) and resets[j] == t:
                    idle = _moved(marginal, rows[t], rows[t + 1], rest, prev, value, chance, bits, 0)
                    active = _moved(marginal, rows[t], rows[t + 1], rest, prev, value, chance, bits, 1)
                    j += 1
                    _unite(union[j], t + 1, hits, rows, idle, active, prev, value, chance, bits)
                marginal = _moved(marginal, rows[t], rows[t + 1], rest, prev, value, chance, bits, 2)
        for h in range(len(hits)):
            total = union[0, h, 2] * inputs[own, h, 0]
            for j in range(len(resets)):
                if resets[j] < hits[h]:
                    total += union[j + 1, h, 3] * inputs[own, h, j + 1]
            out[i, h] = total
    return out


@inlined
def _unite(union, begin, hits, rows, idle, active, prev, value, chance, bits):  # type: ignore[no-untyped-def]
    """Add a chain to the unions, from a step on; `idle` and `active`: its weights of values at the step before."""
    h = np.searchsorted(hits, begin)
    for t in range(begin, len(rows) - 1):
        lo, hi = rows[t], rows[t + 1]
        rest = _uncovered(lo, hi, len(idle), prev, chance)
        if h < len(hits) and hits[h] == t:
            own = np.zeros(4, np.float64)
            for v in range(len(idle)):
                own[0] += idle[v] * rest[v]
                own[1] += active[v] * rest[v]
            for k in range(lo, hi):
                place = 2 if bits[k] & ACCEPTED else 0
                own[place] += idle[prev[k]] * chance[k]
                own[place + 1] += active[prev[k]] * chance[k]
            old = union[h].copy()
            union[h, :] = 0.0
            for a in range(4):
                for b in range(4):
                    union[h, a | b] += old[a] * own[b]
            h += 1
        idle = _moved(idle, lo, hi, rest, prev, value, chance, bits, 0)
        active = _moved(active, lo, hi, rest, prev, value, chance, bits, 0)


@compiled
def markov_spans(
    resets: Ints, hits: Ints, inputs: Floats, lines: Ints, which: Ints, starts: Ints, ends: Ints,
    start: Ints, sizes: Ints, first: Ints, step: Ints, prev: Ints, value: Ints, chance: Floats, bits: Ints,
) -> Floats:  # fmt: skip
    """(lines, ends, starts): the chance during intervals, over one chain whose candidates are all accepted (and are the
    hits). O(starts · steps · values · rows of a step).

    As `follow_spans`, with a weight for each value: `before[h]` at the step before the interval; `paths` leads from
    there to the step before a candidate in it; `held` is the weight of what has held.
    """
    out = np.zeros((len(lines), len(ends), len(starts)), np.float64)
    steps = ends[-1] + 1 if len(ends) else 0
    for i in range(len(lines)):
        line, own = lines[i], which[i]
        if start[line] == start[line + 1]:
            continue
        item = start[line]
        size = sizes[item]
        rows = _row_ranges(item, steps, first, step)
        marginal = np.zeros(size, np.float64)
        marginal[0] = 1.0
        before = np.zeros((len(hits), size), np.float64)
        before[:, 0] = inputs[own, :, 0]
        s, j = 0, 0
        for t in range(steps):
            while s < len(starts) and starts[s] == t:
                _hold(out[i, :, s], t, hits, ends, rows, before, prev, value, chance, bits)
                s += 1
            if s == len(starts):
                break
            lo, hi = rows[t], rows[t + 1]
            rest = _uncovered(lo, hi, size, prev, chance)
            for h in range(len(hits)):
                before[h] = _moved(before[h], lo, hi, rest, prev, value, chance, bits, 0)
            if j < len(resets) and resets[j] == t:
                active = _moved(marginal, lo, hi, rest, prev, value, chance, bits, 1)
                j += 1
                for h in range(len(hits)):
                    before[h] += active * inputs[own, h, j]
            marginal = _moved(marginal, lo, hi, rest, prev, value, chance, bits, 2)
    return out


@inlined
def _hold(out, begin, hits, ends, rows, before, prev, value, chance, bits):  # type: ignore[no-untyped-def]
    """One start: the chance that it has held by each end."""
    size = before.shape[1]
    paths = np.eye(size)
    held = np.zeros(size, np.float64)
    h, e = np.searchsorted(hits, begin), np.searchsorted(ends, begin)
    for t in range(begin, len(rows) - 1):
        lo, hi = rows[t], rows[t + 1]
        rest = _uncovered(lo, hi, size, prev, chance)
        held = _moved(held, lo, hi, rest, prev, value, chance, bits, 0)
        if h < len(hits) and hits[h] == t:
            weight = np.zeros(size, np.float64)
            for v in range(size):
                if before[h, v]:
                    for w in range(size):
                        weight[w] += before[h, v] * paths[v, w]
            held += _moved(weight, lo, hi, rest, prev, value, chance, bits, 1)
            h += 1
        while e < len(ends) and ends[e] == t:
            out[e] = held.sum()
            e += 1
        for v in range(size):
            paths[v] = _moved(paths[v], lo, hi, rest, prev, value, chance, bits, 2)
