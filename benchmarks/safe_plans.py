"""Safe plans by the interval algebra: seconds and growth with the length of the trace, 100 keys.

The plan of the paper's Fig. 6, R(x) ; S(x) ; T('a', y), over independent streams and over Markov ones, a plan with a
goal sequenced inside it, R(x) ; S(x) ; T('a', y) ; U(z), and the talk query, C(x, y, z) ; C(x, y, _)+{x, y} ; A(x, u).
The growth exponent is the slope of log seconds over log steps from the second length to the last. Lengths in turn, then
the plan and the sampler in turn; processor time, the minimum of 25 of each. Our sampler leaves out draws that nobody
waits for; its rate counts them.
Run as: python benchmarks/safe_plans.py [keys]
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable

import numpy as np
from interleaved import minima

from presage.operators.sequence.classify import SAFE, classify
from presage.operators.sequence.kernel.facts import INDEPENDENT, MARKOV, NOTHING, Facts, GoalRows, Source
from presage.operators.sequence.kernel.query import Anything, Goal, Known, Sequence, Variable
from presage.operators.sequence.kernel.safe.evaluation import evaluate_safe
from presage.operators.sequence.kernel.spec import worlds_needed
from presage.operators.sequence.kernel.worlds.sampling import sample_worlds

LENGTHS = (30, 60, 120, 240)
# Against a bit-vector sampler with this error at this confidence, over so many steps.
ERROR, CONFIDENCE, RACE, FASTER = 0.1, 0.9, 60, 10.0
VALUES = 3
ROUNDS = 25
HONEST = 50.0  # million draws a second of a sampler that makes every draw


def source(kind: int, keys: int, steps: int, random: np.random.Generator) -> Source:
    """Every key at every step: three values and no event, all of them possible."""
    before = VALUES + 1 if kind == MARKOV else 1
    shape = (steps, keys, before, VALUES)
    weights = random.random((steps, keys, before, VALUES + 1))
    chances = (weights / weights.sum(axis=-1, keepdims=True))[..., :VALUES]
    step, chain, prev, value = (places.ravel() for places in np.indices(shape))
    prev = prev - 1 if kind == MARKOV else np.full(len(step), NOTHING)
    chances = np.where((step == 0) & (prev != NOTHING), 0.0, chances.ravel())
    return Source(kind, chain, step, value, prev, chances, keys)


def goal_rows(of: Source, **variables: np.ndarray) -> GoalRows:
    """One of the values counts."""
    wanted = of.value == 0
    return GoalRows(wanted, np.ones(len(wanted), np.bool_), variables)


def domains(rows: list[GoalRows]) -> dict[str, int]:
    """How many values each variable has, as rows that are read from Arrow tell it."""
    found: dict[str, int] = {}
    for goal in rows:
        for name, column in goal.variables.items():
            found[name] = max(found.get(name, 0), int(column.max()) + 1)
    return found


def chain_goals(kind: int, keys: int, steps: int, inner: bool) -> tuple[Sequence, Facts]:
    random = np.random.default_rng(7)
    x, y, z = Variable("x"), Variable("y"), Variable("z")
    goals = [Goal(0, "R", 0, (0,), (x, Anything())), Goal(1, "S", 1, (0,), (x, Anything()))]
    goals.append(Goal(2, "T", 2, (0,), (Known("a", "'a'"), y)))
    sources = [source(kind, n, steps, random) for n in (keys, keys, 1)]
    rows = [goal_rows(s, x=s.chain) for s in sources[:2]] + [goal_rows(sources[2], y=sources[2].value)]
    if inner:
        goals.append(Goal(3, "U", 3, (), (z,)))
        sources.append(source(kind, 1, steps, random))
        rows.append(goal_rows(sources[3], z=sources[3].value))
    markov = frozenset(range(len(sources))) if kind == MARKOV else frozenset()
    return Sequence(tuple(goals), markov=markov), Facts(steps, sources, rows, domains=domains(rows))


def talk(kind: int, keys: int, steps: int) -> tuple[Sequence, Facts]:
    """A tenth as many people as things that they carry."""
    random = np.random.default_rng(7)
    x, y = Variable("x"), Variable("y")
    people = max(keys // 10, 1)
    carries, at = source(kind, keys, steps, random), source(kind, people, steps, random)
    pairs = {"x": carries.chain % people, "y": carries.chain // people}
    goals = (
        Goal(0, "C", 0, (0, 1), (x, y, Variable("z"))),
        Goal(1, "C", 0, (0, 1), (x, y, Anything()), plus=frozenset({"x", "y"})),
        Goal(2, "A", 1, (0,), (x, Variable("u")), selective=True),
    )
    anywhere = np.ones(len(carries.value), np.bool_)
    rows = [
        goal_rows(carries, **pairs, z=carries.value),
        GoalRows(anywhere, anywhere, pairs),
        GoalRows(at.value >= 0, at.value == 1, {"x": at.chain, "u": at.value}),
    ]
    markov = frozenset({0, 1}) if kind == MARKOV else frozenset()
    return Sequence(goals, markov=markov), Facts(steps, [carries, at], rows, domains=domains(rows))


def exactly(query: Sequence, facts: Facts) -> Callable[[], object]:
    """The plan, made once, over the facts."""
    verdict = classify(query)
    assert verdict.kind == SAFE
    assert verdict.plan is not None
    plan = verdict.plan
    return lambda: evaluate_safe(query, facts, plan)


def sampling(query: Sequence, facts: Facts) -> Callable[[], object]:
    return lambda: sample_worlds(query, facts, ERROR, CONFIDENCE, 7)


def main() -> None:
    keys = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    worlds = {
        "R(x) ; S(x) ; T('a', y), independent": lambda steps: chain_goals(INDEPENDENT, keys, steps, inner=False),
        "R(x) ; S(x) ; T('a', y), Markov": lambda steps: chain_goals(MARKOV, keys, steps, inner=False),
        "… ; U(z), independent": lambda steps: chain_goals(INDEPENDENT, keys, steps, inner=True),
        "… ; U(z), Markov": lambda steps: chain_goals(MARKOV, keys, steps, inner=True),
        "the talk, independent": lambda steps: talk(INDEPENDENT, keys, steps),
        "the talk, Markov": lambda steps: talk(MARKOV, keys, steps),
    }
    print(f"{keys} keys{'':<32}" + "".join(f"{steps:>8} steps" for steps in LENGTHS) + "   growth")
    for name, make in worlds.items():
        best = minima({str(steps): exactly(*make(steps)) for steps in LENGTHS}, ROUNDS, time.process_time)
        growth = math.log(best[str(LENGTHS[-1])] / best[str(LENGTHS[1])]) / math.log(LENGTHS[-1] / LENGTHS[1])
        print(f"{name:<40}" + "".join(f"{best[str(s)] * 1e3:>11.1f} ms" for s in LENGTHS) + f"   T^{growth:.2f}")
        query, facts = make(RACE)
        rivals = {"plan": exactly(query, facts), "sampler": sampling(query, facts)}
        race = minima(rivals, ROUNDS, time.process_time)
        draws = worlds_needed(ERROR, CONFIDENCE) * RACE * sum(source.chains for source in facts.sources)
        rate = draws / race["sampler"] / 1e6
        said = f"{race['sampler'] / race['plan']:.1f} times as long (target {FASTER:g}), {rate:.0f} M draws a second"
        honest = draws / HONEST / 1e6 / race["plan"]
        print(f"    at {RACE} steps the sampler takes {said}; one of {HONEST:g} M {honest:.1f} times")


if __name__ == "__main__":
    main()
