"""Reader of the first goals of a sequence by one automaton: the leaf of a safe plan."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.errors import error
from presage.operators.sequence.kernel.facts import MARKOV, Facts
from presage.operators.sequence.kernel.query import Sequence
from presage.operators.sequence.kernel.safe.chain_rows import (
    ChainRows,
    Intervals,
    alternatives,
    chains,
    one_letter_each,
)
from presage.operators.sequence.kernel.safe.codes import united
from presage.operators.sequence.kernel.safe.goals import GoalReader
from presage.operators.sequence.kernel.safe.joins import FEW, Bindings
from presage.operators.sequence.kernel.safe.regular.dense import LetterAutomaton, automaton_tables, dense_spans
from presage.operators.sequence.kernel.safe.regular.joint import regular_spans

MOST_BITS = 62  # of a letter
MOST_MASS = 1 << 25  # states of one step times starts of intervals
MOST_DENSE = 1 << 20  # the same for the dense loop, where unreached states take memory, too


def automaton_bits(query: Sequence, goals: int) -> tuple[Ints, int]:
    """The bits of the first goals, and how many bits a state has. Of a letter: a candidate, an accepted candidate, and
    both for later unfoldings of a Kleene plus. Of a state: the goal is found and the next one awaited; another
    unfolding is awaited."""
    found = np.zeros((goals, 6), np.int64)
    letters, states = 0, 0
    for goal, own in zip(query.goals, found, strict=False):
        for again in (False, True) if goal.plus is not None else (False,):
            own[2 * again], own[2 * again + 1] = 1 << letters, 2 << letters
            letters += 2
        if goal.number < goals - 1:
            own[4] = 1 << states
            states += 1
        if goal.plus is not None:
            own[5] = 1 << states
            states += 1
    return found, states


class RegularReader:
    """The automaton of `goals` goals, for any values of `env`."""

    def __init__(self, query: Sequence, facts: Facts, goals: int, env: frozenset[str]) -> None:
        self.query, self.facts, self.count = query, facts, goals
        self.sources = [ChainRows(source) for source in facts.sources]
        self.goals, self.state_bits = automaton_bits(query, goals)
        self.readers: list[tuple[GoalReader, int, int, int]] = []
        for goal, own in zip(query.goals, self.goals, strict=False):
            for again in (False, True) if goal.plus is not None else (False,):
                reader = GoalReader(query, facts, goal, env, again)
                self.readers.append((reader, goal.source, int(own[2 * again]), int(own[2 * again + 1])))
        if self.goals[:, :4].max() >= 1 << MOST_BITS:
            raise self._too_many("bits of a safe plan", int(self.goals[:, :4].max()).bit_length(), MOST_BITS)

    def spans(self, bindings: Bindings, spans: Intervals) -> Floats:
        """(owners, ends, starts): the probability that at least one binding of an owner holds."""
        lines = len(bindings)
        independent, markov, sources = [], [], []
        for number, rows in enumerate(self.sources):
            if not any(own == number for _, own, _, _ in self.readers):
                continue
            line, row, bits = self._letters(number, bindings)
            if rows.source.kind != MARKOV:
                independent.append(rows.alternatives(line, row, bits))
            else:
                markov.append(rows.chains(line, row, bits))
                sources.append(rows.source)
        a, c = alternatives(lines, independent), chains(lines, sources, markov)
        logs = np.concatenate([[0.0], np.cumsum(np.log2(c.size))])
        joint = logs[c.start[1:]] - logs[c.start[:-1]]
        if float(joint.max(initial=0.0)) + self.state_bits > 60:
            raise self._too_many("states of a safe plan", f"2^{joint.max() + self.state_bits:.0f}", MOST_MASS)
        letters, follow, found, unions = automaton_tables(self.goals, np.concatenate([_some(a.bits), _some(c.bits)]))
        width = 2.0 ** joint.max(initial=0.0) * len(follow) * (len(spans.starts) + 1)
        if len(letters) and width <= MOST_DENSE and one_letter_each(c):
            a, c = a._replace(bits=_places(letters, a.bits)), c._replace(bits=_places(letters, c.bits))
            joints = np.rint(2.0**joint).astype(np.int64)
            return dense_spans(LetterAutomaton(follow, found, unions), spans, joints, a, c)
        most = max(MOST_MASS // (len(spans.starts) + 1), 1)
        chances, states = regular_spans(self.goals, self.state_bits, spans, most, a, c)
        if states > most:
            raise self._too_many("states of a safe plan", states, most)
        return chances

    def _letters(self, source: int, bindings: Bindings) -> tuple[Ints, Ints, Ints]:
        """The rows of a source that are candidates in a line, with their bits."""
        found: tuple[Ints, Ints, Ints] | None = None
        for reader, own, candidate, accepted in self.readers:
            if own == source:
                read = reader.read(bindings)
                new = read.line, read.row, np.where(read.accepted, candidate | accepted, candidate)
                found = new if found is None else united(*found, *new)
        assert found is not None
        return found

    def _too_many(self, name: str, found: object, limit: int) -> Exception:
        texts = " ; ".join(goal.text for goal in self.query.goals[: self.count])
        what = f"the joint state of all that {texts} reads ({found})"
        fix = "give more of the keys a value, so that fewer Markov chains are read together"
        return error("LIMIT", what=what, limit_name=name, limit=limit, fix=fix)


def _some(bits: Ints) -> Ints:
    """Each once."""
    return np.flatnonzero(np.bincount(bits)) if bits.max(initial=0) < FEW else np.unique(bits)


def _places(letters: Ints, bits: Ints) -> Ints:
    if letters[-1] >= FEW:
        return np.searchsorted(letters, bits)
    table = np.zeros(letters[-1] + 1, np.int64)
    table[letters] = np.arange(len(letters))
    return table[bits]
