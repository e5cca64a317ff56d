"""Reader of goals that read one chain of a source: probabilities of intervals."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, inlined
from presage.operators.sequence.kernel.facts import INDEPENDENT, MARKOV, Facts
from presage.operators.sequence.kernel.query import Goal, Sequence
from presage.operators.sequence.kernel.safe.chain_rows import Intervals
from presage.operators.sequence.kernel.safe.chains.backward import (
    ChainTables,
    ClassAutomaton,
    independent_backward,
    markov_backward,
)
from presage.operators.sequence.kernel.safe.chains.key_chains import (
    CODES,
    KeyChains,
    chances_of_letters,
    letters_together,
)
from presage.operators.sequence.kernel.safe.joins import Bindings
from presage.operators.sequence.kernel.safe.regular.dense import MOST_LETTERS, automaton_tables
from presage.operators.sequence.kernel.safe.regular.reader import automaton_bits

FEW_LETTERS = 16  # of several sources, which are combined two by two


class OneChainReader:
    """The first goals of a sequence, for any values of `env`: goals of one Markov source, or of any independent
    sources. `possible`: this reader applies and is fast."""

    def __init__(self, query: Sequence, facts: Facts, goals: int, env: frozenset[str]) -> None:
        self.steps = facts.steps
        by_source: dict[int, list[Goal]] = {}
        for goal in query.goals[:goals]:
            by_source.setdefault(goal.source, []).append(goal)
        kinds = {facts.sources[source].kind for source in by_source}
        self.possible = kinds == {INDEPENDENT} or (kinds == {MARKOV} and len(by_source) == 1)
        if not self.possible:
            return
        self.reads = [KeyChains(query, facts, tuple(own), env) for own in by_source.values()]
        self.possible = all(read.possible for read in self.reads)
        if not self.possible:
            return
        bits, _ = automaton_bits(query, goals)
        codes = [read.seen.nonzero()[0] for read in self.reads]
        meant = [
            np.array([_letter(own, bits, int(code)) for code in some], np.int64)
            for own, some in zip(by_source.values(), codes, strict=True)
        ]
        letters, self.follow, found, self.unions = automaton_tables(bits, np.concatenate(meant))
        self.possible = 0 < len(letters) <= (MOST_LETTERS if len(meant) == 1 else FEW_LETTERS)
        if not self.possible:
            return
        letter_of = [_table(some, np.searchsorted(letters, said)) for some, said in zip(codes, meant, strict=True)]
        self.moves = self._reduce(found)
        if kinds == {MARKOV}:
            # By code: the tables hold codes, not letters.
            self.follow, self.moves = self.follow[:, letter_of[0]], self.moves[:, letter_of[0]]
            self.order = outward(self.moves)
            self.possible = len(self.order) > 0
        else:
            self.chances = [
                chances_of_letters(
                    len(letters), own, self.steps, of.chains, of.chain, of.step, of.probability, read.code
                )
                for read, own in zip(self.reads, letter_of, strict=True)
                for of in (read.source,)
            ]

    def _reduce(self, found: Bools) -> Ints:
        """Merge states that find the same sequences, and classify the rest by what they find next. Returns the class
        that follows, by class and letter, -1 where the sequence is found."""
        own, leaders = classes_of(self.follow, found, False)
        self.follow, found = own[self.follow[leaders]], found[leaders]
        self.classes, leaders = classes_of(self.follow, found, True)
        moves: Ints = np.where(found[leaders], -1, self.classes[self.follow[leaders]])
        return moves

    def spans(self, bindings: Bindings, spans: Intervals) -> Floats | None:
        """As `RegularReader.spans`; None if a line reads several chains of a source."""
        found = [read.chains(bindings) for read in self.reads]
        each = [chains for chains in found if chains is not None]
        if len(each) < len(found):
            return None
        first = self.reads[0]
        if first.source.kind == MARKOV:
            tables = ChainTables(self.steps, first.size, first.table, first.says)
            automaton = ClassAutomaton(self.follow, self.classes, self.moves, self.order)
            return markov_backward(spans, each[0], tables, automaton)
        chains, chances = each[0], self.chances[0]
        for own, more in zip(each[1:], self.chances[1:], strict=True):
            chances = letters_together(self.steps, chains, chances, own, more, self.unions)
            chains = np.arange(len(bindings))
        return independent_backward(spans, self.steps, chains, chances, self.follow, self.classes, self.moves)


def _table(codes: Ints, letters: Ints) -> Ints:
    """The letter of each code."""
    letter_of = np.zeros(CODES, np.int64)
    letter_of[codes] = letters
    return letter_of


def _letter(own: list[Goal], bits: Ints, code: int) -> int:
    """The letter of the automaton for a code."""
    letter = 0
    for place, goal in enumerate(own):
        candidate, accepted = code >> 2 * place & 1, code >> (2 * place + 1) & 1
        first, found, again, found_again = bits[goal.number, :4].tolist()
        # A match may start at any step: a candidate that is not accepted ends no wait.
        if candidate and (accepted or goal.number):
            letter |= first | found * accepted
        if candidate:
            letter |= again | found_again * accepted
    return letter


@compiled
def classes_of(follow: Ints, found: Bools, absorbing: bool) -> tuple[Ints, Ints]:
    """The class of each state, numbered from the first state on, and one state of each class. `absorbing`: what follows
    a found sequence makes no difference."""
    states = len(follow)
    own, count = np.zeros(states, np.int64), 1
    leaders = np.zeros(states, np.int64)
    while True:
        new, size = np.zeros(states, np.int64), 0
        for state in range(states):
            number = 0
            while number < size and not _alike(state, leaders[number], own, follow, found, absorbing):
                number += 1
            if number == size:
                leaders[size] = state
                size += 1
            new[state] = number
        own = new
        if size == count:
            return own, leaders[:count].copy()
        count = size


@inlined
def _alike(state, other, own, follow, found, absorbing):  # type: ignore[no-untyped-def]
    """Whether two states are of one class and lead to the same classes."""
    alike = own[state] == own[other]
    for letter in range(follow.shape[1]):
        same = own[follow[state, letter]] == own[follow[other, letter]]
        alike = alike and found[state, letter] == found[other, letter]
        alike = alike and (same or (absorbing and found[state, letter]))
    return alike


@compiled
def outward(moves: Ints) -> Ints:
    """A topological order of moves[state, letter] (below 0: none): each state after all others that lead to it. Empty
    if there is a cycle."""
    states = len(moves)
    order, placed = np.empty(states, np.int64), np.zeros(states, np.bool_)
    for place in range(states):
        chosen = -1
        for state in range(states):
            free = not placed[state]
            for other in range(states):
                if other != state and not placed[other]:
                    free = free and not (moves[other] == state).any()
            if free and chosen < 0:
                chosen = state
        if chosen < 0:
            return order[:0].copy()
        order[place], placed[chosen] = chosen, True
    return order
