"""Functions in force in, pairs that match at each second out: by looking at a grid of seconds, plainly.

A pair matches at time t when some (t_a, t_b) with max(t_a, t_b) = t and |t_a − t_b| ≤ window brings the two within
reach, horizontally and vertically. Times are whole seconds here; the engine looks at all times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from sending import Updates
from simulator import SECOND, Scenario

from presage.prediction.kernel.buffer import Buffer, BufferSpec, InForce

UNLIMITED = 1 << 40
Pairs = np.ndarray  # sorted codes a · objects + b, with a < b


class Run(NamedTuple):
    """Pairs for t = 1, 2, …; how many tuples were evicted, and how many were held, on average over the seconds."""

    pairs: list[Pairs]
    evicted: int
    held: float


def places_of(pieces: InForce, objects: int, seconds: np.ndarray) -> np.ndarray:
    """[second, object, x or y] as the functions say; NaN where none of an object is in force."""
    found = np.full((len(seconds), objects, 2), np.nan)
    for row, second in enumerate(seconds * SECOND):
        now = (pieces.start <= second) & (second + pieces.end_open <= pieces.end)
        passed = (second - pieces.time[now]) / SECOND
        found[row, pieces.key[now]] = pieces.values[now] + pieces.rates[now] * passed[:, None]
    return found


def matching(places: np.ndarray, reach: float) -> Pairs:
    """`places`: [second, object, axis] for all seconds of the window, the present one last."""
    now = places[-1].astype(np.float32)
    objects = len(now)
    matched = np.zeros((objects, objects), np.bool_)
    for then in places.astype(np.float32):
        near = np.abs(now[:, None, 0] - then[None, :, 0]) <= reach
        near &= np.abs(now[:, None, 1] - then[None, :, 1]) <= reach
        matched |= near
    return np.flatnonzero(np.triu(matched | matched.T, 1))


def ideal_pairs(samples: np.ndarray, window: int, reach: float) -> list[Pairs]:
    """The same question to the last GPS samples; `samples[t]` for t = 0, 1, …; pairs for t = 1, 2, …"""
    return [matching(samples[max(t - window, 0) : t + 1], reach) for t in range(1, len(samples))]


def run(
    scenario: Scenario,
    updates: Updates,
    window: int,
    *,
    max_delay: float = 0.0,
    limit: int = UNLIMITED,
    policy: str = "min-c",
    seed: int = 0,
) -> Run:
    """Each second is validated `max_delay` later, with what the buffer then holds."""
    delay = round(max_delay * SECOND)
    spec = BufferSpec(limit, window * SECOND + delay, round(scenario.period * SECOND), 2, policy, seed)
    pairs, evicted, held = [], 0, []
    for t, buffer, gone in _by_second(Buffer(spec), updates, scenario.seconds, delay):
        seconds = np.arange(max(t - window, 0), t + 1)
        pairs.append(matching(places_of(buffer.in_force(), scenario.objects, seconds), scenario.reach))
        held.append(buffer.count)
        evicted += gone
    return Run(pairs, evicted, float(np.mean(held)))


def _by_second(buffer: Buffer, updates: Updates, seconds: int, delay: int) -> Iterator[tuple[int, Buffer, int]]:
    cuts = np.searchsorted(updates.arrival, np.arange(1, seconds + 1) * SECOND + delay, side="right")
    columns = (updates.time, updates.key, updates.values, updates.rates, updates.arrival)
    before = 0
    for t, cut in enumerate(cuts, 1):
        time, key, values, rates, clock = (column[before:cut] for column in columns)
        fed = buffer.feed(time, key, values, rates, clock=clock)
        buffer.advance(t * SECOND + delay)
        yield t, buffer, int((fed.evicted >= 0).sum())
        before = cut


def pairs_at_seconds(
    a: np.ndarray, b: np.ndarray, valid_from: np.ndarray, valid_to: np.ndarray, objects: int, seconds: Sequence[int]
) -> list[Pairs]:
    """Rows of the engine's answer, keys as numbers and times in microseconds, as pairs for each of the seconds."""
    codes = np.minimum(a, b) * objects + np.maximum(a, b)
    return [np.unique(codes[(valid_from <= t * SECOND) & (t * SECOND <= valid_to) & (a != b)]) for t in seconds]
