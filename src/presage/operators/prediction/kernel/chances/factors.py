"""Factors of a probability over two pieces: the product at (t, u), and bounds. Called from loops.

A factor is a chance that depends on one linear function z of the two times. Those of `=` and `<>` are constant and are
none. Each of the others is at least p on a strip of z (`level`), and 1 on another (p = 1). Factors about the same
errors are a group: each of them bounds the chance, but in the product stands their `joint_chance`.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.operators.prediction.kernel.chances.ascent import STEEP
from presage.operators.prediction.kernel.chances.joint import joint_chance
from presage.operators.prediction.kernel.chances.likelihood import ABOVE, BEYOND, WITHIN, chance_of
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.regions.regions import add_between

# Columns of a factor: z = Z0 + ZT·t + ZU·u. SIDE: the sign of z, where it is BEYOND. TERM: which term or margin.
# OWNER: the sides whose values it is about. ROLE: whether it stands alone, for its group, or is in another's.
KIND, Z0, ZT, ZU, LIMIT, WIDE, NARROW, SIDE, TERM, OWNER, ROLE = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
# Of one that stands for its group: which of them, the values of both sides as functions of their times, which of them
# is the later, the thresholds; then the bounds, in the order of `shared_errors`.
GROUP, A0, A_RATE, B0, B_RATE, A_LATER, ERROR_A, ERROR_B, BOUNDS = 11, 12, 13, 14, 15, 16, 17, 18, 19
# In how many parts it is log-concave: 2 where both tails of a > or >= count (`factor_parts`).
TAILS = 25
COLUMNS = 26
OF_BOTH, OF_A, OF_B = 0.0, 1.0, 2.0
ALONE, LEADS, FOLLOWS = 0.0, 1.0, 2.0
HALVINGS = 64


@bare
def product_at(factors: Floats, count: int, t: float, u: float, model: int, sigma: float) -> tuple[float, float, float]:
    """The product, and how its logarithm changes with t and with u. What belongs to either side alone is put together
    first, so that exchanging the sides changes no bit."""
    both, both_t, both_u = 1.0, 0.0, 0.0
    of_a, a_t, a_u = 1.0, 0.0, 0.0
    of_b, b_t, b_u = 1.0, 0.0, 0.0
    for i in range(count):
        if factors[i, ROLE] == FOLLOWS:
            continue
        if factors[i, ROLE] == LEADS:
            chance, by_t, by_u = _joint_at(factors, i, t, u, model, sigma)
        else:
            kind = factors[i, KIND]
            z = factors[i, Z0] + factors[i, ZT] * t + factors[i, ZU] * u
            chance, slope = chance_of(kind, z, factors[i, LIMIT], factors[i, WIDE], factors[i, NARROW], model, sigma)
            if chance > 0.0:
                slope /= chance
            else:
                slope = STEEP if kind == ABOVE or (z < 0.0) == (kind == WITHIN) else -STEEP
            by_t, by_u = slope * factors[i, ZT], slope * factors[i, ZU]
        if factors[i, OWNER] == OF_BOTH:
            both, both_t, both_u = both * chance, both_t + by_t, both_u + by_u
        elif factors[i, OWNER] == OF_A:
            of_a, a_t, a_u = of_a * chance, a_t + by_t, a_u + by_u
        else:
            of_b, b_t, b_u = of_b * chance, b_t + by_t, b_u + by_u
    return both * (of_a * of_b), both_t + (a_t + b_t), both_u + (a_u + b_u)


@bare
def _joint_at(factors: Floats, row: int, t: float, u: float, model: int, sigma: float) -> tuple[float, float, float]:
    """Of a group; see `product_at`."""
    a_later = factors[row, A_LATER] > 0.0
    at_a, at_b = (t, u) if a_later else (u, t)
    chance, by_a, by_b = joint_chance(
        factors[row, A0] + factors[row, A_RATE] * at_a,
        factors[row, B0] + factors[row, B_RATE] * at_b,
        factors[row, ERROR_A],
        factors[row, ERROR_B],
        factors[row, BOUNDS],
        factors[row, BOUNDS + 1],
        factors[row, BOUNDS + 2],
        factors[row, BOUNDS + 3],
        factors[row, BOUNDS + 4],
        factors[row, BOUNDS + 5],
        model,
        sigma,
    )
    by_a, by_b = by_a * factors[row, A_RATE], by_b * factors[row, B_RATE]
    return (chance, by_a, by_b) if a_later else (chance, by_b, by_a)


@bare
def greatest_chance(factors: Floats, row: int, model: int, sigma: float) -> float:
    """Wherever z is: WITHIN has its peak at 0."""
    if factors[row, KIND] != WITHIN:
        return 1.0
    return chance_of(WITHIN, 0.0, factors[row, LIMIT], factors[row, WIDE], factors[row, NARROW], model, sigma)[0]


@bare
def level(factors: Floats, row: int, p: float, strict: bool, model: int, sigma: float) -> tuple[bool, float]:
    """Whether the factor reaches p (or, if strict, passes it) at all, and the z at which it does: the greatest |z| for
    WITHIN, the least |z| for BEYOND, the least z for ABOVE. Chances are monotone between the ends searched."""
    kind, limit, wide, narrow = factors[row, KIND], factors[row, LIMIT], factors[row, WIDE], factors[row, NARROW]
    slack = wide + narrow
    within = kind == WITHIN
    low, high = max(0.0, limit - slack), limit + slack
    if kind == ABOVE:
        low, high = -slack, slack
    good, bad = (low, high) if within else (high, low)
    if p >= 1.0:
        return not (within and slack > limit), good
    # First the ends: does it reach p at the good one, does it even at the bad one? Then halving.
    for step in range(-2, HALVINGS):
        at = good if step == -2 else bad if step == -1 else 0.5 * (good + bad)
        here = chance_of(kind, at, limit, wide, narrow, model, sigma)[0]
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
def add_level(
    lines: Floats, counts: Ints, at: int, ends: Floats, factors: Floats, row: int, z: float, is_open: bool, tag: int
) -> bool:
    """The strip on which a factor is as great as at z. False: there is none."""
    low, high = z, np.inf
    if factors[row, KIND] == WITHIN:
        low, high = -z, z
    elif factors[row, KIND] == BEYOND and factors[row, SIDE] < 0.0:
        low, high = -np.inf, -z
    z0, p, q = factors[row, Z0], factors[row, ZT], factors[row, ZU]
    return add_between(lines, counts, at, ends, z0, p, q, low, high, is_open, is_open, tag)
