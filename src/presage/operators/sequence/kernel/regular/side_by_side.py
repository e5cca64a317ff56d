"""The vectorized loop for groups of one chain each and a small automaton: all groups of a step at once.

At a step most groups have rows. Their probabilities are written to a table by symbol and group, and a transition of the
automaton is then one vectorized loop over all groups. A step with rows of few groups is done group by group, with the
same sums in the same order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from presage.arrays.jit import Floats, Ints, compiled_in_place, inlined
from presage.operators.sequence.kernel.regular.automaton import Automaton
from presage.operators.sequence.kernel.regular.loops import AloneRows

Places = npt.NDArray[np.uint64]  # unsigned: spares the check for negative indices

MOST_MOVES = 64  # of a small automaton: in larger ones most moves carry no mass
SHARE = 4  # a step is vectorized if at least one group in so many has rows
BLOCK = 1_024  # groups whose lines fit the cache


class Moves(NamedTuple):
    """Transitions into state t, from begin[t] to begin[t + 1], without symbol 0, at which all mass stays. `from_state`
    and `on_symbol` are the pairs that find a match."""

    origin: Places
    symbol: Places
    begin: Ints
    from_state: Places
    on_symbol: Places
    symbols: int


def moves_of(automaton: Automaton) -> Moves | None:
    """None if the automaton is not small."""
    states, symbols = automaton.accepts.shape
    if states * symbols > MOST_MOVES:
        return None
    state, symbol = (places.reshape(-1) for places in np.indices((states, symbols - 1)))
    target = automaton.follow[state, symbol + 1]
    order = np.argsort(target, kind="stable")
    from_state, on_symbol = np.nonzero(automaton.accepts)
    return Moves(
        state[order].astype(np.uint64),
        symbol[order].astype(np.uint64) + np.uint64(1),
        np.searchsorted(target[order], np.arange(states + 1)),
        from_state.astype(np.uint64),
        on_symbol.astype(np.uint64),
        symbols,
    )


@inlined
def move_all(moves: Moves, happened: Floats, beliefs: Floats, after: Floats, chance: Floats) -> None:
    """One step of the automaton for all groups; tables by state or symbol, then by group. Clears `happened`."""
    for first in range(0, len(chance), BLOCK):
        own = slice(first, min(first + BLOCK, len(chance)))
        rest, likely = happened[0, own], chance[own]
        for g in range(len(rest)):
            rest[g] = 0.0
            likely[g] = 0.0
        for symbol in range(1, moves.symbols):
            there = happened[symbol, own]
            for g in range(len(rest)):
                rest[g] += there[g]
        for g in range(len(rest)):
            rest[g] = max(1.0 - rest[g], 0.0)
        for state in range(len(beliefs)):
            mass, total = beliefs[state, own], after[state, own]
            for g in range(len(rest)):
                total[g] = mass[g] * rest[g]
            for x in range(moves.begin[state], moves.begin[state + 1]):
                flow, there = beliefs[moves.origin[x], own], happened[moves.symbol[x], own]
                for g in range(len(rest)):
                    total[g] += flow[g] * there[g]
        for x in range(len(moves.from_state)):
            flow, there = beliefs[moves.from_state[x], own], happened[moves.on_symbol[x], own]
            for g in range(len(rest)):
                likely[g] += flow[g] * there[g]
        for state in range(len(beliefs)):
            mass, total = beliefs[state, own], after[state, own]
            for g in range(len(rest)):
                mass[g] = total[g]
        for symbol in range(1, moves.symbols):
            there = happened[symbol, own]
            for g in range(len(rest)):
                there[g] = 0.0


@inlined
def move_one(moves: Moves, happened: Floats, beliefs: Floats, after: Floats, group: int) -> float:
    """The same for one group; the probability that the automaton accepts."""
    rest, chance = 0.0, 0.0
    for symbol in range(1, moves.symbols):
        rest += happened[symbol, group]
    rest = max(1.0 - rest, 0.0)
    for state in range(len(beliefs)):
        total = beliefs[state, group] * rest
        for x in range(moves.begin[state], moves.begin[state + 1]):
            total += beliefs[moves.origin[x], group] * happened[moves.symbol[x], group]
        after[state, group] = total
    for x in range(len(moves.from_state)):
        chance += beliefs[moves.from_state[x], group] * happened[moves.on_symbol[x], group]
    for state in range(len(beliefs)):
        beliefs[state, group] = after[state, group]
    for symbol in range(1, moves.symbols):
        happened[symbol, group] = 0.0
    return chance


@compiled_in_place
def chances_side_by_side(
    alone: AloneRows, numbers: Ints, groups: Ints, moves: Moves, beliefs: Floats, found: Ints, likely: Floats
) -> int:
    """As `chances_alone`; `beliefs` by state and group are updated in place."""
    chain, step, arrival, letters, probability, _, _ = alone
    states, size = beliefs.shape
    happened, after = np.zeros((moves.symbols, size)), np.zeros((states, size))
    chance = np.zeros(size)
    here, last = np.empty(size, np.int64), np.empty(size, np.int64)  # groups with rows at a step, the last arrival
    count, at, rows = 0, 0, len(chain)
    while at < rows:
        now, some = step[at], 0
        while at < rows and step[at] == now:
            own, latest, read = chain[at], -1, False
            group = groups[own]
            while at < rows and chain[at] == own and step[at] == now:
                symbol = numbers[letters[at]]
                if group >= 0 and symbol > 0:
                    happened[symbol, group] += probability[at]
                    latest, read = max(latest, arrival[at]), True
                at += 1
            if read:
                here[some] = group
                last[some] = latest
                some += 1
        together = some * SHARE >= size
        if together:
            move_all(moves, happened, beliefs, after, chance)
        for i in range(some):
            group = here[i]
            p = chance[group] if together else move_one(moves, happened, beliefs, after, group)
            if p > 0.0:
                found[0, count] = group
                found[1, count] = now
                found[2, count] = last[i]
                likely[count] = p
                count += 1
    return count
