"""Strips: intervals of the difference of two values that satisfy a join term. Called from loops."""

from __future__ import annotations

from typing import NamedTuple

from presage.arrays.jit import Floats, Ints
from presage.operators.prediction.kernel.jit import bare, bare_inlined
from presage.operators.prediction.kernel.regions.solutions import EQ, GE, GT, NE, solutions, split


class Terms(NamedTuple):
    """The join terms: left and right attribute, comparator and mode; constants; the groups of terms with common errors
    (see `shared_errors`)."""

    rows: Ints
    constants: Floats
    group_of: Ints
    groups: Floats


class Strips(NamedTuple):
    """The strips of each term, and their numbers."""

    rows: Floats
    numbers: Ints


@bare
def find_strips(terms: Terms, lines_a: Floats, a: int, lines_b: Floats, b: int, chancy: bool, strips: Strips) -> bool:
    """Write the strips of each term; return whether an `=` over uncertain values makes the chance 0. `lines_a`,
    `lines_b`: value, rate, threshold for each term.

    Where chances matter (`chancy`), strips of > and >= are cut so that each has one sign and lies on one side of the
    place up to which both tails count.
    """
    never, constants = False, terms.constants
    for k in range(len(constants)):
        slack = lines_a[a, k, 2] + lines_b[b, k, 2]
        comparator = terms.rows[k, 2]
        never = never or (comparator == EQ and slack > 0.0)
        own = strips.rows[k]
        count = solutions(comparator, constants[k], slack, terms.rows[k, 3], True, own)
        if chancy and (comparator in (GT, GE)) and 0.0 <= constants[k] <= slack:
            for sign in range(-1, 2):
                count = split(count, (slack - constants[k]) * sign, own)
        strips.numbers[k] = count
    return never


@bare_inlined
def choose_strips(choice: int, strips: Strips, turned: bool, chosen: Floats) -> None:
    """Write one strip for each term; `turned`: for the opposite difference."""
    rows, numbers = strips
    for k in range(len(numbers)):
        i = choice % numbers[k]
        choice //= numbers[k]
        low, high, low_open, high_open = rows[k, i, 0], rows[k, i, 1], rows[k, i, 2], rows[k, i, 3]
        chosen[k, 0] = -high if turned else low
        chosen[k, 1] = -low if turned else high
        chosen[k, 2] = high_open if turned else low_open
        chosen[k, 3] = low_open if turned else high_open


@bare
def most_choices(terms: Ints, chancy: bool) -> int:
    """The number of choices of strips, at most."""
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
