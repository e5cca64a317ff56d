"""The factors of a probability over two pieces: their product at (t, u), and levels. Called from loops.

A factor is a chance that depends on one linear function z of the two times. Terms with `=` and `<>` have constant
chances and no factor. Each factor is at least p on a strip of z (`level`). Factors with common errors form a group:
each of them bounds the chance, but the product contains their `joint_chance`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats
from presage.operators.prediction.kernel.chances.ascent import STEEP
from presage.operators.prediction.kernel.chances.joint import Bounds, Values, joint_chance, one_sided_chance
from presage.operators.prediction.kernel.chances.likelihood import ABOVE, BEYOND, WITHIN, chance_of
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.regions.regions import Linear, Region, Strip, add_strip
from presage.operators.prediction.kernel.spec import Errors

# Columns of a factor: z = Z0 + ZT·t + ZU·u. SIDE: the sign of z, where it is BEYOND. TERM: which term or margin.
# OWNER: the sides whose values it depends on. ROLE: alone, the leader of a group, or a follower in one.
KIND, Z0, ZT, ZU, LIMIT, WIDE, NARROW, SIDE, TERM, OWNER, ROLE = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
# Of the leader of a group: its number, the values of both sides as functions of their times, which of them is the
# later, the thresholds; then the bounds, in the order of `shared_errors`.
GROUP, A0, A_RATE, B0, B_RATE, A_LATER, ERROR_A, ERROR_B, BOUNDS = 11, 12, 13, 14, 15, 16, 17, 18, 19
# The number of log-concave parts: 2 where both tails of a > or >= count (`factor_parts`).
TAILS = 25
COLUMNS = 26
OF_BOTH, OF_A, OF_B = 0.0, 1.0, 2.0
ALONE, LEADS, FOLLOWS = 0.0, 1.0, 2.0
HALVINGS = 64


class Factors(NamedTuple):
    """The first `number` of `rows` are factors; the distribution of errors."""

    rows: Floats
    number: int
    errors: Errors


@bare
def product_at(factors: Factors, t: float, u: float) -> tuple[float, float, float]:
    """The product, and how its logarithm changes with t and with u. The factors of each side are multiplied first, so
    that exchanging the sides changes no bit."""
    rows, number, errors = factors
    both, both_t, both_u = 1.0, 0.0, 0.0
    of_a, a_t, a_u = 1.0, 0.0, 0.0
    of_b, b_t, b_u = 1.0, 0.0, 0.0
    for i in range(number):
        if rows[i, ROLE] == FOLLOWS:
            continue
        if rows[i, ROLE] == LEADS:
            chance, by_t, by_u = group_at(factors, i, rows[i, BOUNDS + 4], rows[i, BOUNDS + 5], False, t, u)
        else:
            kind = rows[i, KIND]
            z = rows[i, Z0] + rows[i, ZT] * t + rows[i, ZU] * u
            chance, slope = chance_of(kind, z, rows[i, LIMIT], rows[i, WIDE], rows[i, NARROW], errors)
            if chance > 0.0:
                slope /= chance
            else:
                slope = STEEP if kind == ABOVE or (z < 0.0) == (kind == WITHIN) else -STEEP
            by_t, by_u = slope * rows[i, ZT], slope * rows[i, ZU]
        if rows[i, OWNER] == OF_BOTH:
            both, both_t, both_u = both * chance, both_t + by_t, both_u + by_u
        elif rows[i, OWNER] == OF_A:
            of_a, a_t, a_u = of_a * chance, a_t + by_t, a_u + by_u
        else:
            of_b, b_t, b_u = of_b * chance, b_t + by_t, b_u + by_u
    return both * (of_a * of_b), both_t + (a_t + b_t), both_u + (a_u + b_u)


@bare
def group_at(
    factors: Factors, row: int, least: float, most: float, one_sided: bool, t: float, u: float
) -> tuple[float, float, float]:
    """The chance of a group with these bounds of the distance, or (`one_sided`) of the difference, and its slopes."""
    rows, _, errors = factors
    a_later = rows[row, A_LATER] > 0.0
    at_a, at_b = (t, u) if a_later else (u, t)
    rate_a, rate_b = rows[row, A_RATE], rows[row, B_RATE]
    values = Values(
        rows[row, A0] + rate_a * at_a, rows[row, B0] + rate_b * at_b, rows[row, ERROR_A], rows[row, ERROR_B]
    )
    low_a, high_a, low_b, high_b = (
        rows[row, BOUNDS],
        rows[row, BOUNDS + 1],
        rows[row, BOUNDS + 2],
        rows[row, BOUNDS + 3],
    )
    bounds = Bounds(low_a, high_a, low_b, high_b, least, most)
    if one_sided:
        chance, by_a, by_b = one_sided_chance(values, bounds, errors)
    else:
        chance, by_a, by_b = joint_chance(values, bounds, errors)
    by_a, by_b = by_a * rate_a, by_b * rate_b
    return (chance, by_a, by_b) if a_later else (chance, by_b, by_a)


@bare
def greatest_chance(factors: Factors, row: int) -> float:
    """The greatest chance over all z; WITHIN has its peak at 0."""
    rows = factors.rows
    if rows[row, KIND] != WITHIN:
        return 1.0
    return chance_of(WITHIN, 0.0, rows[row, LIMIT], rows[row, WIDE], rows[row, NARROW], factors.errors)[0]


@bare
def level(factors: Factors, row: int, p: float, strict: bool) -> tuple[bool, float]:
    """Whether the factor reaches p (or, if strict, exceeds it) at all, and the z at which it does: the greatest |z| for
    WITHIN, the least |z| for BEYOND, the least z for ABOVE. Chances are monotone between the ends searched."""
    rows = factors.rows
    kind, limit, wide, narrow = rows[row, KIND], rows[row, LIMIT], rows[row, WIDE], rows[row, NARROW]
    slack = wide + narrow
    within = kind == WITHIN
    low, high = max(0.0, limit - slack), limit + slack
    if kind == ABOVE:
        low, high = -slack, slack
    good, bad = (low, high) if within else (high, low)
    if p >= 1.0:
        return not (within and slack > limit), good
    # The good end, the bad end, then bisection.
    for step in range(-2, HALVINGS):
        at = good if step == -2 else bad if step == -1 else 0.5 * (good + bad)
        here = chance_of(kind, at, limit, wide, narrow, factors.errors)[0]
        if step == -2:
            if within and (here < p or (strict and here == p)):
                return False, good
        elif here >= p:
            good = at
            if step == -1:
                break
        else:
            bad = at
    return True, good


@bare
def add_level(region: Region, at: int, factors: Factors, row: int, z: float, is_open: bool, tag: int) -> bool:
    """Require that a factor is at least as great as at z; False if that is impossible."""
    rows = factors.rows
    low, high = z, np.inf
    if rows[row, KIND] == WITHIN:
        low, high = -z, z
    elif rows[row, KIND] == BEYOND and rows[row, SIDE] < 0.0:
        low, high = -np.inf, -z
    of_times = Linear(rows[row, Z0], rows[row, ZT], rows[row, ZU])
    return add_strip(region, at, of_times, Strip(low, high, is_open, is_open), tag)
