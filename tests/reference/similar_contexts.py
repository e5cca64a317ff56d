"""The slow twin of `presage.operators.recall.kernel`: the similarity of contexts, and the most similar ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# A term: attribute, and a text or a number; None gives no term.
Term = tuple[str, str | float | None]
Context = Sequence[Term]

DIGITS = 12
GREATEST = 1e300


class Answer(NamedTuple):
    new: int
    rank: int
    similarity: float
    past: int


def texts(context: Context) -> Counter[tuple[str, str]]:
    """How often each text occurs; what is no finite number is a text."""
    found: Counter[tuple[str, str]] = Counter()
    for attribute, value in context:
        if isinstance(value, str):
            found[attribute, value] += 1
        elif value is not None and math.isnan(value):
            found[attribute, "NaN"] += 1
        elif value is not None and math.isinf(value):
            found[attribute, "Infinity" if value > 0 else "-Infinity"] += 1
    return found


def numbers(context: Context) -> list[tuple[str, float]]:
    return [
        (attribute, max(-GREATEST, min(GREATEST, float(value))))
        for attribute, value in context
        if value is not None and not isinstance(value, str) and math.isfinite(value)
    ]


def bandwidth(values: Sequence[float]) -> float:
    """Silverman's; 0 if there is no spread."""
    n = len(values)
    if n < 2 or min(values) == max(values):
        return 0.0
    # Differences from one of them: what all have in common would drown the rest. In units of the largest: squares of
    # small or great numbers leave the range of a float.
    apart = [value - values[0] for value in values]
    unit = max(abs(d) for d in apart)
    scaled = [d / unit for d in apart]
    mean = math.fsum(scaled) / n
    spread = math.sqrt(math.fsum((d - mean) ** 2 for d in scaled) / (n - 1))
    return 1.06 * (spread * unit) * n ** (-1 / 5)


def unlike(x: float, y: float, h: float) -> float:
    """One less the kernel, without rounding away a small difference."""
    if h == 0:
        return float(x != y)
    apart = (x - y) / h
    return -math.expm1(-min(apart * apart, 1e6) / 2) if abs(apart) < 1e6 else 1.0


class Weights:
    """IDF of every term among some contexts, the new one included: ln((1 + E) / (1 + C_k)) + 1.
    Of a number, E is how many numbers its attribute has, and C_k the sum of their kernels."""

    def __init__(self, contexts: Sequence[Context], bandwidths: Mapping[str, float]) -> None:
        self.events = len(contexts)
        self.holding = Counter(term for context in contexts for term in texts(context))
        self.values: dict[str, list[float]] = {}
        for context in contexts:
            for attribute, value in numbers(context):
                self.values.setdefault(attribute, []).append(value)
        self.h = {a: bandwidths[a] if a in bandwidths else bandwidth(values) for a, values in self.values.items()}
        self.known: dict[tuple[str, float], float] = {}

    def of_text(self, term: tuple[str, str]) -> float:
        return math.log((1 + self.events) / (1 + self.holding[term])) + 1

    def of_number(self, attribute: str, value: float) -> float:
        if (attribute, value) not in self.known:
            values = self.values[attribute]
            near = math.fsum(1 - unlike(other, value, self.h[attribute]) for other in values)
            self.known[attribute, value] = math.log((1 + len(values)) / (1 + near)) + 1
        return self.known[attribute, value]


def dot(one: Context, other: Context, weights: Weights) -> float:
    ours, theirs = texts(one), texts(other)
    parts = [ours[t] * theirs[t] * weights.of_text(t) ** 2 for t in ours if t in theirs]
    for attribute, x in numbers(one):
        for name, y in numbers(other):
            if name == attribute:
                alike = 1 - unlike(x, y, weights.h[name])
                parts.append(weights.of_number(name, x) * weights.of_number(name, y) * alike)
    return math.fsum(parts)


def similarity(one: Context, other: Context, weights: Weights) -> float:
    norms = math.sqrt(dot(one, one, weights)) * math.sqrt(dot(other, other, weights))
    return round(min(1.0, dot(one, other, weights) / norms), DIGITS) if norms > 0 else 0.0


def most_similar(
    past: Sequence[Context],
    new: Sequence[Context],
    place: Sequence[int],
    begin: Sequence[int],
    k: int,
    bandwidths: Mapping[str, float],
    beyond: Sequence[tuple[Context, int]] = (),
    since: Sequence[int] | None = None,
) -> list[Answer]:
    """Of each new context, the k most similar of `past[begin:place]`; of equally similar ones the later comes first.
    Those that are not similar at all are left out.

    `beyond`: contexts that are not compared, and how often each is there; they count for a new one from `since` on."""
    answers = []
    for i, context in enumerate(new):
        considered = range(begin[i], place[i])
        others = [one for one, times in beyond[since[i] if since else 0 :] for _ in range(times)]
        weights = Weights([*(past[p] for p in considered), context, *others], bandwidths)
        scored = sorted(((similarity(context, past[p], weights), p) for p in considered), reverse=True)
        answers += [Answer(i, rank, score, p) for rank, (score, p) in enumerate(scored[:k], 1) if score > 0]
    return answers
