"""Pairs found and pairs that are right, each with its second as one number, in; precision, recall and F out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Score:
    """Pairs, summed over seconds: `right` of those `found` are among the `ideal`."""

    found: int
    right: int
    ideal: int

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.ideal if self.ideal else 1.0

    @property
    def f(self) -> float:
        return 2 * self.right / (self.found + self.ideal) if self.found + self.ideal else 1.0

    def __add__(self, other: Score) -> Score:
        return Score(self.found + other.found, self.right + other.right, self.ideal + other.ideal)


def score(found: np.ndarray, ideal: np.ndarray) -> Score:
    """Both without repetitions."""
    return Score(len(found), len(np.intersect1d(found, ideal, assume_unique=True)), len(ideal))
