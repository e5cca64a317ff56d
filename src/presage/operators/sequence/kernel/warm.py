"""Compiles the loops of all sequence kernels into the cache on disk: run after installing, so that no query waits."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.operators.sequence.kernel.excess import divide_excess
from presage.operators.sequence.kernel.facts import INDEPENDENT, MARKOV, NOTHING, Facts, GoalRows, Source
from presage.operators.sequence.kernel.hidden_markov.filter import FilterKernel
from presage.operators.sequence.kernel.hidden_markov.particles import particle_steps
from presage.operators.sequence.kernel.hidden_markov.path import path_steps
from presage.operators.sequence.kernel.hidden_markov.readings import Readings
from presage.operators.sequence.kernel.hidden_markov.smooth import smooth_steps
from presage.operators.sequence.kernel.hidden_markov.spec import SEQ, TIME, Columns, HiddenMarkov
from presage.operators.sequence.kernel.hidden_markov.steps import Steps
from presage.operators.sequence.kernel.query import Goal, Sequence, Variable
from presage.operators.sequence.kernel.regular.evaluation import evaluate_regular
from presage.operators.sequence.kernel.safe.evaluation import evaluate_safe
from presage.operators.sequence.kernel.safe.plans import Follow, Project, Regular, SafePlan
from presage.operators.sequence.kernel.worlds.enumeration import enumerate_worlds
from presage.operators.sequence.kernel.worlds.most_likely import most_likely
from presage.operators.sequence.kernel.worlds.sampling import sample_worlds

STEPS = 6
PAIRS: SafePlan = Project("y", Regular(2, frozenset({"x", "y"})))
PLAN: SafePlan = Follow(Follow(Project("x", Follow(PAIRS, 2)), 3), 4)


def warm() -> None:
    """Compile every loop of the folder, by running each kind of kernel on a few rows."""
    warm_regular()
    warm_safe()
    warm_worlds()
    warm_hidden_markov()


def warm_regular() -> None:
    """R(x) ; S(x) over two streams, independent or one of them Markov, R(x) ; R(x) over each alone, and a sequence
    over an independent one whose automaton is not small."""
    x = Variable("x")
    several = (Goal(0, "R", 0, (0,), (x,)), Goal(1, "S", 1, (0,), (x,)))
    alone = (Goal(0, "R", 0, (0,), (x,)), Goal(1, "R", 0, (0,), (x,)))
    step, zeros = np.arange(3), np.zeros(3, np.int64)
    for goals in (several, alone):
        for kind in (INDEPENDENT, MARKOV):
            kinds = (kind, INDEPENDENT)[: 1 + goals[-1].source]
            prev = np.full(3, NOTHING)
            sources = [Source(k, zeros, step, zeros, prev, np.full(3, 0.5), 1) for k in kinds]
            rows = [GoalRows(np.ones(3, np.bool_), np.ones(3, np.bool_), {"x": zeros}) for _ in goals]
            query = Sequence(goals, selected=("x",))
            evaluate_regular(query, Facts(3, sources, rows, domains={"x": 1}), frozenset({"x"}))
    many = tuple(Goal(i, "R", 0, (0,), (x,)) for i in range(5))
    step, zeros = np.arange(5), np.zeros(5, np.int64)
    source = Source(INDEPENDENT, zeros, step, step, np.full(5, NOTHING), np.full(5, 0.5), 1)
    rows = [GoalRows(step == i, step == i, {"x": zeros}) for i in range(5)]
    divide_excess(source, np.ones(5, np.bool_))
    query = Sequence(many, selected=("x",))
    evaluate_regular(query, Facts(5, [source], rows, domains={"x": 1}), frozenset({"x"}))


def warm_safe() -> None:
    """R(x, y) ; S(x, y) ; T(x) ; U() ; V(), over streams of both kinds, dense and sparse; also with S(x, y)+{x, y}, and
    where both are of one stream."""
    for kind in (INDEPENDENT, MARKOV):
        for alike in (True, False):
            _run(kind, alike, None)
        _run(kind, True, None, second=0)
    _run(MARKOV, True, frozenset({"x", "y"}))


def _run(kind: int, alike: bool, plus: frozenset[str] | None, second: int = 1) -> None:
    """`alike`: what a row means depends on its value alone, as the dense loop wants it. `second`: the source of S."""
    x, y = Variable("x"), Variable("y")
    goals = [Goal(0, "R", 0, (0, 1), (x, y)), Goal(1, "S", second, (0, 1), (x, y), plus=plus)]
    goals.append(Goal(2, "T", 2, (0,), (x,)))
    goals += [Goal(n, name, n, (), ()) for n, name in enumerate("UV", start=3)]
    query = Sequence(tuple(goals), markov=frozenset(range(5)) if kind == MARKOV else frozenset())
    step = np.repeat(np.arange(STEPS), 2)
    zeros = np.zeros(len(step), np.int64)
    # Once after no event and once after the event itself.
    prev = np.tile([NOTHING, 0], STEPS)
    sources = [Source(kind, zeros, step, zeros, prev, np.full(len(step), 0.5), 1) for _ in goals]
    wanted = np.ones(len(step), np.bool_) if alike or kind != MARKOV else prev == 0
    rows = [GoalRows(wanted, wanted, {"x": zeros, "y": zeros}) for _ in goals]
    evaluate_safe(query, Facts(STEPS, sources, rows, domains={"x": 1, "y": 1}), PLAN)


def warm_worlds() -> None:
    """Run each over R(x) ; S(x) with two steps, so that every loop is compiled (or read from the cache)."""
    step, chain = np.array([0, 1]), np.zeros(2, np.int64)
    sources = [
        Source(kind, chain, step, chain, np.full(2, NOTHING), np.full(2, 0.5), 1) for kind in (MARKOV, INDEPENDENT)
    ]
    goals = tuple(Goal(i, name, i, (0,), (Variable("x"),)) for i, name in enumerate("RS"))
    every = np.ones(2, np.bool_)
    query = Sequence(goals, markov=frozenset({0}))
    facts = Facts(2, sources, [GoalRows(every, every, {"x": chain})] * 2)
    enumerate_worlds(query, facts)
    sample_worlds(query, facts, 0.5, 0.5, 0)
    for paths in (False, True):
        enumerate_worlds(query, most_likely(query, facts, paths))


def warm_hidden_markov() -> None:
    """Run each loop on one reading."""
    one, empty = np.ones(1), np.zeros((0, 1))
    offsets, targets = np.array([0, 1]), np.array([0])
    model = HiddenMarkov(("s",), one, offsets, targets, one, ("x",), one[:, None], one, mean=empty, variance=empty)
    kernel = FilterKernel(model, Columns(("k",), ("r",)))
    events = pa.table({TIME: [1], SEQ: [0], "k": ["a"], "r": ["x"]})
    kernel.step(kernel.initial(), events, 1, end=True)
    zero, one_step = np.array([0]), np.array([1])
    steps = Steps(np.array([0, 1]), zero, zero, one_step, one_step, zero, zero)
    readings = Readings(zero, np.zeros((0, 1)), np.zeros(1, np.bool_))
    smooth_steps(model.chain, model.emission, steps, readings, 1, 0, 0.0)
    path_steps(model.log_chain, model.emission, steps, readings)
    particle_steps(model.draws, model.emission, steps, readings, zero, 0, 1, np.zeros(2, np.int64), zero[:0], zero[:0])


if __name__ == "__main__":
    warm()
