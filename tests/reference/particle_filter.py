"""The bootstrap particle filter by its definition: a list of particles, moved, weighed and resampled one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from reference.hidden_markov import Hidden, Segment

BITS = 2**64
GOLDEN = 0x9E3779B97F4A7C15


def mixed(x: int) -> int:
    """The finalizer of SplitMix64."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % BITS
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % BITS
    return x ^ (x >> 31)


def uniform(seed: int, key: int, time: int, number: int) -> float:
    """A number in [0, 1) that these four tell."""
    x = 0
    for part in (seed, key, time, number):
        x = mixed(((x ^ part % BITS) + GOLDEN) % BITS)
    return (x >> 11) / 2**53


def chosen(chances: Sequence[float], number: float) -> int:
    """The first place whose running sum is above that part of the whole."""
    sums = list(accumulate(chances))
    return next(place for place, total in enumerate(sums) if total > number * sums[-1])


def resampled(states: Sequence[int], weights: Sequence[float], count: int, place: float) -> list[int]:
    """Systematic resampling: one place in each of `count` equal parts of the whole weight."""
    ends = [total / sum(weights) for total in accumulate(weights)]
    likely = [i for i, weight in enumerate(weights) if weight > 0]
    return [
        states[next((i for i in likely if (particle + place) / count < ends[i]), likely[-1])]
        for particle in range(count)
    ]


@dataclass
class Step:
    """Shares by state; whether the readings were used, and whether all particles had weight 0 and started anew."""

    shares: dict[int, float]
    used: bool
    anew: bool


def particle_steps(model: Hidden, segment: Segment, particles: int, seed: int, key: int) -> list[Step]:
    """What the particles of one key say at each step of a segment."""
    found: list[Step] = []
    now: list[int] = []
    for time, readings in zip(segment.times, segment.readings, strict=True):
        rows = [model.transition[state] for state in now] or [model.initial] * particles
        now = sorted(chosen(row, uniform(seed, key, time, i + 1)) for i, row in enumerate(rows))
        now, weights, used, anew = _weighed(model, now, readings)
        shares: dict[int, float] = {}
        for state, weight in zip(now, weights, strict=True):
            if weight > 0:
                shares[state] = shares.get(state, 0.0) + weight / sum(weights)
        found.append(Step(shares, used, anew))
        now = resampled(now, weights, particles, uniform(seed, key, time, 0))
    return found


def _weighed(model: Hidden, now: list[int], readings: Sequence[Any]) -> tuple[list[int], list[float], bool, bool]:
    """Particles, or states, with their weights."""
    says = model.says(readings)
    weights = [says[state] for state in now]
    if any(weights):
        return now, weights, True, False
    whole = [says[state] * chance for state, chance in enumerate(model.initial)]
    if any(whole):
        return list(range(model.size)), whole, True, True
    return now, [1.0] * len(now), False, False
