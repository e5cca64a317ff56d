"""A scenario and a seed in, objects on the move out: where each is at any time, and what its GPS receiver measures.

An object goes straight on at constant speed. Every `turn_every` seconds it takes a new direction with `turn_chance`, at
moments of its own; walls throw it back. So the motion is that of the paper, where nothing is said of walls and phases.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SECOND = 1_000_000


@dataclass(frozen=True)
class Scenario:
    """Metres and seconds. The paper's Table 1 unless told otherwise.

    "10 squared kilometers" is read as an area of 10 km², a square with a side of 3,162 m. `noise` is the standard
    deviation of a GPS sample; the paper has none.
    """

    objects: int = 1000
    speed: float = 26.8
    area: float = 10e6
    turn_every: float = 10.0
    turn_chance: float = 0.5
    sample_every: float = 3.0
    seconds: int = 180
    threshold: float = 25.0
    period: float = 30.0
    reach: float = 400.0
    noise: float = 0.0

    @property
    def side(self) -> float:
        return float(self.area**0.5)


# Section 6.3: more samples and turns, so that update-tuples compete for the buffer.
BUSY = Scenario(objects=300, turn_every=5.0, turn_chance=0.75, sample_every=1.0)


@dataclass(frozen=True)
class Trace:
    """`times[o]`: microseconds at which object o measures; `places[o]`: what it measures, a row of x and y for each.
    `turns[o]`, `corners[o]`: when it may turn and where it is then, as if there were no walls."""

    scenario: Scenario
    times: list[np.ndarray]
    places: list[np.ndarray]
    turns: np.ndarray
    corners: np.ndarray

    @property
    def samples(self) -> int:
        return sum(map(len, self.times))

    def real(self, seconds: np.ndarray) -> np.ndarray:
        """[second, object, x or y]: where the objects are."""
        return np.stack([position(self, o, seconds) for o in range(self.scenario.objects)], axis=1)

    def legs(self, number: int) -> np.ndarray:
        """Microseconds between which an object goes straight on: from the beginning to the end, with its turns and the
        moments at which a wall throws it back."""
        end, side, turns = self.scenario.seconds, self.scenario.side, self.turns[number]
        breaks = [np.array([0.0, end]), turns]
        for axis in (0, 1):
            # Where it would be without walls; a wall is met at every multiple of the side.
            free = self.corners[number, :, axis]
            for leg in range(len(turns) - 1):
                low, high = sorted((free[leg], free[leg + 1]))
                walls = np.arange(np.ceil(low / side), np.floor(high / side) + 1) * side
                if free[leg] != free[leg + 1]:
                    share = (walls - free[leg]) / (free[leg + 1] - free[leg])
                    breaks.append(turns[leg] + share * (turns[leg + 1] - turns[leg]))
        times = np.unique(np.round(np.concatenate(breaks) * SECOND).astype(np.int64))
        return times[(times >= 0) & (times <= end * SECOND)]


def simulate(scenario: Scenario, seed: int) -> Trace:
    random = np.random.default_rng((seed, 1))
    count, legs = scenario.objects, int(scenario.seconds / scenario.turn_every) + 2
    # The first leg began before the trace, so that objects do not turn all at once.
    phase = random.random(count) * scenario.turn_every
    turns = phase[:, None] + (np.arange(legs + 1) - 1)[None, :] * scenario.turn_every
    turning = random.random((count, legs)) < scenario.turn_chance
    turning[:, 0] = True
    fresh = random.random((count, legs)) * 2 * np.pi
    newest = np.maximum.accumulate(np.where(turning, np.arange(legs)[None, :], 0), axis=1)
    heading = np.take_along_axis(fresh, newest, axis=1)
    steps = scenario.speed * scenario.turn_every * np.stack([np.cos(heading), np.sin(heading)], axis=-1)
    start = random.random((count, 1, 2)) * scenario.side
    corners = np.concatenate([start, start + np.cumsum(steps, axis=1)], axis=1)
    trace = Trace(scenario, [], [], turns, corners)
    first = np.random.default_rng((seed, 2)).random(count) * scenario.sample_every
    noise = np.random.default_rng((seed, 3))
    for o in range(count):
        times = (np.arange(first[o], scenario.seconds, scenario.sample_every) * SECOND).astype(np.int64)
        exact = position(trace, o, times / SECOND)
        trace.times.append(times)
        trace.places.append(exact + noise.normal(0.0, scenario.noise, exact.shape) if scenario.noise else exact)
    return trace


def position(trace: Trace, number: int, seconds: np.ndarray) -> np.ndarray:
    free = np.stack(
        [np.interp(seconds, trace.turns[number], trace.corners[number, :, axis]) for axis in (0, 1)], axis=1
    )
    # Walls fold the plane: who is thrown back runs as a mirror image.
    side = trace.scenario.side
    folded = np.mod(free, 2 * side)
    return np.where(folded > side, 2 * side - folded, folded)
