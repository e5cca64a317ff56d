"""Dot products and norms of contexts: the inner loops of a comparison."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats, Ints, compiled, inlined
from presage.operators.recall.kernel.contexts import Bags
from presage.operators.recall.kernel.densities import alike

# Similarities are rounded to 1e-12: the order of a sum does not decide which event is more similar.
STEPS = 1e12


class Numbers(NamedTuple):
    """The numbers of one context: occurrences `low` to `high` of all, and their weights."""

    attributes: Ints
    values: Floats
    low: int
    high: int
    weights: Floats  # from `low` on


@inlined
def compare_terms(codes: Ints, times: Floats, low: int, high: int, own: Floats, idf: Floats) -> tuple[float, float]:
    """Dot product of a context's texts with `own` weights by term, and the square of its norm."""
    dot, square = 0.0, 0.0
    for i in range(low, high):
        weight = times[i] * idf[codes[i]]
        dot += weight * own[codes[i]]
        square += weight * weight
    return dot, square


@inlined
def cosine(dot: float, square: float, other_square: float) -> float:
    if dot <= 0.0 or square <= 0.0 or other_square <= 0.0:
        return 0.0
    near = min(1.0, dot / (np.sqrt(square) * np.sqrt(other_square)))
    rounded: float = np.floor(near * STEPS + 0.5) / STEPS
    return rounded


@inlined
def norm_of_numbers(numbers: Numbers, bandwidth: Floats) -> float:
    """The square of the norm of a context's numbers."""
    attributes, values, low, high, weights = numbers
    square = 0.0
    for i in range(low, high):
        square += weights[i - low] * weights[i - low]
        j = i - 1
        while j >= low and attributes[j] == attributes[i]:
            near = alike(values[i], values[j], bandwidth[attributes[i]])
            square += 2.0 * weights[i - low] * weights[j - low] * near
            j -= 1
    return square


@inlined
def dot_of_numbers(one: Numbers, other: Numbers, bandwidth: Floats) -> float:
    """Dot product of the numbers of two contexts, each in order of attributes."""
    attributes, values, low, high, weights = one
    others, other_values, other_low, other_high, other_weights = other
    dot = 0.0
    begin = other_low
    for i in range(low, high):
        while begin < other_high and others[begin] < attributes[i]:
            begin += 1
        j = begin
        while j < other_high and others[j] == attributes[i]:
            near = alike(values[i], other_values[j], bandwidth[attributes[i]])
            dot += weights[i - low] * other_weights[j - other_low] * near
            j += 1
    return dot


@compiled
def similarities(bags: Bags, idf: Floats, one: Ints, other: Ints) -> Floats:
    """Similarity of pairs of contexts by texts alone, with given IDFs of all terms."""
    scores = np.zeros(len(one))
    own = np.zeros(len(idf))
    base = bags.starts[0]
    for i in range(len(one)):
        low, high = bags.starts[one[i]] - base, bags.starts[one[i] + 1] - base
        for j in range(low, high):
            own[bags.codes[j]] = bags.times[j] * idf[bags.codes[j]]
        _, own_square = compare_terms(bags.codes, bags.times, low, high, own, idf)
        start, stop = bags.starts[other[i]] - base, bags.starts[other[i] + 1] - base
        dot, square = compare_terms(bags.codes, bags.times, start, stop, own, idf)
        scores[i] = cosine(dot, square, own_square)
        for j in range(low, high):
            own[bags.codes[j]] = 0.0
    return scores
