"""The general loop of a regular part: the probability that it holds during each interval (paper, 3.3.1).

The automaton runs in product with the chains that it reads, once for each start of an interval. Up to the start no mass
is removed; from then on mass that accepts is removed, and the removed mass is the probability that the sequence held.
All starts are evaluated together: O(steps · starts · transitions) for each line, memory for the states of one step.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, Ints, compiled, inlined
from presage.operators.sequence.kernel.facts import ROUNDING
from presage.operators.sequence.kernel.safe.chain_rows import Alternatives, Chains, Intervals

MOST_MOVES = 1 << 22  # of one step


@inlined
def react(state: int, letter: int, goals: Ints) -> tuple[int, bool]:
    """The waiting partial matches after a step, as bits, and whether the sequence is found (see `automaton_bits`)."""
    after = 0
    found = False
    count = len(goals)
    for i in range(count):
        entered = False
        if i == 0 or state & goals[i - 1, 4]:
            entered = letter & goals[i, 1] != 0
            if i > 0 and letter & goals[i, 0] == 0:
                after |= goals[i - 1, 4]
        if state & goals[i, 5]:
            entered = entered or letter & goals[i, 3] != 0
            if letter & goals[i, 2] == 0:
                after |= goals[i, 5]
        if entered:
            found = found or i == count - 1
            after |= goals[i, 4] | goals[i, 5]
    return after, found


@inlined
def _merged(codes: Ints, chances: Floats) -> tuple[Ints, Floats]:
    """Distinct codes with the sums of their probabilities."""
    order = np.argsort(codes)
    some = np.empty_like(codes)
    sums = np.zeros_like(chances)
    last = -1
    for k in order:
        if last < 0 or some[last] != codes[k]:
            last += 1
            some[last] = codes[k]
        sums[last] += chances[k]
    return some[: last + 1], sums[: last + 1]


@inlined
def _letters(step: int, at: int, end: int, steps: Ints, chain: Ints, chance: Floats, bits: Ints):  # type: ignore[no-untyped-def]
    """Letters and probabilities of the independent chains of a line at a step; and where the next step's rows begin."""
    letters = np.zeros(1, np.int64)
    chances = np.ones(1, np.float64)
    while at < end and steps[at] == step:
        last = at
        while last < end and steps[last] == step and chain[last] == chain[at]:
            last += 1
        alternatives = last - at
        rest = 1.0
        for k in range(at, last):
            rest -= chance[k]
        nothing = rest > ROUNDING * (alternatives + 1)
        size = len(letters)
        more = np.empty(size * (alternatives + nothing), np.int64)
        p = np.empty(len(more), np.float64)
        n = 0
        for i in range(size):
            for k in range(at, last):
                more[n] = letters[i] | bits[k]
                p[n] = chances[i] * chance[k]
                n += 1
            if nothing:
                more[n] = letters[i]
                p[n] = chances[i] * rest
                n += 1
        letters, chances = (more, p) if len(more) == 1 else _merged(more, p)
        at = last
    return letters, chances, at


@inlined
def _moves(values: int, letters, chances, items, at, markov, step):  # type: ignore[no-untyped-def]
    """Transitions from one combination of the Markov chains' values: codes of the new values, letters and
    probabilities. Empty if there are too many."""
    _, sizes, first, steps, prev, value, chance, bits = markov
    count = len(items)
    old = np.empty(count, np.int64)
    for j in range(count - 1, -1, -1):
        old[j] = values % sizes[items[j]]
        values //= sizes[items[j]]
    code = np.zeros(len(letters), np.int64)
    for j in range(count):
        item = items[j]
        lo = at[j]
        hi = lo
        rest = 1.0
        fitting = 0
        while hi < first[item + 1] and steps[hi] == step:
            if prev[hi] == old[j]:
                rest -= chance[hi]
                fitting += 1
            hi += 1
        nothing = rest > ROUNDING * (fitting + 1)
        size = len(letters) * (fitting + nothing)
        if size > MOST_MOVES:
            return code[:0], letters[:0], chances[:0]
        new_code, new_letters = np.empty(size, np.int64), np.empty(size, np.int64)
        p = np.empty(size, np.float64)
        n = 0
        for i in range(len(letters)):
            for k in range(lo, hi):
                if prev[k] == old[j]:
                    new_code[n] = code[i] * sizes[item] + value[k]
                    new_letters[n] = letters[i] | bits[k]
                    p[n] = chances[i] * chance[k]
                    n += 1
            if nothing:
                new_code[n] = code[i] * sizes[item]
                new_letters[n] = letters[i]
                p[n] = chances[i] * rest
                n += 1
        code, letters, chances = new_code, new_letters, p
    return code, letters, chances


