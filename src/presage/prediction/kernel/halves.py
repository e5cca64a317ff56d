"""Two placed segments, one later than the other, come in; the times at which they match go out. Called from loops."""

from __future__ import annotations

from presage.arrays.jit import Floats, Ints
from presage.prediction.kernel.bare import bare
from presage.prediction.kernel.factors import (
    KIND,
    LIMIT,
    NARROW,
    OF_A,
    OF_B,
    OF_BOTH,
    OWNER,
    SIDE,
    TERM,
    WIDE,
    Z0,
    ZT,
    ZU,
)
from presage.prediction.kernel.likelihood import ABOVE, BEYOND, WITHIN
from presage.prediction.kernel.regions import TERMS, add_between, start_half
from presage.prediction.kernel.solutions import GE, GT, LE, LT
from presage.prediction.kernel.trimming import GIVEN


@bare
def set_functions(lines: Floats, row: int, offset: float, functions: Floats, side: int) -> None:
    """Value at the origin and rate, of each term. `offset`: the start of the piece, seconds from the origin."""
    for k in range(lines.shape[1]):
        functions[side, k, 0] = lines[row, k, 0] - lines[row, k, 1] * offset
        functions[side, k, 1] = lines[row, k, 1]


@bare
def set_factors(
    terms: Ints,
    constants: Floats,
    lines_a: Floats,
    a: int,
    lines_b: Floats,
    b: int,
    margins_a: Floats,
    margins_b: Floats,
    factors: Floats,
) -> int:
    """What of the factors is the same for both halves: first those of terms, then of a's margins, then of b's. How many
    there are. Sure values have no factor: where they are allowed they satisfy."""
    number = 0
    for k in range(len(terms)):
        left, right = lines_a[a, k, 2], lines_b[b, k, 2]
        comparator = terms[k, 2]
        less, greater = comparator in (LE, LT), comparator in (GT, GE)
        if left + right > 0.0 and (less or (greater and constants[k] >= 0.0)):
            factors[number, KIND] = WITHIN if less else BEYOND
            factors[number, LIMIT] = constants[k]
            factors[number, WIDE] = max(left, right)
            factors[number, NARROW] = min(left, right)
            factors[number, TERM] = k
            factors[number, OWNER] = OF_BOTH
            number += 1
    number = add_margins(margins_a, a, 0, OF_A, factors, number)
    return add_margins(margins_b, b, margins_a.shape[1], OF_B, factors, number)


@bare
def add_margins(margins: Floats, row: int, shift: int, owner: float, factors: Floats, number: int) -> int:
    """A factor for each value term over a value that is not sure; `shift`: how many margins come before these."""
    for i in range(margins.shape[1]):
        if margins[row, i, 2] > 0.0:
            factors[number, KIND] = ABOVE
            factors[number, LIMIT] = 0.0
            factors[number, WIDE] = margins[row, i, 2]
            factors[number, NARROW] = 0.0
            factors[number, TERM] = i + shift
            factors[number, OWNER] = owner
            number += 1
    return number


@bare
def aim_factors(
    functions: Floats,
    margins_a: Floats,
    a: int,
    margins_b: Floats,
    b: int,
    offsets: Floats,
    half: int,
    chosen: Floats,
    factors: Floats,
    number: int,
) -> bool:
    """Set how z depends on t (the later time) and u. Whether both tails of a > or >= count: then there may be several
    peaks."""
    curved = False
    other = 1 - half
    for i in range(number):
        k = int(factors[i, TERM])
        if factors[i, KIND] != ABOVE:
            factors[i, Z0] = functions[half, k, 0] - functions[other, k, 0]
            factors[i, ZT] = functions[half, k, 1]
            factors[i, ZU] = -functions[other, k, 1]
            positive = chosen[k, 0] >= 0.0
            factors[i, SIDE] = 1.0 if positive else -1.0
            farthest = chosen[k, 1] if positive else -chosen[k, 0]
            if factors[i, KIND] == BEYOND and farthest <= factors[i, WIDE] + factors[i, NARROW] - factors[i, LIMIT]:
                curved = number > 1
            continue
        of_b = 1 if k >= margins_a.shape[1] else 0
        margin = margins_b[b, k - margins_a.shape[1], 0] if of_b else margins_a[a, k, 0]
        rate = margins_b[b, k - margins_a.shape[1], 1] if of_b else margins_a[a, k, 1]
        factors[i, Z0] = margin - rate * offsets[of_b]
        factors[i, ZT] = rate if of_b == half else 0.0
        factors[i, ZU] = 0.0 if of_b == half else rate
    return curved


@bare
def start_region(
    segments: Floats,
    functions: Floats,
    half: int,
    window: float,
    chosen: Floats,
    lines: Floats,
    counts: Ints,
    ends: Floats,
) -> bool:
    """The lines of one half of a region; False when it is empty. `half`: 0 where a is the later one. The later's value
    minus the earlier's must lie in the strip (low, high, opens) chosen for each term."""
    start_half(lines, counts, GIVEN, ends, segments, half, window)
    other = 1 - half
    for k in range(len(chosen)):
        if not add_between(
            lines, counts, GIVEN, ends,
            functions[half, k, 0] - functions[other, k, 0], functions[half, k, 1], -functions[other, k, 1],
            chosen[k, 0], chosen[k, 1], chosen[k, 2] > 0.0, chosen[k, 3] > 0.0, TERMS + k,
        ):  # fmt: skip
            return False
    return True
