"""Alternatives by group, step and chain come in, the chance that the automaton accepts goes out, step by step.

`chances` is for groups whose chains are independent from step to step: the state of the automaton is all there is to
know. `chances_of_chain` is for groups with one Markov chain: its value is known beside the state.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled_in_place, inlined


@inlined
def symbols_of_step(
    begin: int, end: int, chain: Ints, symbol: Ints, probability: Floats, united: Ints, happened: Floats, more: Floats
) -> None:
    """`happened`: how likely each symbol is at a step, from the rows of one or more chains."""
    happened[:] = 0.0
    happened[0] = 1.0
    at = begin
    first = True
    while at < end:
        own = chain[at]
        rest = 1.0
        if first:
            happened[0] = 0.0
            while at < end and chain[at] == own:
                happened[symbol[at]] += probability[at]
                rest -= probability[at]
                at += 1
            happened[0] += max(rest, 0.0)
            first = False
            continue
        more[:] = 0.0
        while at < end and chain[at] == own:
            for k in range(happened.size):
                if happened[k] > 0.0:
                    more[united[k, symbol[at]]] += happened[k] * probability[at]
            rest -= probability[at]
            at += 1
        if rest > 0.0:
            for k in range(happened.size):
                more[k] += happened[k] * rest
        happened[:] = more


@inlined
def advance(belief: Floats, after: Floats, happened: Floats, follow: Ints, accepts: Bools) -> float:
    """One step of the automaton; the chance that it accepts."""
    found = 0.0
    after[:] = 0.0
    for state in range(belief.size):
        mass = belief[state]
        if mass > 0.0:
            for k in range(happened.size):
                if happened[k] > 0.0:
                    flow = mass * happened[k]
                    after[follow[state, k]] += flow
                    if accepts[state, k]:
                        found += flow
    belief[:] = after
    return found


@compiled_in_place
def chances(
    runs: Ints, run_bounds: Ints, chain: Ints, symbol: Ints, probability: Floats, follow: Ints,
    accepts: Bools, united: Ints, beliefs: Floats, found: Floats,
) -> None:  # fmt: skip
    """Rows `runs[r]` to `runs[r + 1]` are those of one group and step; runs `run_bounds[g]` to `run_bounds[g + 1]` are
    group g's in the order of steps. `beliefs` by group and state; `found` by run."""
    after = np.zeros(beliefs.shape[1])
    happened, more = np.zeros(accepts.shape[1]), np.zeros(accepts.shape[1])
    for g in range(run_bounds.size - 1):
        belief = beliefs[g]
        for r in range(run_bounds[g], run_bounds[g + 1]):
            symbols_of_step(runs[r], runs[r + 1], chain, symbol, probability, united, happened, more)
            found[r] = advance(belief, after, happened, follow, accepts)


@compiled_in_place
def chances_alone(
    chain: Ints, step: Ints, arrival: Ints, letters: np.ndarray, numbers: Ints, probability: Floats, groups: Ints,
    follow: Ints, accepts: Bools, beliefs: Floats, found: Ints, likely: Floats,
) -> int:  # fmt: skip
    """For groups of one chain each, whose rows come by step and chain: no sorting, one pass. `numbers` by symbol as
    bits. Answers go to `found` (group, step, arrival) and `likely`; how many there are is given back."""
    states = accepts.shape[0]
    belief, after = np.zeros(states), np.zeros(states)
    count, at, rows = 0, 0, chain.size
    while at < rows:
        if letters[at] == 0 or groups[chain[at]] < 0:
            at += 1
            continue
        group, own, now = groups[chain[at]], chain[at], step[at]
        for state in range(states):
            belief[state] = beliefs[group, state]
            after[state] = 0.0
        rest, chance, last = 1.0, 0.0, -1
        while at < rows and chain[at] == own and step[at] == now:
            symbol = numbers[letters[at]]
            if symbol > 0:
                p = probability[at]
                rest -= p
                last = max(last, arrival[at])
                for state in range(states):
                    if belief[state] > 0.0:
                        flow = belief[state] * p
                        after[follow[state, symbol]] += flow
                        if accepts[state, symbol]:
                            chance += flow
            at += 1
        rest = max(rest, 0.0)
        for state in range(states):
            beliefs[group, state] = after[state] + belief[state] * rest
        if chance > 0.0:
            found[0, count] = group
            found[1, count] = now
            found[2, count] = last
            likely[count] = chance
            count += 1
    return count