@compiled
def regular_spans(
    goals: Ints, state_bits: int, spans: Intervals, most: int, independent: Alternatives, markov: Chains
) -> tuple[Floats, int]:
    """(owners, ends, starts): the probability that at least one line of an owner holds; and the greatest number of
    states. If that exceeds `most`, the rest is not computed. Intervals that end before they start have probability 0.
    """
    starts, ends, owner, owners = spans
    out = np.zeros((owners, len(ends), len(starts)), np.float64)
    greatest = 0
    last_step = ends[-1] if len(ends) else -1
    a_start, a_step, a_chain, a_chance, a_bits = independent
    for line in range(len(owner)):
        items = np.arange(markov.start[line], markov.start[line + 1])
        at = markov.first[items].copy()
        place, place_end = a_start[line], a_start[line + 1]
        codes = np.zeros(1, np.int64)
        # Column 0 keeps all mass; column j + 1 is the interval that begins at starts[j].
        mass = np.zeros((1, len(starts) + 1), np.float64)
        mass[0, 0] = 1.0
        held = np.zeros(len(starts) + 1, np.float64)
        begun, asked = 0, 0
        for step in range(last_step + 1):
            while begun < len(starts) and starts[begun] == step:
                begun += 1
                for i in range(len(codes)):
                    mass[i, begun] = mass[i, 0]
            letters, chances, place = _letters(step, place, place_end, a_step, a_chain, a_chance, a_bits)
            if len(items) or len(letters) > 1 or letters[0]:
                origin, target, chance, found, size = _transitions(
                    codes, mass, goals, state_bits, letters, chances, items, at, markov, step
                )
                if size < 0:
                    return out, most + 1
                codes, mass = _pushed(origin, target, chance, found, size, mass, held, begun)
                for j in range(len(items)):
                    while at[j] < markov.first[items[j] + 1] and markov.step[at[j]] == step:
                        at[j] += 1
                greatest = max(greatest, len(codes))
                if greatest > most:
                    return out, greatest
            while asked < len(ends) and ends[asked] == step:
                cells = out[owner[line], asked]
                for j in range(begun):
                    cells[j] += held[j + 1] * (1.0 - cells[j])
                asked += 1
    return out, greatest


@inlined
def _transitions(  # type: ignore[no-untyped-def]
    codes, mass, goals, state_bits, letters, chances, items, at, markov, step
):
    """All transitions of the possible states: origin, target code, probability, whether they accept, and their number,
    -1 if there are too many."""
    capacity = 4 * len(codes) * len(letters)
    origin, target = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    p, found = np.empty(capacity, np.float64), np.empty(capacity, np.bool_)
    n = 0
    known = np.int64(-1)
    values, own, likely = codes[:0], letters, chances
    for i in range(len(codes)):
        if mass[i, 0] == 0.0:
            continue
        if codes[i] >> state_bits != known:
            # Codes ascend, so states with the same values follow each other.
            known = codes[i] >> state_bits
            values, own, likely = _moves(known, letters, chances, items, at, markov, step)
        if len(own) == 0 or n + len(own) > MOST_MOVES:
            return origin, target, p, found, -1
        if n + len(own) > capacity:
            capacity = 2 * (n + len(own))
            origin, target = _longer(origin, capacity), _longer(target, capacity)
            p, found = _longer(p, capacity), _longer(found, capacity)
        state = codes[i] & ((1 << state_bits) - 1)
        for k in range(len(own)):
            after, found[n] = react(state, own[k], goals)
            origin[n] = i
            target[n] = values[k] << state_bits | after
            p[n] = likely[k]
            n += 1
    return origin, target, p, found, n


@inlined
def _longer(array, size):  # type: ignore[no-untyped-def]
    new = np.empty(size, array.dtype)
    new[: len(array)] = array
    return new


@inlined
def _pushed(origin, target, chance, found, size, mass, held, begun):  # type: ignore[no-untyped-def]
    """The mass after a step, by code; what accepts goes to `held`."""
    order = np.argsort(target[:size])
    codes = np.empty(size, np.int64)
    number = np.empty(size, np.int64)
    last = -1
    for k in order:
        if last < 0 or codes[last] != target[k]:
            last += 1
            codes[last] = target[k]
        number[k] = last
    after = np.zeros((last + 1, mass.shape[1]), np.float64)
    for k in range(size):
        row, to, p = origin[k], number[k], chance[k]
        if found[k]:
            after[to, 0] += p * mass[row, 0]
            for j in range(1, begun + 1):
                held[j] += p * mass[row, j]
        else:
            for j in range(begun + 1):
                after[to, j] += p * mass[row, j]
    return codes[: last + 1], after
