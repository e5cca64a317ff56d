"""Join terms and two pieces come in, the strips of differences that satisfy each term go out. Called from loops."""

from __future__ import annotations

from presage.arrays.jit import Floats, Ints, inlined
from presage.prediction.kernel.solutions import EQ, GE, GT, solutions, split


@inlined
def find_strips(
    terms: Ints, constants: Floats, left: Floats, right: Floats, chancy: bool, strips: Floats, numbers: Ints
) -> bool:
    """`left`, `right`: value, rate, threshold for each term. Whether an `=` over unsure values has no chance at all.

    Where chances matter (`chancy`), strips of > and >= are cut so that each has one sign and lies on one side of the
    place up to which both tails count.
    """
    never = False
    for k in range(len(terms)):
        slack = left[k, 2] + right[k, 2]
        comparator = terms[k, 2]
        numbers[k] = solutions(comparator, constants[k], slack, terms[k, 3], True, strips[k])
        never = never or (comparator == EQ and slack > 0.0)
        if chancy and (comparator == GT or comparator == GE) and 0.0 <= constants[k] < slack:
            numbers[k] = split(numbers[k], 0.0, strips[k])
            numbers[k] = split(numbers[k], slack - constants[k], strips[k])
            numbers[k] = split(numbers[k], constants[k] - slack, strips[k])
    return never


@inlined
def choose_strips(choice: int, strips: Floats, numbers: Ints, turned: bool, chosen: Floats) -> None:
    """One strip for each term; `turned`: of the difference the other way round."""
    for k in range(len(numbers)):
        strip = strips[k, choice % numbers[k]]
        choice //= numbers[k]
        if turned:
            chosen[k, 0], chosen[k, 1], chosen[k, 2], chosen[k, 3] = -strip[1], -strip[0], strip[3], strip[2]
        else:
            chosen[k] = strip
