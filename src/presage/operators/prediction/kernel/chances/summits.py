"""The greatest product of factors that may have several peaks, by branch and bound. Called from loops.

The region is cut into triangles. In each of them every factor lies below an exponential (`_above`), and so does the
product, which is greatest in a corner. A triangle that cannot hold more than what was found is left; the others are
halved, across the edge along which values change most, first the one that may hold most. What is left out is proven to
be no greater by more than `FINE`.
"""

from __future__ import annotations

import math

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.operators.prediction.kernel.chances.factor_parts import cap_of, has_no_chance, part_at, without_near
from presage.operators.prediction.kernel.chances.factors import (
    FOLLOWS,
    LEADS,
    NARROW,
    ROLE,
    TAILS,
    WIDE,
    ZT,
    ZU,
    product_at,
)
from presage.operators.prediction.kernel.chances.likelihood import NORMAL
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.regions.regions import LOWER, UPPER, C, P, Q, slice_at

# A row of cells: three corners (t, u), and what nothing in it exceeds.
CORNERS, BOUND = 6, 6
CELL = 7
# So many are put aside at most; the last of them are kept for halves of halves of one.
CELLS, RESERVE = 512, 160
FINE = 1e-11
# After so many halvings it may be ten times as much, and again after as many: so a search ends. Most take ten.
PATIENCE = 2048
# An edge along which no value changes by more than this part of its error has one value.
FLAT = 1e-15


@bare
def cover(lines: Floats, counts: Ints, at: int, first: float, last: float, cells: Floats) -> int:
    """Triangles that make up the region `lines[at]` between two times; how many. Between two of its corners a region is
    bounded by one line below and one above."""
    count, t = 0, first
    low, high, _, _ = slice_at(lines, counts, at, t)
    if last <= first:
        _put(cells, 0, t, low, t, high, t, high)
        return 1
    while t < last and count + 2 <= len(cells):
        then = min(last, _corner(lines, counts, at, t))
        next_low, next_high, _, _ = slice_at(lines, counts, at, then)
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
def _corner(lines: Floats, counts: Ints, at: int, t: float) -> float:
    """The next time at which another line bounds u from below or from above."""
    first = np.inf
    for side in (LOWER, UPPER):
        sign = -1.0 if side == UPPER else 1.0
        # Which of them bounds u right after t.
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
def bound_of(factors: Floats, number: int, cells: Floats, row: int, model: int, sigma: float) -> float:
    """What no place in a triangle exceeds."""
    t = cells[row, 0], cells[row, 2], cells[row, 4]
    u = cells[row, 1], cells[row, 3], cells[row, 5]
    first, second, third, caps = 1.0, 1.0, 1.0, 1.0
    for i in range(number):
        if factors[i, ROLE] == FOLLOWS:
            continue
        known, one, two, three = _above(factors, i, t, u, model, sigma)
        if not known and has_no_chance(factors, i, t, u):
            return 0.0
        cap = cap_of(factors, number, i, t, u, model, sigma)
        if not known or cap <= min(one, two, three):
            one, two, three = cap, cap, cap
        first, second, third, caps = first * one, second * two, third * three, caps * cap
    # Caps are better where an exponential is far above its factor, exponentials where one factor grows and another
    # shrinks.
    return min(caps, max(first, second, third))


