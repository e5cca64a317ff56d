"""Half a region: two placed segments, one later than the other, and the factors over it. Called from loops."""

from __future__ import annotations

from presage.arrays.jit import Floats, Ints
from presage.operators.prediction.kernel.chances.factors import (
    A0,
    A_LATER,
    A_RATE,
    ALONE,
    B0,
    B_RATE,
    BOUNDS,
    ERROR_A,
    ERROR_B,
    FOLLOWS,
    GROUP,
    KIND,
    LEADS,
    LIMIT,
    NARROW,
    OF_A,
    OF_B,
    OF_BOTH,
    OWNER,
    ROLE,
    SIDE,
    TAILS,
    TERM,
    WIDE,
    Z0,
    ZT,
    ZU,
)
from presage.operators.prediction.kernel.chances.likelihood import ABOVE, BEYOND, WITHIN
from presage.operators.prediction.kernel.chances.shared_errors import A_MARGIN, A_TERM, B_MARGIN, LOW_A
from presage.operators.prediction.kernel.chances.threshold import GIVEN
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.regions.regions import TERMS, add_between, start_half
from presage.operators.prediction.kernel.regions.solutions import GE, GT, LE, LT


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
    group_of: Ints,
    groups: Floats,
    factors: Floats,
) -> int:
    """What of the factors is the same for both halves: first those of terms, then of a's margins, then of b's. How many
    there are. Sure values have no factor: where they are allowed they satisfy. Groups: see `shared_errors`."""
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
    number = add_margins(margins_b, b, margins_a.shape[1], OF_B, factors, number)
    give_roles(factors, number, group_of, groups, len(terms))
    for i in range(number):
        if factors[i, ROLE] == LEADS:
            group = int(factors[i, GROUP])
            k, of_a = int(groups[group, A_TERM]), int(groups[group, A_MARGIN])
            # Where two sides meet there is a term about both.
            factors[i, ERROR_A], factors[i, ERROR_B] = 0.0, 0.0
            if k >= 0:
                factors[i, ERROR_A], factors[i, ERROR_B] = lines_a[a, k, 2], lines_b[b, k, 2]
            elif of_a >= 0:
                factors[i, ERROR_A] = margins_a[a, of_a, 2]
            else:
                factors[i, ERROR_B] = margins_b[b, int(groups[group, B_MARGIN]), 2]
    return number


@bare
def give_roles(factors: Floats, number: int, group_of: Ints, groups: Floats, terms: int) -> None:
    """Of factors about the same errors the first stands for all."""
    for i in range(number):
        group = group_of[int(factors[i, TERM]) + (terms if factors[i, KIND] == ABOVE else 0)]
        factors[i, ROLE], factors[i, GROUP] = ALONE, group
        for j in range(i):
            if factors[j, GROUP] == group and factors[i, ROLE] == ALONE:
                factors[i, ROLE], factors[j, ROLE] = FOLLOWS, LEADS
        for bound in range(6):
            factors[i, BOUNDS + bound] = groups[group, LOW_A + bound]


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
    groups: Floats,
    factors: Floats,
    number: int,
) -> bool:
    """Set how z depends on t (the later time) and u. Whether both tails of a > or >= count: then there may be several
    peaks."""
    curved = False
    other = 1 - half
    for i in range(number):
        factors[i, TAILS] = 1.0
    for i in range(number):
        k = int(factors[i, TERM])
        if factors[i, ROLE] == LEADS:
            _aim_group(functions, margins_a, a, margins_b, b, offsets, half, groups, factors, i)
        if factors[i, KIND] != ABOVE:
            factors[i, Z0] = functions[half, k, 0] - functions[other, k, 0]
            factors[i, ZT] = functions[half, k, 1]
            factors[i, ZU] = -functions[other, k, 1]
            positive = chosen[k, 0] >= 0.0
            factors[i, SIDE] = 1.0 if positive else -1.0
            farthest = chosen[k, 1] if positive else -chosen[k, 0]
            if factors[i, KIND] == BEYOND and farthest <= factors[i, WIDE] + factors[i, NARROW] - factors[i, LIMIT]:
                curved = True
                # Of a group, the one that stands for it.
                for j in range(i + 1):
                    if j == i or (factors[j, ROLE] == LEADS and factors[j, GROUP] == factors[i, GROUP]):
                        factors[j, TAILS] = 2.0
            continue
        of_b = 1 if k >= margins_a.shape[1] else 0
        margin = margins_b[b, k - margins_a.shape[1], 0] if of_b else margins_a[a, k, 0]
        rate = margins_b[b, k - margins_a.shape[1], 1] if of_b else margins_a[a, k, 1]
        factors[i, Z0] = margin - rate * offsets[of_b]
        factors[i, ZT] = rate if of_b == half else 0.0
        factors[i, ZU] = 0.0 if of_b == half else rate
    return curved


@bare
def _aim_group(
    functions: Floats,
    margins_a: Floats,
    a: int,
    margins_b: Floats,
    b: int,
    offsets: Floats,
    half: int,
    groups: Floats,
    factors: Floats,
    row: int,
) -> None:
    """Set the values that a group is about, as functions of the time of their side."""
    group = int(factors[row, GROUP])
    k, of_a, of_b = int(groups[group, A_TERM]), int(groups[group, A_MARGIN]), int(groups[group, B_MARGIN])
    factors[row, A_LATER] = 1.0 if half == 0 else 0.0
    factors[row, A0], factors[row, A_RATE], factors[row, B0], factors[row, B_RATE] = 0.0, 0.0, 0.0, 0.0
    if k >= 0:
        factors[row, A0], factors[row, A_RATE] = functions[0, k, 0], functions[0, k, 1]
        factors[row, B0], factors[row, B_RATE] = functions[1, k, 0], functions[1, k, 1]
    elif of_a >= 0:
        factors[row, A0] = margins_a[a, of_a, 3] - margins_a[a, of_a, 4] * offsets[0]
        factors[row, A_RATE] = margins_a[a, of_a, 4]
    else:
        factors[row, B0] = margins_b[b, of_b, 3] - margins_b[b, of_b, 4] * offsets[1]
        factors[row, B_RATE] = margins_b[b, of_b, 4]


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
            lines,
            counts,
            GIVEN,
            ends,
            functions[half, k, 0] - functions[other, k, 0],
            functions[half, k, 1],
            -functions[other, k, 1],
            chosen[k, 0],
            chosen[k, 1],
            chosen[k, 2] > 0.0,
            chosen[k, 3] > 0.0,
            TERMS + k,
        ):
            return False
    return True
