"""The loop of `joint` over tables, for few states, letters and joint values: nothing is sorted in the loop.

Letters and states are numbered; mass is (state, joint values of the Markov chains, starts). At a step the chains move
one after the other, each along its own axis, and then the automaton by their new values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, inlined
from presage.operators.sequence.kernel.facts import ROUNDING
from presage.operators.sequence.kernel.safe.chain_rows import Alternatives, Chains, Intervals
from presage.operators.sequence.kernel.safe.regular.joint import react

MOST_LETTERS = 64
MOST_STATES = 256


class LetterAutomaton(NamedTuple):
    """By state and letter: the next state, and whether the sequence is found; by two letters: their union."""

    follow: Ints
    found: Bools
    unions: Ints


@compiled
def automaton_tables(goals: Ints, letters: Ints) -> tuple[Ints, Ints, Bools, Ints]:
    """Letters with all their unions, ascending, and the fields of `LetterAutomaton`. No letters if there are too
    many."""
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
    """To `p`: probabilities of letters from the independent chains of a line; where the next step's rows begin."""
    letters = len(p)
    for i in range(letters):
        p[i] = 0.0
    p[0] = 1.0
    while at < end and steps[at] == step:
        first, rest = at, 1.0
        while at < end and steps[at] == step and chain[at] == chain[first]:
            rest -= chance[at]
            at += 1
        rest = max(rest, 0.0)
        for i in range(letters):
            q[i] = p[i] * rest
        for i in range(letters):
            if p[i]:
                for k in range(first, at):
                    q[unions[i, letter[k]]] += p[i] * chance[k]
        for i in range(letters):
            p[i] = q[i]
    return at


@inlined
def _move(mass, after, width, columns, outer, size, inner, rows, prev, value, weight):  # type: ignore[no-untyped-def]
    """One chain's step, along its axis of (outer, size, inner) lines of `width`, of which `columns` are in use. The
    first `rows` ways lead from a value to a value, ascending by the new one. Lines are addressed by offset, because a
    view of each would cost more than its sums. Adding four at a time saves memory traffic."""
    stride = inner * width
    for line in range(outer * size * inner):
        here = np.uint64(line * width)
        for i in range(columns):
            after[here + np.uint64(i)] = 0.0
    for o in range(outer):
        for n in range(inner):
            base = (o * size * inner + n) * width
            k = 0
            while k < rows:
                new = np.uint64(base + value[k] * stride)
                if k + 4 <= rows and value[k + 3] == value[k]:
                    a, b = np.uint64(base + prev[k] * stride), np.uint64(base + prev[k + 1] * stride)
                    c, d = np.uint64(base + prev[k + 2] * stride), np.uint64(base + prev[k + 3] * stride)
                    w, x, y, z = weight[k], weight[k + 1], weight[k + 2], weight[k + 3]
                    if mass[a] or mass[b] or mass[c] or mass[d]:
                        for i in range(columns):
                            u = np.uint64(i)
                            after[new + u] += (w * mass[a + u] + x * mass[b + u]) + (y * mass[c + u] + z * mass[d + u])
                    k += 4
                else:
                    a, w = np.uint64(base + prev[k] * stride), weight[k]
                    if mass[a]:
                        for i in range(columns):
                            u = np.uint64(i)
                            after[new + u] += w * mass[a + u]
                    k += 1


@inlined
def _ways(lo, hi, size, c_prev, c_value, c_chance, rest, prev, value, weight):  # type: ignore[no-untyped-def]
    """Writes the ways of a chain's step, first those to no event, which is value 0. Returns their number."""
    for v in range(size):
        rest[v] = 1.0
    for k in range(lo, hi):
        rest[c_prev[k]] -= c_chance[k]
    rows = 0
    for v in range(size):
        if rest[v] > ROUNDING * (hi - lo + 1):
            prev[rows], value[rows], weight[rows] = v, 0, rest[v]
            rows += 1
    for k in range(lo, hi):
        prev[rows], value[rows], weight[rows] = c_prev[k], c_value[k], c_chance[k]
        rows += 1
    return rows


@inlined
def _says_nothing(p):  # type: ignore[no-untyped-def]
    """Whether only the first, empty letter is possible. Its probability alone does not tell: it may round to 1."""
    silent = True
    for i in range(1, len(p)):
        silent = silent and p[i] == 0.0
    return silent


