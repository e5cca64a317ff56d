"""Hidden Markov models by their definition: every path of states is written down and weighed. Slow and obvious."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Path = tuple[int, ...]


@dataclass(frozen=True)
class Hidden:
    """States are 0, 1, 2 …. Discrete: `table[state][symbol]`; else `normal[state]` is (means, variances)."""

    initial: Sequence[float]
    transition: Sequence[Sequence[float]]
    table: Sequence[dict[str, float]] = ()
    normal: Sequence[tuple[Sequence[float], Sequence[float]]] = ()
    evidence: bool = False
    step: int | None = None
    forget: int | None = None

    @property
    def size(self) -> int:
        return len(self.initial)

    def content(self) -> dict[str, Any]:
        """The model file."""
        emission: dict[str, Any] = {
            "kind": "discrete",
            "table": list(self.table),
            "absent": "evidence" if self.evidence else "uninformative",
        }
        if self.normal:
            means, variances = ([list(part) for part in parts] for parts in zip(*self.normal, strict=True))
            emission = {"kind": "gaussian", "mean": means, "variance": variances}
        content: dict[str, Any] = {
            "states": [f"s{i}" for i in range(self.size)],
            "initial": list(self.initial),
            "transition": [list(row) for row in self.transition],
            "emission": emission,
        }
        for name, micros in (("step", self.step), ("forget", self.forget)):
            if micros is not None:
                content[name] = f"{micros / 1000} msec"
        return content

    def chance(self, state: int, reading: Any) -> float:
        """Likelihood of one reading; missing parts of it say nothing."""
        if not self.normal:
            return self.table[state].get(reading, 0.0)
        total = 1.0
        for x, mean, variance in zip(reading, *self.normal[state], strict=True):
            if x is not None:
                total *= math.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
        return total

    def is_usable(self, reading: Any) -> bool:
        if self.normal:
            return any(x is not None for x in reading)
        return reading is not None and any(self.chance(state, reading) > 0 for state in range(self.size))

    def says(self, readings: Sequence[Any]) -> list[float]:
        """Likelihood by state of what is read at one step, or of nothing."""
        usable = [reading for reading in readings if self.is_usable(reading)]
        if usable:
            return [math.prod(self.chance(state, reading) for reading in usable) for state in range(self.size)]
        if self.evidence:
            return [max(0.0, 1 - sum(self.table[state].values())) for state in range(self.size)]
        return [1.0] * self.size


@dataclass
class Segment:
    """Steps that follow from each other, each with its readings."""

    times: list[int] = field(default_factory=list)
    readings: list[list[Any]] = field(default_factory=list)


def segments_of(model: Hidden, readings: Sequence[tuple[int, Any]], until: int | None = None) -> list[Segment]:
    """The steps of one key, from (time, reading) in order of time; with `until` steps go on in silence."""
    by_step: dict[int, list[Any]] = {}
    for time, reading in readings:
        by_step.setdefault(_step_of(model, time), []).append(reading)
    found: list[Segment] = []
    for time in sorted(by_step):
        last = found[-1] if found else None
        seen = _last_read(last) if last else 0
        if last is None or (model.forget is not None and time - seen > model.forget):
            if last:
                _go_silent(model, last, seen, until)
            found.append(last := Segment())
        elif model.step:
            for silent in range(last.times[-1] + model.step, time, model.step):
                last.times.append(silent)
                last.readings.append([])
        last.times.append(time)
        last.readings.append(by_step[time])
    if found:
        _go_silent(model, found[-1], _last_read(found[-1]), until)
    return found


def _step_of(model: Hidden, time: int) -> int:
    return time if not model.step else math.ceil(time / model.step) * model.step


def _last_read(segment: Segment) -> int:
    return max(time for time, readings in zip(segment.times, segment.readings, strict=True) if readings)


def _go_silent(model: Hidden, segment: Segment, seen: int, until: int | None) -> None:
    if until is None or not model.step:
        return
    end = until if model.forget is None else min(until, seen + model.forget)
    while segment.times[-1] + model.step <= end:
        segment.times.append(segment.times[-1] + model.step)
        segment.readings.append([])


def paths_of(model: Hidden, readings: Sequence[Sequence[Any]]) -> tuple[list[dict[Path, float]], list[bool]]:
    """For each step the weight of every path up to it, 0 left out; and whether its readings were used: those that
    leave no path say nothing."""
    prefixes: list[dict[Path, float]] = []
    used = []
    for step, here in enumerate(readings):
        says = model.says(here)
        reached: dict[Path, float] = {}
        for path in itertools.product(range(model.size), repeat=step + 1):
            if step == 0:
                weight = model.initial[path[0]]
            else:
                weight = prefixes[-1].get(path[:-1], 0.0) * model.transition[path[-2]][path[-1]]
            if weight > 0:
                reached[path] = weight
        weighed = {path: weight * says[path[-1]] for path, weight in reached.items() if says[path[-1]] > 0}
        used.append(bool(weighed))
        prefixes.append(weighed or reached)
    return prefixes, used


def filter_marginals(model: Hidden, segment: Segment) -> list[dict[int, float]]:
    """P(state now | readings so far), by step."""
    prefixes, _ = paths_of(model, segment.readings)
    return [_shares(weights, step) for step, weights in enumerate(prefixes)]


def smooth_marginals(model: Hidden, segment: Segment) -> list[dict[int, float]]:
    """P(state now | all readings), by step."""
    whole = paths_of(model, segment.readings)[0][-1]
    return [_shares(whole, step) for step in range(len(segment.times))]


def smooth_tables(model: Hidden, segment: Segment) -> list[dict[tuple[int, int], float]]:
    """P(state now | state before, all readings) by (before, now), for the second step and those after it."""
    whole = paths_of(model, segment.readings)[0][-1]
    tables = []
    for step in range(1, len(segment.times)):
        before = _shares(whole, step - 1)
        both: dict[tuple[int, int], float] = {}
        for path, weight in whole.items():
            pair = (path[step - 1], path[step])
            both[pair] = both.get(pair, 0.0) + weight / sum(whole.values())
        tables.append({pair: weight / before[pair[0]] for pair, weight in both.items()})
    return tables


def best_paths(model: Hidden, segment: Segment) -> tuple[float, list[Path]]:
    """The greatest weight of a path, and all paths that have it but for rounding."""
    whole = paths_of(model, segment.readings)[0][-1]
    greatest = max(whole.values())
    return greatest, [path for path, weight in whole.items() if weight >= greatest * (1 - 1e-12)]


def likelihood(model: Hidden, segment: Segment) -> float:
    """Probability of all readings that were used."""
    total = 1.0
    reached = 1.0
    prefixes, used = paths_of(model, segment.readings)
    for weights, counts in zip(prefixes, used, strict=True):
        now = sum(weights.values())
        total *= now / reached if counts else 1.0
        reached = now
    return total


def ignored(model: Hidden, segment: Segment) -> int:
    """Readings that said nothing, because no state or no reachable state can give them."""
    _, used = paths_of(model, segment.readings)
    count = 0
    for here, counts in zip(segment.readings, used, strict=True):
        for reading in here:
            is_null = reading is None or (model.normal and all(x is None for x in reading))
            count += not is_null and not (counts and model.is_usable(reading))
    return count


def _shares(weights: dict[Path, float], step: int) -> dict[int, float]:
    shares: dict[int, float] = {}
    for path, weight in weights.items():
        shares[path[step]] = shares.get(path[step], 0.0) + weight
    total = sum(weights.values())
    return {state: share / total for state, share in shares.items()}
