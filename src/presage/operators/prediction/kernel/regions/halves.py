"""Half a region: two segments, one later than the other, and the factors over it. Called from loops."""

from __future__ import annotations

from typing import NamedTuple

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
    Factors,
)
from presage.operators.prediction.kernel.chances.likelihood import ABOVE, BEYOND, WITHIN
from presage.operators.prediction.kernel.chances.shared_errors import A_MARGIN, A_TERM, B_MARGIN, LOW_A
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.regions.regions import (
    GIVEN,
    TERMS,
    Linear,
    Region,
    Strip,
    add_strip,
    start_half,
)
from presage.operators.prediction.kernel.regions.sides import SideArrays
from presage.operators.prediction.kernel.regions.solutions import GE, GT, LE, LT
from presage.operators.prediction.kernel.regions.strips import Terms


class Placed(NamedTuple):
    """Two segments on one axis of time: `segments` (low, high, opens); `functions` (value at the origin and rate) for
    each term; `offsets`: the starts of their pieces, seconds from the origin."""

    segments: Floats
    functions: Floats
    offsets: Floats


@bare
def set_functions(lines: Floats, row: int, offset: float, functions: Floats, side: int) -> None:
    """Write the value at the origin and the rate for each term. `offset`: the start of the piece."""
    for k in range(lines.shape[1]):
        functions[side, k, 0] = lines[row, k, 0] - lines[row, k, 1] * offset
        functions[side, k, 1] = lines[row, k, 1]


@bare
def set_factors(terms: Terms, left: SideArrays, a: int, right: SideArrays, b: int, factors: Floats) -> int:
    """Write what the factors of both halves have in common: those of terms, of a's margins, of b's. Return their
    number. Certain values have no factor: where they are allowed they satisfy. Groups: see `shared_errors`."""
    comparisons, constants, group_of, groups = terms
    lines_a, margins_a, lines_b, margins_b = left.lines, left.margins, right.lines, right.margins
    number = 0
    for k in range(len(comparisons)):
        error_a, error_b = lines_a[a, k, 2], lines_b[b, k, 2]
        comparator = comparisons[k, 2]
        less, greater = comparator in (LE, LT), comparator in (GT, GE)
        if error_a + error_b > 0.0 and (less or (greater and constants[k] >= 0.0)):
            factors[number, KIND] = WITHIN if less else BEYOND
            factors[number, LIMIT] = constants[k]
            factors[number, WIDE] = max(error_a, error_b)
            factors[number, NARROW] = min(error_a, error_b)
            factors[number, TERM] = k
            factors[number, OWNER] = OF_BOTH
            number += 1
    number = add_margins(margins_a, a, 0, OF_A, factors, number)
    number = add_margins(margins_b, b, margins_a.shape[1], OF_B, factors, number)
    give_roles(factors, number, group_of, groups, len(comparisons))
    for i in range(number):
        if factors[i, ROLE] == LEADS:
            group = int(factors[i, GROUP])
            k, of_a = int(groups[group, A_TERM]), int(groups[group, A_MARGIN])
            # A group of both sides has a term.
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
    """The first factor of a group leads it."""
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
    """Add a factor for each value term over an uncertain value; `shift`: the number of margins before these."""
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
    placed: Placed,
    half: int,
    chosen: Floats,
    margins_a: Floats,
    a: int,
    margins_b: Floats,
    b: int,
    groups: Floats,
    factors: Factors,
) -> bool:
    """Set how z depends on t (the later time) and u. Return whether both tails of a > or >= count, so that there may be
    several peaks."""
    functions, offsets, rows = placed.functions, placed.offsets, factors.rows
    curved = False
    other = 1 - half
    for i in range(factors.number):
        rows[i, TAILS] = 1.0
    for i in range(factors.number):
        k = int(rows[i, TERM])
        if rows[i, ROLE] == LEADS:
            _aim_group(placed, half, margins_a, a, margins_b, b, groups, rows, i)
        if rows[i, KIND] != ABOVE:
            rows[i, Z0] = functions[half, k, 0] - functions[other, k, 0]
            rows[i, ZT] = functions[half, k, 1]
            rows[i, ZU] = -functions[other, k, 1]
            positive = chosen[k, 0] >= 0.0
            rows[i, SIDE] = 1.0 if positive else -1.0
            farthest = chosen[k, 1] if positive else -chosen[k, 0]
            if rows[i, KIND] == BEYOND and farthest <= rows[i, WIDE] + rows[i, NARROW] - rows[i, LIMIT]:
                curved = True
                # And the leader of its group.
                for j in range(i + 1):
                    if j == i or (rows[j, ROLE] == LEADS and rows[j, GROUP] == rows[i, GROUP]):
                        rows[j, TAILS] = 2.0
            continue
        of_b = 1 if k >= margins_a.shape[1] else 0
        margin = margins_b[b, k - margins_a.shape[1], 0] if of_b else margins_a[a, k, 0]
        rate = margins_b[b, k - margins_a.shape[1], 1] if of_b else margins_a[a, k, 1]
        rows[i, Z0] = margin - rate * offsets[of_b]
        rows[i, ZT] = rate if of_b == half else 0.0
        rows[i, ZU] = 0.0 if of_b == half else rate
    return curved


@bare
def _aim_group(
    placed: Placed,
    half: int,
    margins_a: Floats,
    a: int,
    margins_b: Floats,
    b: int,
    groups: Floats,
    factors: Floats,
    row: int,
) -> None:
    """Set the values of a group as functions of the time of their side."""
    functions, offsets = placed.functions, placed.offsets
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
def start_region(placed: Placed, half: int, window: float, chosen: Floats, region: Region) -> bool:
    """Write the lines of half a region; False if it is empty. `half`: 0 where a is the later one. The later value minus
    the earlier one must lie in the strip (low, high, opens) chosen for each term."""
    start_half(region, placed.segments, half, window)
    functions, other = placed.functions, 1 - half
    for k in range(len(chosen)):
        apart = functions[half, k, 0] - functions[other, k, 0]
        z = Linear(apart, functions[half, k, 1], -functions[other, k, 1])
        strip = Strip(chosen[k, 0], chosen[k, 1], chosen[k, 2] > 0.0, chosen[k, 3] > 0.0)
        if not add_strip(region, GIVEN, z, strip, TERMS + k):
            return False
    return True