@inlined
def _react_all(mass, after, held, width, columns, joint, said, p, automaton, keep):  # type: ignore[no-untyped-def]
    """The automaton's step from all states, by joint value and its letter. What accepts is removed from the intervals,
    but not from the first column, which keeps all mass."""
    follow, found, unions = automaton
    states = len(follow)
    for line in range(states * joint):
        here = np.uint64(line * width)
        for i in range(columns):
            after[here + np.uint64(i)] = 0.0
    alone = _says_nothing(p)  # but the Markov chains may
    for v in range(joint):
        for s in range(states):
            old = np.uint64((s * joint + v) * width)
            if mass[old] == 0.0:
                continue
            total = 0.0
            if alone:
                to, total = follow[s, said[v]], 1.0 if found[s, said[v]] else 0.0
                new = np.uint64((to * joint + v) * width)
                if total:
                    after[new] += mass[old]
                else:
                    for i in range(columns):
                        after[new + np.uint64(i)] += mass[old + np.uint64(i)]
            else:
                for to in range(states):
                    keep[to] = 0.0
                for k in range(len(p)):
                    if p[k]:
                        letter = unions[k, said[v]]
                        if found[s, letter]:
                            after[np.uint64((follow[s, letter] * joint + v) * width)] += p[k] * mass[old]
                            total += p[k]
                        else:
                            keep[follow[s, letter]] += p[k]
                for to in range(states):
                    share = keep[to]
                    if share:
                        new = np.uint64((to * joint + v) * width)
                        for i in range(columns):
                            after[new + np.uint64(i)] += share * mass[old + np.uint64(i)]
            if total:
                for i in range(1, columns):
                    held[np.uint64(i)] += total * mass[old + np.uint64(i)]


@compiled
def dense_spans(
    automaton: LetterAutomaton, spans: Intervals, joints: Ints, independent: Alternatives, markov: Chains
) -> Floats:
    """(owners, ends, starts): the probability that at least one line of an owner holds. `joints`: by line, the number
    of joint values of its chains. `bits` of rows are numbers of letters; within a chain they depend on step and value
    alone."""
    follow, _, unions = automaton
    starts, ends, owner, owners = spans
    a_start, a_step, a_chain, a_chance, a_letter = independent
    c_start, c_size, c_first, c_step, c_prev, c_value, c_chance, c_letter = markov
    out = np.zeros(owners * len(ends) * len(starts), np.float64)
    states = len(follow)
    lines = states * (joints.max() if len(joints) else 1)
    # Lines of all starts, by state and joint value, one after the other.
    columns = len(starts) + 1
    mass, after = np.zeros(lines * columns, np.float64), np.zeros(lines * columns, np.float64)
    p, q = np.zeros(unions.shape[0], np.float64), np.zeros(unions.shape[0], np.float64)
    keep = np.zeros(states, np.float64)
    prev, value = np.empty(64, np.int64), np.empty(64, np.int64)  # the ways of a chain's step
    weight, rest = np.empty(64, np.float64), np.empty(64, np.float64)
    last_step = ends[-1] if len(ends) else -1
    for line in range(len(owner)):
        joint = joints[line]
        first, count = c_start[line], c_start[line + 1] - c_start[line]
        at = c_first[first : first + count].copy()
        said = np.zeros(joint, np.int64)
        mass[:] = 0.0
        mass[0] = 1.0
        held = np.zeros(len(starts) + 1, np.float64)
        place, begun, asked = a_start[line], 0, 0
        for step in range(last_step + 1):
            while begun < len(starts) and starts[begun] == step:
                begun += 1
                for i in range(states * joint):
                    mass[i * columns + begun] = mass[i * columns]
            place = _spread(place, a_start[line + 1], step, a_step, a_chain, a_chance, a_letter, unions, p, q)
            said[:] = 0
            inner = joint
            for j in range(count):
                size, lo, hi = c_size[first + j], at[j], at[j]
                inner //= size
                while hi < c_first[first + j + 1] and c_step[hi] == step:
                    hi += 1
                at[j] = hi
                if size + hi - lo > len(prev):
                    prev, value = np.empty(2 * (size + hi - lo), np.int64), np.empty(2 * (size + hi - lo), np.int64)
                    weight, rest = np.empty(len(prev), np.float64), np.empty(len(prev), np.float64)
                rows = _ways(lo, hi, size, c_prev, c_value, c_chance, rest, prev, value, weight)
                outer = joint // (size * inner)
                _move(mass, after, columns, begun + 1, states * outer, size, inner, rows, prev, value, weight)
                mass, after = after, mass
                _say(said, outer, size, inner, lo, hi, c_value, c_letter, unions)
            if count or not _says_nothing(p):
                _react_all(mass, after, held, columns, begun + 1, joint, said, p, automaton, keep)
                mass, after = after, mass
            while asked < len(ends) and ends[asked] == step:
                cells = np.uint64((owner[line] * len(ends) + asked) * len(starts))
                for c in range(begun):
                    u = np.uint64(c)
                    out[cells + u] += held[u + np.uint64(1)] * (1.0 - out[cells + u])
                asked += 1
    return out.reshape((owners, len(ends), len(starts)))


@inlined
def _say(said, outer, size, inner, lo, hi, value, letter, unions):  # type: ignore[no-untyped-def]
    """Unite the letter of a chain's new value with that of each joint value."""
    says = np.zeros(size, np.int64)
    for k in range(lo, hi):
        says[value[k]] = letter[k]
    for o in range(outer):
        for v in range(size):
            if says[v]:
                for i in range(inner):
                    place = (o * size + v) * inner + i
                    said[place] = unions[said[place], says[v]]
