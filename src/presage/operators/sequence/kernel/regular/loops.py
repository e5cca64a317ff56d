"""Loops of regular sequences: the probability that the automaton accepts, step by step, in product with the chains.

`chances_together` takes groups in which several chains meet; `chances_alone` (independent) and `chances_linked`
(Markov) take groups of one chain each, whose rows need no sorting.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled_in_place, inlined
from presage.operators.sequence.kernel.regular.automaton import Automaton


@inlined
def symbols_of_step(
    begin: int, end: int, chain: Ints, symbol: Ints, probability: Floats, united: Ints, happened: Floats, more: Floats
) -> None:
    """`happened`: the probability of each symbol at a step, from the rows of one or more chains."""
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


class AloneRows(NamedTuple):
    """Rows of groups of one chain each, by step and chain. `letters`: symbols as narrow numbers; `value` and `prev` are
    read of Markov chains alone."""

    chain: Ints
    step: Ints
    arrival: Ints
    letters: np.ndarray
    probability: Floats
    value: Ints
    prev: Ints


@compiled_in_place
def chances_alone(
    alone: AloneRows, numbers: Ints, groups: Ints, automaton: Automaton, beliefs: Floats, found: Ints, likely: Floats
) -> int:
    """Groups of one chain each, in one pass without sorting. `numbers`: the automaton's symbol by letter; `groups` by
    chain. Writes answers to `found` (group, step, arrival) and `likely`, and returns their number."""
    chain, step, arrival, letters, probability, _, _ = alone
    _, _, follow, accepts, _ = automaton
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


class GroupRows(NamedTuple):
    """Rows by group, step and chain; `value` and `prev` of a Markov chain's rows count from 1, 0 is no event."""

    chain: Ints
    symbol: Ints
    value: Ints
    prev: Ints
    probability: Floats


class Runs(NamedTuple):
    """Rows `begin[r]` to `begin[r + 1]` are those of a group at `step[r]`, those up to `linked[r]` its Markov chain's.
    Runs `bounds[g]` to `bounds[g + 1]` are group g's, in the order of steps."""

    begin: Ints
    linked: Ints
    step: Ints
    bounds: Ints


@compiled_in_place
def chances_together(
    runs: Runs,
    rows: GroupRows,
    automaton: Automaton,
    widths: Ints,
    starts: Ints,
    steps: int,
    beliefs: Floats,
    found: Floats,
) -> None:
    """To `found` by run: the probability that the automaton accepts, for groups in which chains meet. At most one of
    them is a Markov chain, whose value is part of the state. The belief of group g, from `starts[g]` on, has a number
    for each of `widths[g]` values (0: none) and each state. There are `steps` steps."""
    chain, symbol, value, prev, probability = rows
    run_begin, linked, step, bounds = runs
    _, _, follow, accepts, united = automaton
    states, symbols = accepts.shape
    happened, more = np.zeros(symbols), np.zeros(symbols)
    for g in range(widths.size):
        width = widths[g]
        belief = beliefs[starts[g] : starts[g] + width * states].reshape((width, states))
        moved = np.zeros((width, states))
        own, left = np.zeros(width, np.int64), np.zeros(width)
        last = -1  # the step of the chain's value
        for r in range(bounds[g], bounds[g + 1]):
            if step[r] > last + 1:
                forget_value(belief)
            last = step[r]
            begin, end = run_begin[r], linked[r]
            symbols_of_step(end, run_begin[r + 1], chain, symbol, probability, united, happened, more)
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
            others = symbols if end < run_begin[r + 1] else 1
            for v in range(width):
                for state in range(states):
                    mass = moved[v, state]
                    if mass > 0.0:
                        for k in range(others):
                            if happened[k] > 0.0:
                                # `united` is filled only if chains meet.
                                both = k if own[v] == 0 else own[v]
                                if k > 0 and own[v] > 0:
                                    both = united[own[v], k]
                                flow = mass * happened[k]
                                belief[v, follow[state, both]] += flow
                                if accepts[state, both]:
                                    chance += flow
            found[r] = chance
        if last < steps - 1:
            forget_value(belief)


@inlined
def forget_value(belief: Floats) -> None:
    """A step without rows is no event of the chain."""
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
    """The number of values of each group's chain, plus one for none."""
    for k in range(chain.size):
        group = groups[chain[k]]
        if group >= 0:
            widths[group] = max(widths[group], value[k] + 2, prev[k] + 2)


@compiled_in_place
def chances_linked(
    alone: AloneRows,
    numbers: Ints,
    groups: Ints,
    widths: Ints,
    starts: Ints,
    automaton: Automaton,
    steps: int,
    beliefs: Floats,
    found: Ints,
    likely: Floats,
) -> int:
    """As `chances_alone`, for groups of one Markov chain each; beliefs as in `chances_together`."""
    chain, step, arrival, letters, probability, value, prev = alone
    _, _, follow, accepts, _ = automaton
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
