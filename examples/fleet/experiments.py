"""Scenarios and seeds in, figures out: messages, accuracy by predictor, accuracy by policy of the buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from evaluating import UNLIMITED, Matches, late_matches, matches, memory
from quality import Score, score
from sending import Updates, all_samples, predictors, real_tracks, send
from simulator import BUSY, Scenario, simulate

from presage.sensors import Linear

WINDOW = 3
LIMIT = 325
WINDOWS = (1, 2, 3, 5, 7, 10)
POLICIES = ("unlimited", "min-c", "oldest", "random", "if-full")
OBJECTS = (100, 250, 500, 1000)
LIMITS = (305, 325, 400, 500, 600)


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
    samples = all_samples(trace)
    ideal, near = (ideal_matches(scenario, samples, window) for window in (WINDOW, 0))
    real = ideal_matches(scenario, real_tracks(trace), WINDOW)
    found = {}
    for name, predictor in predictors(scenario).items():
        updates = send(trace, predictor)
        pairs = matches(scenario, updates, WINDOW)
        found[name] = Accuracy(len(updates), score(pairs, ideal), score(pairs, near), score(pairs, real))
    return found


def ideal_matches(scenario: Scenario, truth: Updates, window: int) -> Matches:
    """The same question to what is true; what was said last holds to the end."""
    return matches(replace(scenario, period=2.0 * scenario.seconds), truth, window)


# -- policies of the buffer -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Buffered:
    """Scores of all seeds together, as of `Accuracy`; tuples evicted in a second and held, on average."""

    score: Score
    now: Score
    evicted: float
    held: float


def policies(
    scenario: Scenario = BUSY,
    seeds: Sequence[int] = (1, 2, 3),
    windows: Sequence[int] = WINDOWS,
    limits: Sequence[int] = (LIMIT,),
    max_delay: float = 0.0,
    names: Sequence[str] = POLICIES,
) -> dict[tuple[str, int, int], Buffered]:
    """By policy, window and limit."""
    runs: dict[tuple[str, int, int], list[Buffered]] = {}
    for seed in seeds:
        trace = simulate(scenario, seed)
        samples = all_samples(trace)
        updates = send(trace, Linear(), max_delay, seed)
        near = ideal_matches(scenario, samples, 0)
        for window in windows:
            ideal = ideal_matches(scenario, samples, window)
            for name in names:
                # Without a limit there is one case.
                for limit in limits if name != "unlimited" else limits[:1]:
                    bound = (UNLIMITED, "min-c") if name == "unlimited" else (limit, name)
                    kept = _kept(scenario, updates, window, max_delay, bound, seed, (ideal, near))
                    runs.setdefault((name, window, limit), []).append(kept)
    return {case: _together(kept) for case, kept in runs.items()}


def _kept(
    scenario: Scenario,
    updates: Updates,
    window: int,
    max_delay: float,
    bound: tuple[int, str],
    seed: int,
    truths: tuple[Matches, Matches],
) -> Buffered:
    limit, policy = bound
    if max_delay:
        found = late_matches(scenario, updates, window, max_delay, limit=limit, policy=policy, seed=seed)
    else:
        found = matches(scenario, updates, window, limit=limit, policy=policy, seed=seed)
    used = memory(scenario, updates, window, max_delay, limit=limit, policy=policy, seed=seed)
    ideal, near = (score(found, truth) for truth in truths)
    return Buffered(ideal, near, used.evicted / scenario.seconds, used.held)


def _together(kept: Sequence[Buffered]) -> Buffered:
    ideal, near = (
        sum(several, Score(0, 0, 0)) for several in zip(*((one.score, one.now) for one in kept), strict=True)
    )
    return Buffered(
        ideal, near, float(np.mean([one.evicted for one in kept])), float(np.mean([one.held for one in kept]))
    )


def smaller(scenario: Scenario, objects: int) -> Scenario:
    """The same density with fewer objects."""
    return replace(scenario, objects=objects, area=scenario.area * objects / scenario.objects)
