"""Scenarios and seeds in, figures out: messages, accuracy by predictor, accuracy by policy of the buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from evaluating import UNLIMITED, ideal_pairs, run
from quality import Score, score
from sending import predictors, send
from simulator import BUSY, Scenario, simulate

from presage.sensors import Linear

WINDOW = 3
LIMIT = 325
WINDOWS = (1, 2, 3, 4, 5, 7, 10)
POLICIES = ("unlimited", "min-c", "oldest", "random", "if-full")
OBJECTS = (100, 250, 500, 750, 1000)
LIMITS = (305, 325, 350, 400, 500, 600)


# -- messages -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Messages:
    samples: int
    sent: int
    reasons: dict[str, int]

    @property
    def saved(self) -> float:
        return 1.0 - self.sent / self.samples


def messages(scenario: Scenario, seed: int) -> dict[str, Messages]:
    """By predictor, for one trace."""
    trace = simulate(scenario, seed)
    sent = {name: send(trace, predictor) for name, predictor in predictors(scenario).items()}
    return {name: Messages(trace.samples, len(one), one.reasons) for name, one in sent.items()}


# -- predictors -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Accuracy:
    """`score`: against the same question to the last samples. `now`: against pairs whose last samples are near. `real`:
    against the same question to where the objects really are."""

    sent: int
    score: Score
    now: Score
    real: Score


def accuracy(scenario: Scenario, seed: int) -> dict[str, Accuracy]:
    """By predictor, without a limit to the buffer."""
    trace = simulate(scenario, seed)
    seconds = np.arange(scenario.seconds + 1)
    samples = trace.last_samples(seconds)
    ideal, near = (ideal_pairs(samples, window, scenario.reach) for window in (WINDOW, 0))
    real = ideal_pairs(trace.real(seconds), WINDOW, scenario.reach)
    found = {}
    for name, predictor in predictors(scenario).items():
        updates = send(trace, predictor)
        pairs = run(scenario, updates, WINDOW).pairs
        found[name] = Accuracy(len(updates), score(pairs, ideal), score(pairs, near), score(pairs, real))
    return found


# -- policies of the buffer -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kept:
    """Scores of all seeds together; tuples evicted in a second and held, on average."""

    score: Score
    evicted: float
    held: float


def policies(
    scenario: Scenario = BUSY,
    seeds: Sequence[int] = (1, 2, 3),
    windows: Sequence[int] = WINDOWS,
    limits: Sequence[int] = (LIMIT,),
    max_delay: float = 0.0,
    names: Sequence[str] = POLICIES,
) -> dict[tuple[str, int, int], Kept]:
    """By policy, window and limit."""
    runs: dict[tuple[str, int, int], list[Kept]] = {}
    for seed in seeds:
        trace = simulate(scenario, seed)
        samples = trace.last_samples(np.arange(scenario.seconds + 1))
        updates = send(trace, Linear(), max_delay, seed)
        for window in windows:
            ideal = ideal_pairs(samples, window, scenario.reach)
            for name in names:
                for limit in limits:
                    bound = (UNLIMITED, "min-c") if name == "unlimited" else (limit, name)
                    one = run(
                        scenario, updates, window, max_delay=max_delay, limit=bound[0], policy=bound[1], seed=seed
                    )
                    kept = Kept(score(one.pairs, ideal), one.evicted / scenario.seconds, one.held)
                    runs.setdefault((name, window, limit), []).append(kept)
    return {case: _together(kept) for case, kept in runs.items()}


def _together(kept: Sequence[Kept]) -> Kept:
    total = sum((one.score for one in kept), Score(0, 0, 0))
    return Kept(total, float(np.mean([one.evicted for one in kept])), float(np.mean([one.held for one in kept])))


def smaller(scenario: Scenario, objects: int) -> Scenario:
    """The same density with fewer objects."""
    return replace(scenario, objects=objects, area=scenario.area * objects / scenario.objects)
