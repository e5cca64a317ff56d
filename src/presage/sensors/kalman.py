"""A Kalman filter that predicts one attribute as a line."""

from __future__ import annotations

from dataclasses import dataclass

from presage.sensors.predictors import Learnt


@dataclass(frozen=True)
class Kalman:
    """A Kalman filter of constant velocity: the rate changes by white noise alone.

    `noise` is the standard deviation of a sample, in the attribute's unit. `process` is how restless the rate is: after
    a second it has changed by about the square root of it (its unit is the attribute's, squared, by second³).
    `spread` is how far from 0 the rate may be before anything is known (a standard deviation).
    """

    process: float = 1.0
    noise: float = 1.0
    spread: float = 1000.0

    def __post_init__(self) -> None:
        for name, value, above in (
            ("process", self.process, self.process >= 0.0),
            ("noise", self.noise, self.noise > 0.0),
            ("spread", self.spread, self.spread >= 0.0),
        ):
            if not above:
                least = "above 0" if name == "noise" else "0 or more"
                raise ValueError(f"{name} is {least}, not {value}")

    def begin(self, time: float, value: float) -> Learnt:
        return (time, value, 0.0, self.noise**2, 0.0, self.spread**2)

    def learn(self, learnt: Learnt, time: float, value: float) -> Learnt:
        """`learnt`: time, value, rate, and their covariance: of the value, of both, of the rate."""
        before, level, rate, vv, vr, rr = learnt
        passed = time - before
        level += rate * passed
        vv += passed * (2.0 * vr + passed * rr) + self.process * passed**3 / 3.0
        vr += passed * rr + self.process * passed**2 / 2.0
        rr += self.process * passed
        measured = self.noise**2
        whole = vv + measured
        surprise = value - level
        level += vv / whole * surprise
        rate += vr / whole * surprise
        # (I − K H) P, with I − K H of the first row written as a ratio: nothing is subtracted that nearly cancels.
        return (time, level, rate, vv * measured / whole, vr * measured / whole, rr - vr * vr / whole)

    def line(self, learnt: Learnt) -> tuple[float, float]:
        return learnt[1], learnt[2]
