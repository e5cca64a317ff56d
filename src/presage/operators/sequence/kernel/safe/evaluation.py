"""Evaluation of safe sequences by the algebra of intervals (paper, 3.3).

Each part of a plan computes the probability that its goals hold at some step of an interval, for the intervals that
the part above needs and for many bindings of variables at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar, cast

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.arrays.rows import in_order
from presage.errors import error
from presage.operators.sequence.kernel.facts import Answers, Facts, exact
from presage.operators.sequence.kernel.query import Sequence
from presage.operators.sequence.kernel.safe.bindings import PlanBindings
from presage.operators.sequence.kernel.safe.chain_rows import Intervals
from presage.operators.sequence.kernel.safe.chains.apart import ApartReader
from presage.operators.sequence.kernel.safe.chains.one_chain import OneChainReader
from presage.operators.sequence.kernel.safe.follow.independent import add_some
from presage.operators.sequence.kernel.safe.follow.reader import FollowReader, Reading
from presage.operators.sequence.kernel.safe.joins import Bindings
from presage.operators.sequence.kernel.safe.plans import Follow, Project, Regular, SafePlan
from presage.operators.sequence.kernel.safe.regular.reader import RegularReader

Reader = TypeVar("Reader")

MOST_STEPS = 4_096  # of a matrix of intervals, each way
MOST_CELLS = 1 << 22  # of all matrices in memory at once, unless a single one has more


def evaluate_safe(query: Sequence, facts: Facts, plan: SafePlan) -> Answers:
    """Exact answers. O(keys · steps²) for independent streams; for Markov ones that times the rows of a step, and once
    more the values of a chain that is sequenced inside the plan. Memory O(steps²)."""
    evaluation = _Evaluation(query, facts)
    env = frozenset(query.selected)
    bindings = evaluation.bindings.selected()
    chances = [evaluation.points(plan, bindings.lines(part), env) for part in _parts(len(bindings), facts.steps)] or [
        np.zeros((0, facts.steps))
    ]
    chance = chances[0] if len(chances) == 1 else np.concatenate(chances)
    step, line = np.nonzero(chance.T)
    found, p = bindings.values[line], np.minimum(chance[line, step], 1.0)
    if len(bindings) < 2 or in_order(list(bindings.values.T)):
        return Answers(found, step, p, p, p)
    return exact(found, step, p)


class _Evaluation:
    def __init__(self, query: Sequence, facts: Facts) -> None:
        self.steps = np.arange(facts.steps)
        self.query, self.facts = query, facts
        self.bindings = PlanBindings(query, facts)
        self.made: dict[tuple[object, int, frozenset[str]], object] = {}

    def reader(
        self, make: Callable[[Sequence, Facts, int, frozenset[str]], Reader], goal: int, env: frozenset[str]
    ) -> Reader:
        """The reader of the first goals, or of one goal; each is built once."""
        key = make, goal, env
        found = self.made.get(key)
        if found is None:
            found = self.made[key] = make(self.query, self.facts, goal, env)
        return cast("Reader", found)

    def points(self, plan: SafePlan, bindings: Bindings, env: frozenset[str]) -> Floats:
        """(bindings, steps): the chance that the plan's goals hold at a step. Variables of `env` have values."""
        out = np.zeros((len(bindings), len(self.steps)))
        if isinstance(plan, Regular):
            for part in _parts(len(bindings), len(self.steps) ** 2):
                during = self.spans(plan, bindings.lines(part), env, self.steps, self.steps)
                out[part] = np.diagonal(during, axis1=1, axis2=2)
        elif isinstance(plan, Project):
            inner, owner = self.bindings.with_values(plan, bindings, env)
            add_some(out, self.points(plan.input, inner, env | {plan.variable}), owner)
        else:
            reading = self.reader(FollowReader, plan.goal, env).points(bindings)
            for lines, chances, which in self._inputs(plan, reading, bindings, env):
                out[lines[:, np.newaxis], reading.below.hits] = reading.points(chances, lines, which)
        return out

    def spans(self, plan: SafePlan, bindings: Bindings, env: frozenset[str], starts: Ints, ends: Ints) -> Floats:
        """(bindings, ends, starts): the chance that the plan's goals hold at some step of an interval."""
        _check_steps(max(len(starts), len(ends)))
        if isinstance(plan, Regular):
            own = Intervals(starts, ends, np.arange(len(bindings)), len(bindings))
            return self._regular(plan, bindings, env, own)
        cells = len(starts) * len(ends)
        out = np.zeros((len(bindings), len(ends), len(starts)))
        if isinstance(plan, Project):
            inner, owner = self.bindings.with_values(plan, bindings, env)
            env |= {plan.variable}
            if isinstance(plan.input, Regular):
                # The automaton unites the values itself: no matrix for each of them.
                return self._regular(plan.input, inner, env, Intervals(starts, ends, owner, len(bindings)))
            for part in _parts(len(inner), cells):
                chances = self.spans(plan.input, inner.lines(part), env, starts, ends)
                add_some(out.reshape(len(bindings), cells), chances.reshape(-1, cells), owner[part])
            return out
        reading = self.reader(FollowReader, plan.goal, env).spans(bindings)
        for lines, chances, which in self._inputs(plan, reading, bindings, env):
            out[lines] = reading.spans(chances, lines, which, starts, ends)
        return out

    def _regular(self, plan: Regular, bindings: Bindings, env: frozenset[str], spans: Intervals) -> Floats:
        kinds: tuple[Callable[..., ApartReader | OneChainReader], ...] = (ApartReader, OneChainReader)
        for kind in kinds:
            reader = self.reader(kind, plan.goals, env)
            found = reader.spans(bindings, spans) if reader.possible else None
            if found is not None:
                return found
        return self.reader(RegularReader, plan.goals, env).spans(bindings, spans)

    def _inputs(
        self, plan: Follow, reading: Reading, bindings: Bindings, env: frozenset[str]
    ) -> Iterator[tuple[Ints, Floats, Ints]]:
        """Results of the plan below a goal, in parts that fit MOST_CELLS: the lines that follow these results, the
        results, and which of them each line follows."""
        starts, ends = reading.below.starts, reading.below.ends
        if not len(ends):
            return
        inputs, which = bindings.only(self.bindings.names(plan.input, env))
        for part in _parts(len(inputs), len(starts) * len(ends)):
            if part.stop - part.start == len(inputs):
                yield np.arange(len(which)), self.spans(plan.input, inputs, env, starts, ends), which
                return
            lines = np.flatnonzero((which >= part.start) & (which < part.stop))
            yield lines, self.spans(plan.input, inputs.lines(part), env, starts, ends), which[lines] - part.start


def _parts(lines: int, cells: int) -> Iterator[slice]:
    size = max(MOST_CELLS // max(cells, 1), 1)
    for first in range(0, lines, size):
        yield slice(first, min(first + size, lines))


def _check_steps(steps: int) -> None:
    if steps > MOST_STEPS:
        what = f"a safe query over {steps} steps that its subgoals may be found at"
        fix = "bound it by WITHIN [t1, t2), or give the shared variable a value"
        raise error("LIMIT", what=what, limit_name="steps of a safe query", limit=MOST_STEPS, fix=fix)
