"""The deterministic automaton of a regular sequence, as tables.

A state is the set of waiting partial matches, as bits: after goal i for the next goal, and after an unfolding of a
Kleene plus for another one. A symbol is the events of a step, as bits: for each goal whether there was a candidate and
whether there was an accepted one. A wait ends at the first step with a candidate, accepted or not; a match may start at
every step. Symbols of several chains are united.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Bools, Ints

MOST_STATES = 1 << 14
MOST_SYMBOLS = 1 << 10


@dataclass(frozen=True)
class Steps:
    """The number of goals, and which are Kleene pluses. `again`: later unfoldings of the plus have candidates of their
    own, because they agree on fewer variables."""

    goals: int
    plus: tuple[bool, ...]
    again: tuple[bool, ...]

    @property
    def bits(self) -> int:
        """The number of bits of a symbol."""
        return 4 * self.goals if any(self.again) else 2 * self.goals

    def candidate(self, goal: int) -> int:
        return 1 << (2 * goal)

    def accepted(self, goal: int) -> int:
        return 1 << (2 * goal + 1)

    def candidate_again(self, goal: int) -> int:
        return 1 << (2 * (self.goals + goal)) if self.again[goal] else self.candidate(goal)

    def accepted_again(self, goal: int) -> int:
        return 1 << (2 * (self.goals + goal) + 1) if self.again[goal] else self.accepted(goal)

    def waits(self, goal: int) -> int:
        """The bit of matches that have found a goal and wait for the next one."""
        return 1 << goal

    def unfolds(self, goal: int) -> int:
        return 1 << (self.goals + goal)


class Automaton(NamedTuple):
    """States and symbols by number, 0 is the empty one of each. `follow` and `accepts` by state and symbol; `united`
    by two symbols."""

    states: Ints  # as bits
    symbols: Ints
    follow: Ints
    accepts: Bools
    united: Ints


def react(steps: Steps, state: int, symbol: int) -> tuple[int, bool]:
    """The state after a symbol, and whether the sequence is found."""
    after, found = 0, False
    for goal in range(steps.goals):
        last = goal == steps.goals - 1
        entered = False
        if goal == 0 or state & steps.waits(goal - 1):
            entered = bool(symbol & steps.accepted(goal))
            if goal and not symbol & steps.candidate(goal):
                after |= steps.waits(goal - 1)
        if steps.plus[goal] and state & steps.unfolds(goal):
            entered |= bool(symbol & steps.accepted_again(goal))
            if not symbol & steps.candidate_again(goal):
                after |= steps.unfolds(goal)
        if entered:
            found |= last
            after |= 0 if last else steps.waits(goal)
            after |= steps.unfolds(goal) if steps.plus[goal] else 0
    return after, found


def build_automaton(steps: Steps, symbols: Ints, states: Ints, several: bool) -> Automaton | None:
    """For the symbols of the rows, starting from the states of the beliefs. `several`: symbols may be united. None if
    there are too many states or symbols."""
    known = _closed(np.union1d(symbols, [0]), several)
    if known is None:
        return None
    numbers = {0: 0}
    numbers.update((int(bits), i + 1) for i, bits in enumerate(x for x in np.unique(states) if x))
    follow: list[list[int]] = []
    accepts: list[list[bool]] = []
    reached = list(numbers)
    place = 0
    while place < len(reached):
        reactions = [react(steps, reached[place], int(symbol)) for symbol in known]
        for after, _ in reactions:
            if after not in numbers:
                numbers[after] = len(reached)
                reached.append(after)
        if len(reached) > MOST_STATES:
            return None
        follow.append([numbers[after] for after, _ in reactions])
        accepts.append([found for _, found in reactions])
        place += 1
    places = {int(symbol): i for i, symbol in enumerate(known)}
    united = np.zeros((1, 1), np.int64)
    if several:
        united = np.array([[places[int(a | b)] for b in known] for a in known], np.int64)
    return Automaton(
        np.array(reached, np.int64), known, np.array(follow, np.int64), np.array(accepts, np.bool_), united
    )


def _closed(symbols: Ints, several: bool) -> Ints | None:
    """Symbols with all their unions, sorted: the empty one is the first."""
    while several:
        if len(symbols) > MOST_SYMBOLS:
            return None
        more = np.unique(symbols[:, None] | symbols[None, :])
        if len(more) == len(symbols):
            break
        symbols = more
    return symbols if len(symbols) <= MOST_SYMBOLS else None
