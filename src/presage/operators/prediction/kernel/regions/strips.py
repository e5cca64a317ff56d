"""Strips of differences that satisfy each join term. Called from loops."""

from __future__ import annotations

from presage.arrays.jit import Floats, Ints
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.regions.solutions import EQ, GE, GT, NE, solutions, split


@bare
def find_strips(
    terms: Ints,
    constants: Floats,
    lines_a: Floats,
    a: int,
    lines_b: Floats,
    b: int,
    chancy: bool,
    slacks: Floats,
    strips: Floats,
    numbers: Ints,
) -> bool:
    """`lines_a`, `lines_b`: value, rate, threshold for each term. Whether an `=` over unsure values has no chance at
    all. `slacks`: those of the pair before; thresholds are mostly the same, and then so are the strips.

    Where chances matter (`chancy`), strips of > and >= are cut so that each has one sign and lies on one side of the
    place up to which both tails count.
    """
    never = False
    for k in range(len(terms)):
        slack = lines_a[a, k, 2] + lines_b[b, k, 2]
        comparator = terms[k, 2]
        never = never or (comparator == EQ and slack > 0.0)
        if slack == slacks[k]:
            continue
        slacks[k] = slack
        found = strips[k]
        count = solutions(comparator, constants[k], slack, terms[k, 3], True, found)
        if chancy and (comparator in (GT, GE)) and 0.0 <= constants[k] <= slack:
            for sign in range(-1, 2):
                count = split(count, (slack - constants[k]) * sign, found)
        numbers[k] = count
    return never


@bare
def choose_strips(choice: int, strips: Floats, numbers: Ints, turned: bool, chosen: Floats) -> None:
    """One strip for each term; `turned`: of the difference the other way round."""
    for k in range(len(numbers)):
        i = choice % numbers[k]
        choice //= numbers[k]
        low, high, low_open, high_open = strips[k, i, 0], strips[k, i, 1], strips[k, i, 2], strips[k, i, 3]
        chosen[k, 0] = -high if turned else low
        chosen[k, 1] = -low if turned else high
        chosen[k, 2] = high_open if turned else low_open
        chosen[k, 3] = low_open if turned else high_open


@bare
def most_choices(terms: Ints, chancy: bool) -> int:
    """How many choices of strips there may be."""
    choices = 1
    for k in range(len(terms)):
        comparator = terms[k, 2]
        if comparator == EQ:
            choices *= 2
        elif comparator == NE:
            choices *= 3
        elif comparator in (GT, GE):
            # Two signs, each near and far.
            choices *= 4 if chancy else 2
    return choices
