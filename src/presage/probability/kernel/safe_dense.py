"""The same as `safe_regular` for automata and joint values that are few, over tables: no sorting in the loop.

Letters and states are numbered; mass is (state, joint values of the Markov chains, starts). Chains move one after the
other, each along its own axis, and then the automaton by what they have come to.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, inlined
from presage.probability.kernel.safe_regular import react

MOST_LETTERS = 64
MOST_STATES = 256


@compiled
def automaton_tables(goals: Ints, letters: Ints) -> tuple[Ints, Ints, Bools, Ints]:
    """Letters with all their unions, ascending; the state and whether it is found by state and letter; the number of
    two letters' union. No letters at all if there are too many."""
    known = np.zeros(MOST_LETTERS, np.int64)
    count = 1
    for letter in letters:
        for i in range(count):
            union = known[i] | letter
            if not (known[:count] == union).any():
                if count == MOST_LETTERS:
                    return known[:0], goals[:0], np.zeros((0, 0), np.bool_), goals[:0]
                known[count] = union
                count += 1
    known = np.sort(known[:count])
    states = np.zeros(MOST_STATES, np.int64)
    follow = np.zeros((MOST_STATES, count), np.int64)
    found = np.zeros((MOST_STATES, count), np.bool_)
    size, place = 1, 0
    while place < size:
        for k in range(count):
            after, found[place, k] = react(states[place], known[k], goals)
            number = 0
            while number < size and states[number] != after:
                number += 1
            if number == MOST_STATES:
                return known[:0], goals[:0], np.zeros((0, 0), np.bool_), goals[:0]
            if number == size:
                states[size] = after
                size += 1
            follow[place, k] = number
        place += 1
    unions = np.zeros((count, count), np.int64)
    for i in range(count):
        for k in range(count):
            unions[i, k] = np.searchsorted(known, known[i] | known[k])
    return known, follow[:size].copy(), found[:size].copy(), unions


@inlined
def _spread(at, end, step, steps, chain, chance, letter, unions, p, q):  # type: ignore[no-untyped-def]
    """What the independent chains of a line do at a step, to `p` by letter; where the next step's rows begin."""
    p[:] = 0.0
    p[0] = 1.0
    while at < end and steps[at] == step:
        first, rest = at, 1.0
        while at < end and steps[at] == step and chain[at] == chain[first]:
            rest -= chance[at]
            at += 1
        rest = max(rest, 0.0)
        q[:] = 0.0
        for i in range(len(p)):
            if p[i]:
                q[i] += p[i] * rest
                for k in range(first, at):
                    q[unions[i, letter[k]]] += p[i] * chance[k]
        p[:] = q
    return at


@inlined
def _add(new, mass, base, inner, prev, weight, lo, hi, columns):  # type: ignore[no-untyped-def]
    """Rows of mass, weighted, to `new`: four at a time, which spares the memory three of four ways."""
    k = lo
    while k + 4 <= hi:
        a, b = mass[base + prev[k] * inner], mass[base + prev[k + 1] * inner]
        c, d = mass[base + prev[k + 2] * inner], mass[base + prev[k + 3] * inner]
        w, x, y, z = weight[k], weight[k + 1], weight[k + 2], weight[k + 3]
        if a[0] or b[0] or c[0] or d[0]:
            for i in range(columns):
                new[i] += (w * a[i] + x * b[i]) + (y * c[i] + z * d[i])
        k += 4
    while k < hi:
        a, w = mass[base + prev[k] * inner], weight[k]
        if a[0]:
            for i in range(columns):
                new[i] += w * a[i]
        k += 1


@inlined
def _move(mass, after, columns, outer, size, inner, lo, hi, prev, value, chance, rest):  # type: ignore[no-untyped-def]
    """One chain's step, along its axis of (outer, size, inner). Rows ascend by value. After some values (`rest`) there
    may be no event."""
    after[: outer * size * inner, :columns] = 0.0
    idle = np.flatnonzero(rest)
    likely = rest[idle]
    for o in range(outer):
        for i in range(inner):
            base = o * size * inner + i
            _add(after[base], mass, base, inner, idle, likely, 0, len(idle), columns)
            first = lo
            while first < hi:
                last = first
                while last < hi and value[last] == value[first]:
                    last += 1
                _add(after[base + value[first] * inner], mass, base, inner, prev, chance, first, last, columns)
                first = last


