"""Adaptive thresholds: a factor from the seconds between updates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Adaptive:
    """Thresholds that follow the traffic. Corrections sooner than `aim` seconds after the last update multiply them by
    `step`; later ones, and heartbeats, divide. The factor stays between `least` and `most`.

    It changes at updates alone, and each update carries the threshold that holds until the next.
    """

    aim: float
    least: float = 0.25
    most: float = 4.0
    step: float = 1.5

    def __post_init__(self) -> None:
        if not self.aim > 0.0:
            raise ValueError(f"aim is a number of seconds above 0, not {self.aim}")
        if not 0.0 < self.least <= 1.0 <= self.most:
            raise ValueError(f"1 lies between least and most, and least is above 0; not {self.least} and {self.most}")
        if not self.step > 1.0:
            raise ValueError(f"step is above 1, not {self.step}")

    def after(self, factor: float, elapsed: float, corrected: bool) -> float:
        """The factor from an update on that came `elapsed` seconds after the one before."""
        if corrected and elapsed < self.aim:
            return min(factor * self.step, self.most)
        return max(factor / self.step, self.least)