@bare
def _above(
    factors: Floats, row: int, t: tuple[float, float, float], u: tuple[float, float, float], model: int, sigma: float
) -> tuple[bool, float, float, float]:
    """An exponential of a linear function that a factor does not exceed in a triangle, at its corners; False: none is
    known. With one part it is the tangent in the middle. With two tails: of U - V, U lies below its tangent and V above
    what goes linearly, as a logarithm, from corner to corner; log(1 - V/U) is concave in that and has a tangent, too.
    """
    middle_t, middle_u = (t[0] + t[1] + t[2]) / 3.0, (u[0] + u[1] + u[2]) / 3.0
    two_tails = factors[row, TAILS] > 1.0
    near0, near1, near2 = 0.0, 0.0, 0.0
    chance, by_t, by_u = 0.0, 0.0, 0.0
    if not two_tails:
        chance, by_t, by_u = part_at(factors, row, 0, middle_t, middle_u, model, sigma)
    else:
        for k in range(4):
            at_t, at_u = (middle_t, middle_u) if k == 3 else (t[k], u[k])
            here, here_t, here_u = without_near(factors, row, k < 3, at_t, at_u, model, sigma)
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
    if two_tails and model != NORMAL and factors[row, ROLE] != LEADS:
        # Of uniform errors V itself is concave as long as both tails count, and U is 1.
        share = (near0 + near1 + near2) / 3.0
        if share >= 1.0:
            return False, 0.0, 0.0, 0.0
        less, rest = math.log1p(-share), 1.0 - share
        one, two, three = less - (near0 - share) / rest, less - (near1 - share) / rest, less - (near2 - share) / rest
    elif two_tails and min(near0, near1, near2) > 0.0:
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
def _longest(factors: Floats, number: int, cells: Floats, row: int) -> tuple[int, float]:
    """The edge, by the corner opposite to it, along which values change most as parts of their errors."""
    longest, edge = -1.0, 0
    for k in range(3):
        i, j = 2 * ((k + 1) % 3), 2 * ((k + 2) % 3)
        by_t, by_u = cells[row, j] - cells[row, i], cells[row, j + 1] - cells[row, i + 1]
        length = 0.0
        for factor in range(number):
            change = factors[factor, ZT] * by_t + factors[factor, ZU] * by_u
            length = max(length, abs(change) / (factors[factor, WIDE] + factors[factor, NARROW]))
        if length > longest:
            longest, edge = length, k
    return edge, longest


@bare
def _most_promising(cells: Floats, count: int) -> int:
    """The triangle with the greatest bound, of several the newest. If there is little room left the last one, whose
    halves come next: that takes a row for each halving, not for each triangle."""
    if count > len(cells) - RESERVE:
        return count - 1
    top = 0
    for row in range(1, count):
        if cells[row, BOUND] >= cells[top, BOUND]:
            top = row
    return top


@bare
def greatest(
    factors: Floats, number: int, cells: Floats, count: int, known: float, enough: float, model: int, sigma: float
) -> tuple[float, float, float]:
    """The greatest product in so many triangles, if it is more than what is `known`, and where. No more than `enough`
    is sought. The triangles are used up."""
    best, best_t, best_u = known, cells[0, 0], cells[0, 1]
    for row in range(count):
        for k in range(0, CORNERS, 2):
            here = product_at(factors, number, cells[row, k], cells[row, k + 1], model, sigma)[0]
            if here > best:
                best, best_t, best_u = here, cells[row, k], cells[row, k + 1]
    for row in range(count):
        cells[row, BOUND] = bound_of(factors, number, cells, row, model, sigma)
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
            kept = cells[top, column]
            cells[top, column] = cells[count, column]
            cells[count, column] = kept
        edge, length = _longest(factors, number, cells, count)
        # Corner k and the middle of the edge opposite to it cut the triangle in two.
        i, j = 2 * ((edge + 1) % 3), 2 * ((edge + 2) % 3)
        t, u = 0.5 * (cells[count, i] + cells[count, j]), 0.5 * (cells[count, i + 1] + cells[count, j + 1])
        too_small = (t == cells[count, i] and u == cells[count, i + 1]) or (
            t == cells[count, j] and u == cells[count, j + 1]
        )
        if length <= FLAT or too_small or count + 2 > len(cells):
            continue
        here = product_at(factors, number, t, u, model, sigma)[0]
        if here > best:
            best, best_t, best_u = here, t, u
        for column in range(CELL):
            cells[count + 1, column] = cells[count, column]
        k = 2 * edge
        for row, moved in ((count, i), (count + 1, j)):
            # Of a line, a corner in one place with the one that moves goes along: else the halves would overlap.
            if cells[row, k] == cells[row, moved] and cells[row, k + 1] == cells[row, moved + 1]:
                cells[row, k], cells[row, k + 1] = t, u
            cells[row, moved], cells[row, moved + 1] = t, u
        for row in range(count, count + 2):
            cells[row, BOUND] = bound_of(factors, number, cells, row, model, sigma)
        count, halvings = count + 2, halvings + 1
        if halvings % PATIENCE == 0:
            fine *= 10.0
    return best, best_t, best_u


@bare
def greatest_between(
    lines: Floats,
    counts: Ints,
    at: int,
    factors: Floats,
    number: int,
    cells: Floats,
    first: float,
    last: float,
    known: float,
    enough: float,
    model: int,
    sigma: float,
) -> tuple[float, float, float]:
    """The same between two times of a region."""
    count = cover(lines, counts, at, first, last, cells)
    return greatest(factors, number, cells, count, known, enough, model, sigma)
