"""The greatest product of factors that may have several peaks, by branch and bound. Called from loops.

The region is cut into triangles. In each of them every factor lies below an exponential (`_above`), and so does the
product, which is greatest in a corner. A triangle whose bound is no better than the best place so far is dropped; the
others are halved across the edge along which values change most, the one with the greatest bound first. What is dropped
is proven to be greater by `FINE` at most.
"""

from __future__ import annotations

import math

import numpy as np

from presage.arrays.jit import Floats
from presage.operators.prediction.kernel.chances.factor_parts import (
    Corners,
    cap_of,
    has_no_chance,
    part_at,
    without_near,
)
from presage.operators.prediction.kernel.chances.factors import (
    FOLLOWS,
    NARROW,
    ROLE,
    TAILS,
    WIDE,
    ZT,
    ZU,
    Factors,
    product_at,
)
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.regions.regions import LOWER, UPPER, C, P, Q, Region, slice_at

# A row of cells: three corners (t, u), and an upper bound of the product.
CORNERS, BOUND = 6, 6
CELL = 7
# The most pending triangles; the last rows are reserved for a search in depth.
CELLS, RESERVE = 512, 160
FINE = 1e-11
# After so many halvings FINE grows tenfold, and again after as many, so that a search ends. Most take ten.
PATIENCE = 2048
# Along an edge where values change by less than this part of their errors the product is constant.
FLAT = 1e-15


@bare
def cover(region: Region, at: int, first: float, last: float, cells: Floats) -> int:
    """Write the triangles of a region between two times, return their number. Between two of its corners a region is
    bounded by one line below and one above."""
    count, t = 0, first
    low, high, _, _ = slice_at(region, at, t)
    if last <= first:
        _put(cells, 0, t, low, t, high, t, high)
        return 1
    while t < last and count + 2 <= len(cells):
        then = min(last, _corner(region, at, t))
        next_low, next_high, _, _ = slice_at(region, at, then)
        _put(cells, count, t, low, then, next_low, then, next_high)
        count += 1
        if high > low:
            _put(cells, count, t, low, t, high, then, next_high)
            count += 1
        t, low, high = then, next_low, next_high
    return count


@bare
def _put(cells: Floats, row: int, t0: float, u0: float, t1: float, u1: float, t2: float, u2: float) -> None:
    cells[row, 0], cells[row, 1], cells[row, 2] = t0, u0, t1
    cells[row, 3], cells[row, 4], cells[row, 5] = u1, t2, u2
    cells[row, BOUND] = 2.0


@bare
def _corner(region: Region, at: int, t: float) -> float:
    """The next time at which another line bounds u from below or from above."""
    lines, counts = region.lines, region.counts
    first = np.inf
    for side in (LOWER, UPPER):
        sign = -1.0 if side == UPPER else 1.0
        # The line that bounds u right after t.
        best, moves = -np.inf, 0.0
        for i in range(counts[at, side]):
            p, q = lines[at, side, i, P], lines[at, side, i, Q]
            bound, slope = sign * (lines[at, side, i, C] - p * t) / q, -sign * p / q
            if bound > best or (bound == best and slope > moves):
                best, moves = bound, slope
        for i in range(counts[at, side]):
            p, q = lines[at, side, i, P], lines[at, side, i, Q]
            bound, slope = sign * (lines[at, side, i, C] - p * t) / q, -sign * p / q
            if slope > moves:
                then = t + (best - bound) / (slope - moves)
                if then > t:
                    first = min(first, then)
    return float(first)


@bare
def bound_of(factors: Factors, cells: Floats, row: int) -> float:
    """An upper bound of the product in a triangle."""
    t = cells[row, 0], cells[row, 2], cells[row, 4]
    u = cells[row, 1], cells[row, 3], cells[row, 5]
    first, second, third, caps = 1.0, 1.0, 1.0, 1.0
    for i in range(factors.number):
        if factors.rows[i, ROLE] == FOLLOWS:
            continue
        known, one, two, three = _above(factors, i, t, u)
        if not known and has_no_chance(factors, i, t, u):
            return 0.0
        cap = cap_of(factors, i, t, u)
        if not known or cap <= min(one, two, three):
            one, two, three = cap, cap, cap
        first, second, third, caps = first * one, second * two, third * three, caps * cap
    # Caps are better where an exponential is far above its factor, exponentials where one factor grows and another
    # shrinks.
    return min(caps, max(first, second, third))


