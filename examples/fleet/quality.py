"""Pairs found and pairs that are right, second by second, in; precision, recall and F out."""

from __future__ import annotations

from collections.abc import Sequence
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


def score(found: Sequence[np.ndarray], ideal: Sequence[np.ndarray]) -> Score:
    right = sum(len(np.intersect1d(f, i, assume_unique=True)) for f, i in zip(found, ideal, strict=True))
    return Score(sum(map(len, found)), right, sum(map(len, ideal)))
