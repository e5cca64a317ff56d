"""Estimated answers of a sequence of any class, with bounds: the share of random worlds in which each holds.

The number of worlds is such that each estimate is off by more than `error` with a probability of at most
1 - `confidence` (Hoeffding). The same seed gives the same worlds, in any order of rows and keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from presage.arrays.jit import Bools, Ints
from presage.errors import error as mistake
from presage.operators.sequence.kernel.facts import CERTAIN, MARKOV, Answers, Facts
from presage.operators.sequence.kernel.query import Sequence
from presage.operators.sequence.kernel.spec import worlds_needed
from presage.operators.sequence.kernel.worlds.outcomes import Outcomes, gathered, needed_draws, outcomes_of
from presage.operators.sequence.kernel.worlds.registers import START, Edges, Registers
from presage.operators.sequence.kernel.worlds.sampling_loop import (
    AnswerCounts,
    ChainValues,
    Draws,
    EventEdges,
    Partials,
    Rows,
    cumulated,
    sampled,
)

MOST_EDGES = 4_000_000  # in memory at a time
MOST_BYTES = 1 << 28  # of registers and values of the worlds that are drawn together


def sample_worlds(query: Sequence, facts: Facts, error: float, confidence: float, seed: int) -> Answers:
    worlds = worlds_needed(error, confidence)
    bindings, step, counts = count_worlds(query, facts, worlds, seed)
    p = counts / worlds
    return Answers(bindings, step, p, np.maximum(p - error, 0.0), np.minimum(p + error, 1.0), sampled=True)


def count_worlds(query: Sequence, facts: Facts, worlds: int, seed: int) -> tuple[Ints, Ints, Ints]:
    """Bindings, steps, and the number of random worlds, above 0, in which they are answers; by step and binding."""
    outcomes = outcomes_of(query, facts)
    registers = Registers(query, facts, outcomes)
    tables = _tables(facts, outcomes, _candidates(query, facts, outcomes))
    blocks = _Blocks(registers, facts.steps)
    words = (worlds + 63) // 64
    seed = (seed + (1 << 63)) % (1 << 64) - (1 << 63)  # as a number of 64 bits with a sign
    found = []
    done = 0
    while done < words:
        together, lines = blocks.one_pass(tables, done, words - done, worlds, seed)
        found.append(lines)
        done += together
    answers = registers.answers
    lines = np.concatenate(found, axis=1)
    width = max(len(answers.numbers), 1)
    line, back = np.unique(lines[1] * width + np.searchsorted(answers.numbers, lines[0]), return_inverse=True)
    counts = np.zeros(len(line), np.int64)
    np.add.at(counts, back, lines[2])
    step, binding = np.divmod(line, width)
    values = answers.values[binding]
    order = np.lexsort((*values.T[::-1], step))
    return values[order], step[order], counts[order]


@dataclass
class _Tables:
    """Draws that may be needed; the rest of a draw's mass is no event."""

    draws: Draws
    rows: Rows
    slots: int  # how many Markov chains there are
    highest: int  # number of a value

    def between(self, begin: int, end: int) -> Draws:
        """The draws of some steps."""
        low, high = np.searchsorted(self.draws.step, [begin, end])
        bounds = self.draws.rows[low : high + 1]
        return Draws(*(column[low:high] for column in self.draws))._replace(rows=bounds)


def _candidates(query: Sequence, facts: Facts, outcomes: Outcomes) -> Bools:
    """Events that some goal could take."""
    found = np.zeros(len(outcomes.event_row), np.bool_)
    for goal, rows in zip(query.goals, facts.goals, strict=True):
        own = np.flatnonzero(outcomes.event_source == goal.source)
        found[own] |= rows.candidate[outcomes.event_row[own]]
    return found


def _tables(facts: Facts, outcomes: Outcomes, events: Bools) -> _Tables:
    wanted = np.zeros(len(outcomes.step), np.bool_)
    wanted[outcomes.event_draw[events]] = True
    draws, _ = needed_draws(outcomes, np.flatnonzero(wanted))
    rows, owner = gathered(np.arange(len(outcomes.event)), outcomes.first, draws)
    # Of an independent chain, a row that is no candidate is equivalent to no event: a draw must not depend on whether
    # such rows were filtered out.
    read = np.flatnonzero(events[outcomes.event[rows]] | (outcomes.kind[draws] == MARKOV)[owner])
    rows, owner = rows[read], owner[read]
    prev = outcomes.prev[rows]
    new = np.ones(len(rows), np.bool_)
    new[1:] = (owner[1:] != owner[:-1]) | (prev[1:] != prev[:-1])
    first = np.flatnonzero(new)
    group = np.cumsum(new) - 1
    low, high = cumulated(outcomes.probability[rows], np.append(first, len(rows)))
    slot = np.full(len(draws), -1, np.int64)
    linked = outcomes.kind[draws] == MARKOV
    chains, slot[linked] = np.unique(outcomes.line[draws][linked], return_inverse=True)
    value = outcomes.value[rows] + 1
    step = outcomes.step[draws]
    return _Tables(
        Draws(
            kind=outcomes.kind[draws],
            source=outcomes.source[draws],
            name=_names(facts, outcomes)[draws],
            step=step,
            time=step if facts.times is None else facts.times[step],
            rows=np.searchsorted(owner, np.arange(len(draws) + 1)),
            slot=slot,
        ),
        Rows(
            prev=prev + 1,
            value=value,
            event=outcomes.event[rows],
            low=low,
            high=high,
            group_end=np.append(first[1:], len(rows))[group] if len(rows) else first,
        ),
        len(chains),
        int(max(value.max(initial=0), prev.max(initial=0) + 1)),
    )