@compiled_in_place
def chances_of_chain(
    widths: Ints, starts: Ints, runs: Ints, run_bounds: Ints, step: Ints, linked: Ints, chain: Ints, symbol: Ints,
    value: Ints, prev: Ints, probability: Floats, follow: Ints, accepts: Bools, united: Ints, last: Ints,
    steps: int, beliefs: Floats, found: Floats,
) -> None:  # fmt: skip
    """As `chances`, for groups with one Markov chain. Rows `runs[r]` to `linked[r]` are its own, those up to
    `runs[r + 1]` the other chains'. A group's belief lies at `starts[g]`: for each of `widths[g]` values (0: nothing)
    one number for each state. `last`: the step at which the group's value was known; there are `steps` of them."""
    states, symbols = accepts.shape
    happened, more = np.zeros(symbols), np.zeros(symbols)
    for g in range(widths.size):
        width = widths[g]
        belief = beliefs[starts[g] : starts[g] + width * states].reshape((width, states))
        moved = np.zeros((width, states))
        own, left = np.zeros(width, np.int64), np.zeros(width)
        for r in range(run_bounds[g], run_bounds[g + 1]):
            if step[r] > last[g] + 1:
                forget_value(belief)
            last[g] = step[r]
            begin, end = runs[r], linked[r]
            symbols_of_step(end, runs[r + 1], chain, symbol, probability, united, happened, more)
            moved[:] = 0.0
            own[:] = 0
            left[:] = 1.0
            for k in range(begin, end):
                own[value[k]] = symbol[k]
                left[prev[k]] -= probability[k]
                for state in range(states):
                    moved[value[k], state] += belief[prev[k], state] * probability[k]
            for v in range(width):
                if left[v] > 0.0:
                    for state in range(states):
                        moved[0, state] += belief[v, state] * left[v]
            belief[:] = 0.0
            chance = 0.0
            others = symbols if end < runs[r + 1] else 1
            for v in range(width):
                for state in range(states):
                    mass = moved[v, state]
                    if mass > 0.0:
                        for k in range(others):
                            if happened[k] > 0.0:
                                # There are unions only where chains meet.
                                both = k if own[v] == 0 else own[v]
                                if k > 0 and own[v] > 0:
                                    both = united[own[v], k]
                                flow = mass * happened[k]
                                belief[v, follow[state, both]] += flow
                                if accepts[state, both]:
                                    chance += flow
            found[r] = chance
        if last[g] < steps - 1:
            forget_value(belief)


@inlined
def forget_value(belief: Floats) -> None:
    """A step without rows: the chain has no event there."""
    for v in range(1, belief.shape[0]):
        for state in range(belief.shape[1]):
            belief[0, state] += belief[v, state]
            belief[v, state] = 0.0


@compiled_in_place
def mark_seen(letters: np.ndarray, seen: Bools) -> None:
    for letter in letters:
        seen[letter] = True


@compiled_in_place
def widths_of(chain: Ints, value: Ints, prev: Ints, groups: Ints, widths: Ints) -> None:
    """How many values each group's chain has, and one for none."""
    for k in range(chain.size):
        group = groups[chain[k]]
        if group >= 0:
            widths[group] = max(widths[group], value[k] + 2, prev[k] + 2)


@compiled_in_place
def chances_linked(
    chain: Ints, step: Ints, arrival: Ints, letters: np.ndarray, numbers: Ints, value: Ints, prev: Ints,
    probability: Floats, groups: Ints, widths: Ints, starts: Ints, follow: Ints, accepts: Bools, steps: int,
    beliefs: Floats, found: Ints, likely: Floats,
) -> int:  # fmt: skip
    """As `chances_alone`, for groups of one Markov chain each; beliefs as in `chances_of_chain`."""
    states = accepts.shape[0]
    widest = 1
    for g in range(widths.size):
        widest = max(widest, widths[g])
    moved, own, left = np.zeros((widest, states)), np.zeros(widest, np.int64), np.zeros(widest)
    known = np.full(widths.size, -1, np.int64)
    count, at, rows = 0, 0, chain.size
    while at < rows:
        group = groups[chain[at]]
        if group < 0:
            at += 1
            continue
        begin, now, width = at, step[at], widths[group]
        belief = beliefs[starts[group] : starts[group] + width * states].reshape((width, states))
        if now > known[group] + 1:
            forget_value(belief)
        known[group] = now
        moved[:width] = 0.0
        own[:width] = 0
        left[:width] = 1.0
        last = -1
        while at < rows and chain[at] == chain[begin] and step[at] == now:
            v, u, p = value[at] + 1, prev[at] + 1, probability[at]
            own[v] = numbers[letters[at]]
            left[u] -= p
            last = max(last, arrival[at])
            for state in range(states):
                moved[v, state] += belief[u, state] * p
            at += 1
        for v in range(width):
            if left[v] > 0.0:
                for state in range(states):
                    moved[0, state] += belief[v, state] * left[v]
        belief[:] = 0.0
        chance = 0.0
        for v in range(width):
            symbol = own[v]
            for state in range(states):
                mass = moved[v, state]
                if mass > 0.0:
                    belief[v, follow[state, symbol]] += mass
                    if accepts[state, symbol]:
                        chance += mass
        if chance > 0.0:
            found[0, count] = group
            found[1, count] = now
            found[2, count] = last
            likely[count] = chance
            count += 1
    for g in range(widths.size):
        if known[g] < steps - 1:
            forget_value(beliefs[starts[g] : starts[g] + widths[g] * states].reshape((widths[g], states)))
    return count