@inlined
def _react_all(mass, after, held, columns, joint, said, p, follow, found, unions, keep, take):  # type: ignore[no-untyped-def]
    """The automaton's step: from all states, for each joint value and what it says."""
    states = len(follow)
    after[: states * joint, :columns] = 0.0
    for v in range(joint):
        for s in range(states):
            old = mass[s * joint + v]
            if old[0] == 0.0:
                continue
            keep[:] = 0.0
            take[:] = 0.0
            total = 0.0
            for k in range(len(p)):
                if p[k]:
                    letter = unions[k, said[v]]
                    if found[s, letter]:
                        take[follow[s, letter]] += p[k]
                        total += p[k]
                    else:
                        keep[follow[s, letter]] += p[k]
            for to in range(states):
                new = after[to * joint + v]
                new[0] += (keep[to] + take[to]) * old[0]
                if keep[to]:
                    for c in range(1, columns):
                        new[c] += keep[to] * old[c]
            if total:
                for c in range(1, columns):
                    held[c] += total * old[c]


@compiled
def dense_spans(
    follow: Ints, found: Bools, unions: Ints, starts: Ints, ends: Ints, owner: Ints, owners: int, joints: Ints,
    a_start: Ints, a_step: Ints, a_chain: Ints, a_chance: Floats, a_letter: Ints,
    c_start: Ints, c_size: Ints, c_first: Ints,
    c_step: Ints, c_prev: Ints, c_value: Ints, c_chance: Floats, c_letter: Ints,
) -> Floats:  # fmt: skip
    """(owners, ends, starts): the chance that at least one of an owner's lines has held. `joints`: by line, how many
    joint values its chains have. Letters of a chain's rows depend on the step and the value alone."""
    out = np.zeros((owners, len(ends), len(starts)), np.float64)
    states = len(follow)
    width = states * (joints.max() if len(joints) else 1)
    mass = np.zeros((width, len(starts) + 1), np.float64)
    after = np.zeros((width, len(starts) + 1), np.float64)
    p, q = np.zeros(unions.shape[0], np.float64), np.zeros(unions.shape[0], np.float64)
    keep, take = np.zeros(states, np.float64), np.zeros(states, np.float64)
    last_step = ends[-1] if len(ends) else -1
    for line in range(len(owner)):
        joint = joints[line]
        own = out[owner[line]]
        first, count = c_start[line], c_start[line + 1] - c_start[line]
        at = c_first[first : first + count].copy()
        said = np.zeros(joint, np.int64)
        mass[:] = 0.0
        mass[0, 0] = 1.0
        held = np.zeros(len(starts) + 1, np.float64)
        place, begun, asked = a_start[line], 0, 0
        for step in range(last_step + 1):
            while begun < len(starts) and starts[begun] == step:
                begun += 1
                for i in range(states * joint):
                    mass[i, begun] = mass[i, 0]
            place = _spread(
                place, a_start[line + 1], step, a_step, a_chain, a_chance, a_letter, unions, p, q
            )  # fmt: skip
            said[:] = 0
            inner = joint
            for j in range(count):
                size, lo, hi = c_size[first + j], at[j], at[j]
                inner //= size
                rest = np.ones(size, np.float64)
                while hi < c_first[first + j + 1] and c_step[hi] == step:
                    rest[c_prev[hi]] -= c_chance[hi]
                    hi += 1
                at[j] = hi
                for v in range(size):
                    rest[v] = rest[v] if rest[v] > 1e-12 else 0.0
                _move(
                    mass, after, begun + 1, states * joint // (size * inner), size, inner, lo, hi,
                    c_prev, c_value, c_chance, rest,
                )  # fmt: skip
                mass, after = after, mass
                _say(said, joint // (size * inner), size, inner, lo, hi, c_value, c_letter, unions)
            if count or p[0] < 1.0:
                _react_all(
                    mass, after, held, begun + 1, joint, said, p, follow, found, unions, keep, take
                )  # fmt: skip
                mass, after = after, mass
            while asked < len(ends) and ends[asked] == step:
                cells = own[asked]
                for c in range(begun):
                    cells[c] += held[c + 1] * (1.0 - cells[c])
                asked += 1
    return out


@inlined
def _say(said, outer, size, inner, lo, hi, value, letter, unions):  # type: ignore[no-untyped-def]
    """Unite what a chain's new value says with what is said of each joint value."""
    says = np.zeros(size, np.int64)
    for k in range(lo, hi):
        says[value[k]] = letter[k]
    for o in range(outer):
        for v in range(size):
            if says[v]:
                for i in range(inner):
                    place = (o * size + v) * inner + i
                    said[place] = unions[said[place], says[v]]