def _names(facts: Facts, outcomes: Outcomes) -> Ints:
    """By draw: the chain's hash for random numbers, which does not depend on how chains are numbered."""
    names = outcomes.chain.copy()
    for number, source in enumerate(facts.sources):
        if source.names is not None and source.kind != CERTAIN:
            own = outcomes.source == number
            names[own] = source.names[names[own]]
    return names


class _Blocks:
    """Edges in blocks of steps that fit into memory. If all steps fit into one block, it is computed once."""

    def __init__(self, registers: Registers, steps: int) -> None:
        self.registers, self.steps = registers, steps
        self.whole = registers.edges(0, steps, MOST_EDGES)
        if self.whole is None:
            for _ in self._edges():  # Creates all registers, before memory for them is allocated.
                pass

    def _edges(self) -> Iterator[tuple[int, int, Edges]]:
        if self.whole is not None:
            yield 0, self.steps, self.whole
            return
        begin, length = 0, max(self.steps // 2, 1)
        while begin < self.steps:
            end = min(begin + length, self.steps)
            edges = self.registers.edges(begin, end, MOST_EDGES)
            if edges is None:
                if length == 1:
                    raise mistake(
                        "LIMIT",
                        what="a step of the sequence",
                        limit_name="pairs of an event and a partial match",
                        limit=MOST_EDGES,
                        fix="share more variables between the subgoals, or ask for fewer keys",
                    )
                length //= 2
                continue
            yield begin, end, edges
            begin = end

    def one_pass(self, tables: _Tables, first: int, most: int, worlds: int, seed: int) -> tuple[int, Ints]:
        """Run all steps in as many words of worlds as fit MOST_BYTES. Returns the number of words, and the answers'
        registers, steps and counts."""
        count = self.registers.count
        words = max(min(most, MOST_BYTES // (24 * count + 256 * tables.slots + 1)), 1)
        partials = self._partials(first, words, worlds)
        chains = ChainValues(
            np.zeros((tables.slots, 64 * words), np.int32),
            np.full(tables.slots, -2, np.int64),
            np.full(tables.highest + 1, -1, np.int64),
        )
        found = [np.zeros((3, 0), np.int64)]
        for begin, end, edges in self._edges():
            draws = tables.between(begin, end)
            events = tables.rows.event[draws.rows[0] : draws.rows[-1]]
            if not len(events):
                continue
            masks = np.zeros((_most_events(draws, tables.rows), words), np.uint64)
            out = np.zeros((3, int(partials.is_answer[edges.target[edges.target >= 0]].sum())), np.int64)
            own = _by_event(edges, int(events.min()), int(events.max()))
            made = sampled(seed, first, draws, tables.rows, own, partials, chains, masks, AnswerCounts(*out))
            found.append(out[:, :made])
        return words, np.concatenate(found, axis=1)

    def _partials(self, first: int, words: int, worlds: int) -> Partials:
        """The initial registers, for worlds from word `first` on."""
        count = self.registers.count
        waiting, left, entered = (np.zeros((count, words), np.uint64) for _ in range(3))
        waiting[START] = _worlds(first, words, worlds)
        alive, is_answer, mark = (np.zeros(count, np.bool_) for _ in range(3))
        alive[START] = True
        is_answer[self.registers.answers.numbers] = True
        return Partials(waiting, left, entered, alive, is_answer, np.zeros(count, np.int64), mark)


def _by_event(edges: Edges, first: int, last: int) -> EventEdges:
    start = np.zeros(last + 2 - first, np.int64)
    np.cumsum(np.bincount(edges.event - first, minlength=last + 1 - first), out=start[1:])
    return EventEdges(first, start, edges.origin, edges.target)


def _most_events(draws: Draws, rows: Rows) -> int:
    """The widest range of event numbers in a draw; events that are no candidates leave gaps."""
    begin, event = draws.rows[:-1][draws.rows[:-1] < draws.rows[1:]], rows.event[: draws.rows[-1]]
    return int((np.maximum.reduceat(event, begin) - np.minimum.reduceat(event, begin)).max(initial=0)) + 1


def _worlds(first: int, words: int, worlds: int) -> npt.NDArray[np.uint64]:
    """Ones for existing worlds: the last word may be partial."""
    bits = np.arange(64 * first, 64 * (first + words)) < worlds
    return np.packbits(bits, bitorder="little").view(np.uint64)
