"""Reader of one more goal after a plan: the intervals it needs of that plan, and its probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints
from presage.errors import error
from presage.operators.sequence.kernel.facts import MARKOV, Facts
from presage.operators.sequence.kernel.query import Sequence
from presage.operators.sequence.kernel.safe.chain_rows import ChainRows, Chains, alternatives, chains
from presage.operators.sequence.kernel.safe.chains.backward import ChainTables
from presage.operators.sequence.kernel.safe.chains.key_chains import KeyChains
from presage.operators.sequence.kernel.safe.codes import steps_of
from presage.operators.sequence.kernel.safe.follow.independent import (
    FollowInput,
    follow_points,
    follow_spans,
    step_chances,
)
from presage.operators.sequence.kernel.safe.follow.markov import (
    ACCEPTED,
    RESET,
    chain_points,
    markov_points,
    markov_spans,
    steps_said,
)
from presage.operators.sequence.kernel.safe.goals import GoalReader
from presage.operators.sequence.kernel.safe.joins import Bindings

CANDIDATE = 1  # the code of a candidate that is turned down


@dataclass
class InputSpans:
    """The intervals for which a goal needs the plan below it: from step 0, or from a step in `resets`, up to the step
    before one in `hits`."""

    resets: Ints
    hits: Ints

    @property
    def starts(self) -> Ints:
        return np.concatenate([[0], self.resets])

    @property
    def ends(self) -> Ints:
        return self.hits - 1

    def given(self, chances: Floats, lines: Ints, which: Ints) -> FollowInput:
        return FollowInput(self.resets, self.hits, chances, lines, which)


@dataclass
class StepReading:
    """Independent chains: probabilities by line and step."""

    below: InputSpans
    good: Floats
    reset: Floats

    def points(self, inputs: Floats, lines: Ints, which: Ints) -> Floats:
        return follow_points(self.reset, self.good, self.below.given(inputs, lines, which))

    def spans(self, inputs: Floats, lines: Ints, which: Ints, starts: Ints, ends: Ints) -> Floats:
        return follow_spans(self.good, self.below.given(inputs, lines, which), starts, ends)


@dataclass
class ChainReading:
    """Markov chains. `unbroken`: no candidate can end a wait."""

    below: InputSpans
    chains: Chains
    unbroken: bool

    def points(self, inputs: Floats, lines: Ints, which: Ints) -> Floats:
        return markov_points(self.below.given(inputs, lines, which), self.chains)

    def spans(self, inputs: Floats, lines: Ints, which: Ints, starts: Ints, ends: Ints) -> Floats:
        c, resets, bits = self.chains, self.below.resets, self.chains.bits
        if self.unbroken:
            # The latest candidate before the interval makes no difference: the input counts from the beginning.
            resets, bits = np.unique(c.step[(c.bits & ACCEPTED) != 0]), c.bits | (c.bits & ACCEPTED) // ACCEPTED * RESET
            inputs = np.repeat(inputs[:, :, :1], len(resets) + 1, axis=2)
        below = FollowInput(resets, self.below.hits, inputs, lines, which)
        return markov_spans(below, starts, ends, c._replace(bits=bits))


@dataclass
class TableReading:
    """One Markov chain for each line, given as tables. By code: whether it ends waits, and whether it is accepted."""

    below: InputSpans
    tables: ChainTables
    lines: Ints
    resetting: Bools
    accepting: Bools

    def points(self, inputs: Floats, lines: Ints, which: Ints) -> Floats:
        below = self.below.given(inputs, lines, which)
        return chain_points(below, self.lines, self.tables, self.resetting, self.accepting)


Reading = StepReading | ChainReading | TableReading


class FollowReader:
    """A goal whose chains no goal before it reads.

    A candidate ends all waits. With a Kleene plus an accepted candidate does not, because each match waits for another
    unfolding: only a step with candidates of which none is accepted ends waits.
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

    def points(self, bindings: Bindings) -> Reading:
        """For the goal at single steps."""
        return self._tables(bindings) or self._read(bindings, point=True)

    def spans(self, bindings: Bindings) -> StepReading | ChainReading:
        """For the goal during intervals."""
        return self._read(bindings, point=False)

    def _read(self, bindings: Bindings, point: bool) -> StepReading | ChainReading:
        read = self.reader.read(bindings)
        if not point and not read.accepted.all():
            raise error("INTERNAL", what=f"a candidate for {self.goal.text} is turned down during an interval")
        if self.source.kind == MARKOV:
            return self._chains(len(bindings), read.line, read.row, read.accepted, point)
        return self._steps(len(bindings), read.line, read.row, read.accepted)

    def _tables(self, bindings: Bindings) -> TableReading | None:
        """None if the goal cannot be evaluated by tables."""
        read, plus = self.tables, self.goal.plus is not None
        lines = read.chains(bindings) if read is not None and read.possible else None
        if read is None or lines is None:
            return None
        codes = np.arange(len(read.seen))
        accepting = codes > CANDIDATE
        resetting = (codes == CANDIDATE) | (accepting & (not plus))
        resets, hits = steps_said(read.says, self.steps, read.size, resetting, accepting)
        tables = ChainTables(self.steps, read.size, read.table, read.says)
        return TableReading(InputSpans(resets, _after_first(hits)), tables, lines, resetting, accepting)

    def _steps(self, lines: int, line: Ints, row: Ints, accepted: Bools) -> StepReading:
        found = alternatives(lines, [self.rows.alternatives(line, row, accepted.astype(np.int64))])
        good, bad = step_chances(lines, self.steps, found.start, found.step, found.chain, found.probability, found.bits)
        # Good and bad exclude each other; rounding must not raise their sum above 1.
        reset = bad if self.goal.plus is not None else np.minimum(good + bad, 1.0)
        return StepReading(InputSpans(_possible(reset), _after_first(_possible(good))), good, reset)

    def _chains(self, lines: int, line: Ints, row: Ints, accepted: Bools, point: bool) -> ChainReading:
        resets = ~accepted if self.goal.plus is not None else np.ones(len(row), np.bool_)
        bits: Ints = ACCEPTED * accepted.astype(np.int64) + RESET * resets.astype(np.int64)
        found = chains(lines, [self.source], [self.rows.chains(line, row, bits)])
        together = bool((np.diff(found.start) > 1).any())
        if together and (not point or (self.goal.plus is not None and resets.any())):
            raise error("INTERNAL", what=f"{self.goal.text} reads several Markov chains at once")
        step = self.source.step
        accepting = _after_first(steps_of(self.steps, step, row, accepted))
        below = InputSpans(steps_of(self.steps, step, row, resets), accepting)
        return ChainReading(below, found, self.goal.plus is not None and not resets.any())


def _possible(chances: Floats) -> Ints:
    """Steps at which some line has a probability above 0."""
    return np.flatnonzero((chances > 0.0).any(axis=0))


def _after_first(steps: Ints) -> Ints:
    """Without step 0: a goal that follows another cannot hold there."""
    return steps[steps > 0]
