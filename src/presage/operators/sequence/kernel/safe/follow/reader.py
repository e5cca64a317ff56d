"""Reader of one more goal after a plan: the intervals that it asks for, and its chances."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints
from presage.errors import error
from presage.operators.sequence.kernel.facts import MARKOV, Facts
from presage.operators.sequence.kernel.query import Sequence
from presage.operators.sequence.kernel.safe.chain_rows import ChainRows, Chains, alternatives, chains
from presage.operators.sequence.kernel.safe.chains.key_chains import KeyChains
from presage.operators.sequence.kernel.safe.chains.tiles import TILE
from presage.operators.sequence.kernel.safe.codes import steps_of
from presage.operators.sequence.kernel.safe.follow.independent import follow_points, follow_spans, step_chances
from presage.operators.sequence.kernel.safe.follow.markov import ACCEPTED, RESET, markov_points, markov_spans
from presage.operators.sequence.kernel.safe.follow.one_chain import chain_points, chain_spans, steps_said
from presage.operators.sequence.kernel.safe.goals import GoalReader
from presage.operators.sequence.kernel.safe.joins import Bindings

CANDIDATE = 1  # the code of one that is turned down
MOST_CELLS = 1 << 22  # of what leads to the candidates of a line


@dataclass
class Asked:
    """Of the input, the intervals from each of `starts` to each of `ends` are asked for: from the beginning, or from a
    step in `resets`, up to the step before one in `hits`."""

    resets: Ints
    hits: Ints

    @property
    def starts(self) -> Ints:
        return np.concatenate([[0], self.resets])

    @property
    def ends(self) -> Ints:
        return self.hits - 1


@dataclass
class StepReading:
    """Independent chains: chances by line and step."""

    asked: Asked
    good: Floats
    reset: Floats

    def points(self, inputs: Floats, lines: Ints, which: Ints) -> Floats:
        return follow_points(self.reset, self.good, self.asked.resets, self.asked.hits, inputs, lines, which)

    def spans(self, inputs: Floats, lines: Ints, which: Ints, starts: Ints, ends: Ints) -> Floats:
        return follow_spans(self.good, self.asked.resets, self.asked.hits, inputs, lines, which, starts, ends)


@dataclass
class ChainReading:
    """Markov chains. `unbroken`: no candidate ends a wait, whatever comes."""

    asked: Asked
    chains: Chains
    unbroken: bool

    def points(self, inputs: Floats, lines: Ints, which: Ints) -> Floats:
        c, asked = self.chains, self.asked
        return markov_points(asked.resets, asked.hits, inputs, lines, which, c)

    def spans(self, inputs: Floats, lines: Ints, which: Ints, starts: Ints, ends: Ints) -> Floats:
        c, asked = self.chains, self.asked
        resets, bits = asked.resets, c.bits
        if self.unbroken:
            # The latest candidate before the interval makes no difference: the input counts from the beginning.
            resets, bits = np.unique(c.step[(c.bits & ACCEPTED) != 0]), c.bits | (c.bits & ACCEPTED) // ACCEPTED * RESET
            inputs = np.repeat(inputs[:, :, :1], len(resets) + 1, axis=2)
        return markov_spans(resets, asked.hits, inputs, lines, which, starts, ends, c._replace(bits=bits))


@dataclass
class TableReading:
    """Markov chains, one for each line (`lines`), that are at hand as tables. By code: which end waits, and which are
    accepted."""

    asked: Asked
    read: KeyChains
    lines: Ints
    steps: int
    resetting: Bools
    accepting: Bools

    def points(self, inputs: Floats, lines: Ints, which: Ints) -> Floats:
        read, asked = self.read, self.asked
        return chain_points(
            asked.resets,
            asked.hits,
            inputs,
            lines,
            which,
            self.lines,
            self.steps,
            read.size,
            read.table,
            read.says,
            self.resetting,
            self.accepting,
        )

    def spans(self, inputs: Floats, lines: Ints, which: Ints, starts: Ints, ends: Ints) -> Floats:
        read, asked = self.read, self.asked
        return chain_spans(
            asked.resets,
            asked.hits,
            inputs,
            lines,
            which,
            starts,
            ends,
            self.lines,
            self.steps,
            read.size,
            read.table,
            read.says,
        )


AnyReading = StepReading | ChainReading | TableReading


class FollowReader:
    """A goal whose chains nothing before it reads.

    A candidate ends all waits. With a Kleene plus an accepted one does not, for each match goes on to wait for another
    unfolding: there only a step with candidates of which none is accepted ends them.
    """

    def __init__(self, query: Sequence, facts: Facts, number: int, env: frozenset[str]) -> None:
        self.query, self.facts, self.env = query, facts, env
        self.goal = goal = query.goals[number]
        self.steps = facts.steps
        self.source = facts.sources[goal.source]
        self.rows = ChainRows(self.source)
        self.tables = KeyChains(query, facts, (goal,), env) if self.source.kind == MARKOV else None

    @cached_property
    def reader(self) -> GoalReader:
        return GoalReader(self.query, self.facts, self.goal, self.env)

    def read(self, bindings: Bindings, point: bool) -> AnyReading:
        """`point`: it is asked at single steps, not during intervals."""
        found = self._tables(bindings, point)
        if found is not None:
            return found
        read = self.reader.read(bindings)
        if not point and not read.accepted.all():
            raise error("INTERNAL", what=f"a candidate for {self.goal.text} is turned down during an interval")
        return (self._chains if self.source.kind == MARKOV else self._steps)(
            len(bindings), read.line, read.row, read.accepted, point
        )

    def _tables(self, bindings: Bindings, point: bool) -> TableReading | None:
        """None if tables cannot tell it."""
        read, plus = self.tables, self.goal.plus is not None
        if read is None or not read.possible:
            return None
        lines = read.chains(bindings)
        cells = self.steps * (self.steps + TILE) * read.size**2
        if lines is None or not (point or (cells <= MOST_CELLS and not plus and not read.seen[CANDIDATE])):
            return None
        codes = np.arange(len(read.seen))
        accepting = codes > CANDIDATE
        resetting = (codes == CANDIDATE) | (accepting & (not plus))
        resets, hits = steps_said(read.says, self.steps, read.size, resetting, accepting)
        return TableReading(Asked(resets, _after_first(hits)), read, lines, self.steps, resetting, accepting)

    def _steps(self, lines: int, line: Ints, row: Ints, accepted: Bools, point: bool) -> StepReading:
        found = alternatives(lines, [self.rows.alternatives(line, row, accepted.astype(np.int64))])
        good, bad = step_chances(lines, self.steps, found.start, found.step, found.chain, found.probability, found.bits)
        # Good and bad exclude each other; rounding must not make more than 1 of them.
        reset = bad if self.goal.plus is not None else np.minimum(good + bad, 1.0)
        return StepReading(Asked(_possible(reset), _after_first(_possible(good))), good, reset)

    def _chains(self, lines: int, line: Ints, row: Ints, accepted: Bools, point: bool) -> ChainReading:
        resets = ~accepted if self.goal.plus is not None else np.ones(len(row), np.bool_)
        bits: Ints = ACCEPTED * accepted.astype(np.int64) + RESET * resets.astype(np.int64)
        found = chains(lines, [self.source], [self.rows.chains(line, row, bits)])
        together = bool((np.diff(found.start) > 1).any())
        if together and (not point or (self.goal.plus is not None and resets.any())):
            raise error("INTERNAL", what=f"{self.goal.text} reads several Markov chains at once")
        step = self.source.step
        accepting = _after_first(steps_of(self.steps, step, row, accepted))
        asked = Asked(steps_of(self.steps, step, row, resets), accepting)
        return ChainReading(asked, found, self.goal.plus is not None and not resets.any())


def _possible(chances: Floats) -> Ints:
    """Steps at which some line has a chance."""
    return np.flatnonzero((chances > 0.0).any(axis=0))


def _after_first(steps: Ints) -> Ints:
    """What follows something is never at the first step of all."""
    return steps[steps > 0]
