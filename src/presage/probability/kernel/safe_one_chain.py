"""Goals that read one chain together and values of variables in, the chances of intervals out, if that can be."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints
from presage.probability.kernel.facts import MARKOV, Facts
from presage.probability.kernel.query import Sequence
from presage.probability.kernel.safe_automaton import automaton_bits
from presage.probability.kernel.safe_backward import independent_backward, markov_backward
from presage.probability.kernel.safe_classes import classes_of, outward
from presage.probability.kernel.safe_dense import automaton_tables
from presage.probability.kernel.safe_key_chains import KeyChains
from presage.probability.kernel.safe_letters import CODES, chances_of_letters
from presage.probability.kernel.safe_rows import Bindings


class OneChainReader:
    """The first goals of a sequence, for any values of `env`. `possible`: it can be done so, and fast."""

    def __init__(self, query: Sequence, facts: Facts, goals: int, env: frozenset[str]) -> None:
        self.steps = facts.steps
        self.read = read = KeyChains(query, facts, query.goals[:goals], env)
        self.possible = read.possible
        if not self.possible:
            return
        bits, _ = automaton_bits(query, goals)
        codes = np.flatnonzero(read.seen)
        meant = np.array([_letter(bits, int(code)) for code in codes], np.int64)
        letters, self.follow, found, _ = automaton_tables(bits, meant)
        self.possible = len(letters) > 0
        if not self.possible:
            return
        letter_of = np.zeros(CODES, np.int64)
        letter_of[codes] = np.searchsorted(letters, meant)
        self.moves = self._reduce(found)
        of = read.source
        if of.kind == MARKOV:
            # By code, as it is codes that are at hand.
            self.follow, self.moves = self.follow[:, letter_of], self.moves[:, letter_of]
            self.order = outward(self.moves)
            self.possible = len(self.order) > 0
        else:
            self.chances = chances_of_letters(
                len(letters), letter_of, self.steps, of.chains, of.chain, of.step, of.probability, read.code
            )

    def _reduce(self, found: Bools) -> Ints:
        """Fewer states: those that differ in what is found at all, and classes of those that differ in what is found
        next: what each leads to."""
        own, leaders = classes_of(self.follow, found, False)
        self.follow, found = own[self.follow[leaders]], found[leaders]
        self.classes, leaders = classes_of(self.follow, found, True)
        moves: Ints = np.where(found[leaders], -1, self.classes[self.follow[leaders]])
        return moves

    def spans(self, bindings: Bindings, starts: Ints, ends: Ints, owner: Ints, owners: int) -> Floats | None:
        """As `RegularReader.spans`; None if a line reads several chains."""
        chains, read = self.read.chains(bindings), self.read
        if chains is None:
            return None
        if read.source.kind == MARKOV:
            return markov_backward(
                starts, ends, owner, owners, self.steps, read.size, chains,
                read.table, read.says, self.follow, self.classes, self.moves, self.order,
            )  # fmt: skip
        return independent_backward(
            starts, ends, owner, owners, self.steps, chains, self.chances, self.follow, self.classes, self.moves
        )


def _letter(goals: Ints, code: int) -> int:
    """The automaton's letter that a code stands for."""
    letter = 0
    for number, own in enumerate(goals.tolist()):
        candidate, accepted = code >> 2 * number & 1, code >> (2 * number + 1) & 1
        # A match may start at any step: who is no more than a candidate stops nothing.
        if candidate and (accepted or number):
            letter |= own[0] | own[1] * accepted
        if candidate:
            letter |= own[2] | own[3] * accepted
    return letter
