"""Predictors of one attribute: its value now and its change per second.

A predictor is its settings alone. What it has learnt is a tuple of numbers that the sensor keeps for each attribute: so
it can be saved as JSON, and one predictor serves many attributes. Samples may come at any distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

Learnt = tuple[float, ...]


class Predictor(Protocol):
    """The interface of predictors. Times are seconds, strictly increasing."""

    def begin(self, time: float, value: float) -> Learnt:
        """The state after the first sample."""

    def learn(self, learnt: Learnt, time: float, value: float) -> Learnt:
        """The state after one more sample."""

    def line(self, learnt: Learnt) -> tuple[float, float]:
        """The estimate at the last sample's time, and the change per second from there on."""


@dataclass(frozen=True)
class Constant:
    """No prediction: the value stays what it was. With it the policy reports changes of more than the threshold."""

    def begin(self, time: float, value: float) -> Learnt:
        return (value,)

    def learn(self, learnt: Learnt, time: float, value: float) -> Learnt:
        return (value,)

    def line(self, learnt: Learnt) -> tuple[float, float]:
        return learnt[0], 0.0


@dataclass(frozen=True)
class Linear:
    """Linear extrapolation: the least-squares line through the last samples; of two, the line through both."""

    samples: int = 2

    def __post_init__(self) -> None:
        if self.samples < 2:
            raise ValueError(f"a line needs two samples or more, not samples={self.samples}; Constant() needs one")

    def begin(self, time: float, value: float) -> Learnt:
        return (time, value)

    def learn(self, learnt: Learnt, time: float, value: float) -> Learnt:
        return (*learnt, time, value)[-2 * self.samples :]

    def line(self, learnt: Learnt) -> tuple[float, float]:
        times, values = learnt[::2], learnt[1::2]
        now, last = times[-1], values[-1]
        if len(times) == 1:
            return last, 0.0
        if len(times) == 2:
            return last, (last - values[0]) / (now - times[0])
        # Seconds since the epoch are large numbers: differences first, or their squares drown what matters.
        ages = [time - now for time in times]
        age, mean = sum(ages) / len(ages), sum(values) / len(values)
        square = sum((a - age) ** 2 for a in ages)
        rate = sum((a - age) * (value - mean) for a, value in zip(ages, values, strict=True)) / square
        return mean - rate * age, rate


@dataclass(frozen=True)
class Holt:
    """Double exponential smoothing: `alpha` is the weight of a sample in the level, `beta` of a change in the rate.

    The rate is per second, so samples may come at any distance. With `spacing` the weights are those of samples so many
    seconds apart, and a sample after twice that time makes as much be forgotten as two would: the weight is
    1 − (1 − alpha)^(seconds / spacing). Without it every sample weighs the same.
    """

    alpha: float = 0.8
    beta: float = 0.6
    spacing: float | None = None

    def __post_init__(self) -> None:
        for name, weight in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0.0 < weight <= 1.0:
                raise ValueError(f"{name} is a weight above 0 and up to 1, not {weight}")
        if self.spacing is not None and not self.spacing > 0.0:
            raise ValueError(f"spacing is a number of seconds above 0, not {self.spacing}")

    def begin(self, time: float, value: float) -> Learnt:
        return (time, value)

    def learn(self, learnt: Learnt, time: float, value: float) -> Learnt:
        passed = time - learnt[0]
        if len(learnt) == 2:
            return (time, value, (value - learnt[1]) / passed)
        _, level, rate = learnt
        alpha, beta = self.alpha, self.beta
        if self.spacing is not None:
            alpha = 1.0 - (1.0 - alpha) ** (passed / self.spacing)
            beta = 1.0 - (1.0 - beta) ** (passed / self.spacing)
        risen = alpha * value + (1.0 - alpha) * (level + rate * passed)
        return (time, risen, beta * (risen - level) / passed + (1.0 - beta) * rate)

    def line(self, learnt: Learnt) -> tuple[float, float]:
        return (learnt[1], 0.0) if len(learnt) == 2 else (learnt[1], learnt[2])
