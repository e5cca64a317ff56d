"""Answers and the truth in, precision, recall and F1 out, at any threshold and any tolerance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from queries import Answers


@dataclass(frozen=True)
class Score:
    """`right` of the detections `found` are near an event, and `hit` of the `events` are near a detection."""

    found: int
    right: int
    events: int
    hit: int

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.hit / self.events if self.events else 1.0

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def score(
    answers: Answers, truth: Mapping[str, Sequence[int]], threshold: float, tolerance: int, single: bool = True
) -> Score:
    """Rows with p > threshold against what happened. `single`: one detection for each run of seconds above the
    threshold, and each event counts for one detection only. Otherwise every row counts, near any event."""
    found = right = hit = 0
    for person, events in truth.items():
        mine = (answers.person == person) & (answers.probability > threshold)
        order = np.argsort(answers.second[mine])
        seconds, chances = answers.second[mine][order], answers.probability[mine][order]
        if single:
            seconds = _peaks(seconds, chances)
            pairs = _pairs(seconds, events, tolerance)
            found, right, hit = found + len(seconds), right + pairs, hit + pairs
        else:
            near = np.abs(seconds[:, None] - np.array(events, np.int64)[None, :]) <= tolerance
            found, right, hit = found + len(seconds), right + int(near.any(1).sum()), hit + int(near.any(0).sum())
    return Score(found, right, sum(map(len, truth.values())), hit)


def _peaks(seconds: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """The likeliest second of each run of consecutive ones."""
    runs = np.split(np.arange(len(seconds)), np.flatnonzero(np.diff(seconds) > 1) + 1)
    return np.array([seconds[run[np.argmax(chances[run])]] for run in runs if len(run)], np.int64)


def _pairs(found: np.ndarray, events: Sequence[int], tolerance: int) -> int:
    """How many detections find an event of their own within the tolerance: the earliest takes the earliest."""
    pairs = i = j = 0
    while i < len(found) and j < len(events):
        if abs(int(found[i]) - events[j]) <= tolerance:
            pairs, i, j = pairs + 1, i + 1, j + 1
        elif found[i] < events[j]:
            i += 1
        else:
            j += 1
    return pairs