@bare
def _above(factors: Factors, row: int, t: Corners, u: Corners) -> tuple[bool, float, float, float]:
    """The values at the corners of an exponential of a linear function that a factor does not exceed in a triangle;
    False: none is known. With one part it is the tangent in the middle. With two tails the factor is U - V: U lies
    below its tangent, V above the interpolation of its logarithm between the corners; log(1 - V/U) is concave in that
    and has a tangent, too."""
    middle_t, middle_u = (t[0] + t[1] + t[2]) / 3.0, (u[0] + u[1] + u[2]) / 3.0
    two_tails = factors.rows[row, TAILS] > 1.0
    near0, near1, near2 = 0.0, 0.0, 0.0
    chance, by_t, by_u = 0.0, 0.0, 0.0
    if not two_tails:
        chance, by_t, by_u = part_at(factors, row, 0, middle_t, middle_u)
    else:
        for k in range(4):
            at_t, at_u = (middle_t, middle_u) if k == 3 else (t[k], u[k])
            here, here_t, here_u = without_near(factors, row, k < 3, at_t, at_u)
            if k == 0:
                near0 = here
            elif k == 1:
                near1 = here
            elif k == 2:
                near2 = here
            else:
                chance, by_t, by_u = here, here_t, here_u
    if chance <= 0.0:
        return False, 0.0, 0.0, 0.0
    zero = math.log(chance)
    one = zero + by_t * (t[0] - middle_t) + by_u * (u[0] - middle_u)
    two = zero + by_t * (t[1] - middle_t) + by_u * (u[1] - middle_u)
    three = zero + by_t * (t[2] - middle_t) + by_u * (u[2] - middle_u)
    if two_tails and min(near0, near1, near2) > 0.0:
        apart0, apart1, apart2 = math.log(near0) - one, math.log(near1) - two, math.log(near2) - three
        apart = (apart0 + apart1 + apart2) / 3.0
        if apart >= -1e-12:
            return False, 0.0, 0.0, 0.0
        share = math.exp(apart)
        steep, less = share / (1.0 - share), math.log1p(-share)
        one, two, three = (
            one + less - steep * (apart0 - apart),
            two + less - steep * (apart1 - apart),
            three + less - steep * (apart2 - apart),
        )
    return True, math.exp(min(one, 700.0)), math.exp(min(two, 700.0)), math.exp(min(three, 700.0))


@bare
def _longest(factors: Factors, cells: Floats, row: int) -> tuple[int, float]:
    """The edge, named by the opposite corner, along which values change most relative to their errors."""
    rows = factors.rows
    longest, edge = -1.0, 0
    for k in range(3):
        one, other = 2 * ((k + 1) % 3), 2 * ((k + 2) % 3)
        by_t, by_u = cells[row, other] - cells[row, one], cells[row, other + 1] - cells[row, one + 1]
        length = 0.0
        for i in range(factors.number):
            change = rows[i, ZT] * by_t + rows[i, ZU] * by_u
            length = max(length, abs(change) / (rows[i, WIDE] + rows[i, NARROW]))
        if length > longest:
            longest, edge = length, k
    return edge, longest


@bare
def _most_promising(cells: Floats, count: int) -> int:
    """The triangle with the greatest bound, the newest of equal ones. With little space left the last one, so that its
    halves are next: depth first takes a row for each halving, not for each triangle."""
    if count > len(cells) - RESERVE:
        return count - 1
    top = 0
    for row in range(1, count):
        if cells[row, BOUND] >= cells[top, BOUND]:
            top = row
    return top


@bare
def greatest_between(
    region: Region, at: int, factors: Factors, cells: Floats, first: float, last: float, known: float, enough: float
) -> tuple[float, float, float]:
    """The greatest product between two times of a region, if it exceeds `known`, and where. The search stops at
    `enough`."""
    count = cover(region, at, first, last, cells)
    best, best_t, best_u = known, cells[0, 0], cells[0, 1]
    for row in range(count):
        for k in range(0, CORNERS, 2):
            here = product_at(factors, cells[row, k], cells[row, k + 1])[0]
            if here > best:
                best, best_t, best_u = here, cells[row, k], cells[row, k + 1]
    for row in range(count):
        cells[row, BOUND] = bound_of(factors, cells, row)
    fine, halvings = FINE, 0
    while count > 0 and best < enough:
        top = _most_promising(cells, count)
        if cells[top, BOUND] <= best + fine:
            if top < count - 1:
                break
            count -= 1
            continue
        count -= 1
        for column in range(CELL):
            cells[top, column], cells[count, column] = cells[count, column], cells[top, column]
        edge, length = _longest(factors, cells, count)
        # Corner k and the middle of the edge opposite to it cut the triangle in two.
        i, j = 2 * ((edge + 1) % 3), 2 * ((edge + 2) % 3)
        t, u = 0.5 * (cells[count, i] + cells[count, j]), 0.5 * (cells[count, i + 1] + cells[count, j + 1])
        too_small = (t == cells[count, i] and u == cells[count, i + 1]) or (
            t == cells[count, j] and u == cells[count, j + 1]
        )
        if length <= FLAT or too_small or count + 2 > len(cells):
            continue
        here = product_at(factors, t, u)[0]
        if here > best:
            best, best_t, best_u = here, t, u
        for column in range(CELL):
            cells[count + 1, column] = cells[count, column]
        k = 2 * edge
        for row, moved in ((count, i), (count + 1, j)):
            # In a degenerate triangle a corner that coincides with the moved one moves too: halves must not overlap.
            if cells[row, k] == cells[row, moved] and cells[row, k + 1] == cells[row, moved + 1]:
                cells[row, k], cells[row, k + 1] = t, u
            cells[row, moved], cells[row, moved + 1] = t, u
        for row in range(count, count + 2):
            cells[row, BOUND] = bound_of(factors, cells, row)
        count, halvings = count + 2, halvings + 1
        if halvings % PATIENCE == 0:
            fine *= 10.0
    return best, best_t, best_u
