"""Parts of a factor at a place, and what it cannot exceed nearby. Called from loops.

The chance of > or >= where both tails count is not log-concave. It is the sum of two chances that are: that one value
is above the other by more than K, and that it is below it by more. And it is the difference of two that are: of all,
and of what is too near. So is that of a group, with what else is said of its two values. What is log-concave lies
below its tangents, and above the straight line of its logarithm between places: so sums are bounded from below
(`likely_times`) and differences from above (`summits`).
"""

from __future__ import annotations

from presage.arrays.jit import Floats
from presage.operators.prediction.kernel.chances.factors import (
    A0,
    A_LATER,
    A_RATE,
    B0,
    B_RATE,
    BOUNDS,
    ERROR_A,
    ERROR_B,
    GROUP,
    KIND,
    LEADS,
    LIMIT,
    NARROW,
    ROLE,
    TAILS,
    WIDE,
    Z0,
    ZT,
    ZU,
)
from presage.operators.prediction.kernel.chances.joint import joint_chance, one_sided_chance
from presage.operators.prediction.kernel.chances.likelihood import ABOVE, BEYOND, WITHIN, chance_of
from presage.operators.prediction.kernel.jit import bare


@bare
def part_at(
    factors: Floats, row: int, part: int, t: float, u: float, model: int, sigma: float
) -> tuple[float, float, float]:
    """A part (of one or two, see TAILS) at a place, and how its logarithm changes with t and with u; where it is 0, no
    slopes."""
    two = factors[row, TAILS] > 1.0
    if factors[row, ROLE] == LEADS:
        least, most = factors[row, BOUNDS + 4], factors[row, BOUNDS + 5]
        if two and part:
            least, most = -most, -least
        return _group_at(factors, row, least, most, t, u, model, sigma, two)
    kind, limit = factors[row, KIND], factors[row, LIMIT]
    z = factors[row, Z0] + factors[row, ZT] * t + factors[row, ZU] * u
    sign = 1.0
    if two:
        # z + e > limit, or -z - e > limit, e being symmetric.
        sign = -1.0 if part else 1.0
        kind, z = ABOVE, sign * z - limit
    chance, slope = chance_of(kind, z, limit, factors[row, WIDE], factors[row, NARROW], model, sigma)
    if chance <= 0.0:
        return 0.0, 0.0, 0.0
    slope *= sign / chance
    return chance, slope * factors[row, ZT], slope * factors[row, ZU]


@bare
def _group_at(
    factors: Floats,
    row: int,
    least: float,
    most: float,
    t: float,
    u: float,
    model: int,
    sigma: float,
    one_sided: bool = False,
) -> tuple[float, float, float]:
    """The chance of a group with other bounds for the distance, or (`one_sided`) for the difference."""
    a_later = factors[row, A_LATER] > 0.0
    at_a, at_b = (t, u) if a_later else (u, t)
    a, b = factors[row, A0] + factors[row, A_RATE] * at_a, factors[row, B0] + factors[row, B_RATE] * at_b
    error_a, error_b = factors[row, ERROR_A], factors[row, ERROR_B]
    low_a, high_a = factors[row, BOUNDS], factors[row, BOUNDS + 1]
    low_b, high_b = factors[row, BOUNDS + 2], factors[row, BOUNDS + 3]
    if one_sided:
        chance, by_a, by_b = one_sided_chance(
            a, b, error_a, error_b, low_a, high_a, low_b, high_b, least, most, model, sigma
        )
    else:
        chance, by_a, by_b = joint_chance(
            a, b, error_a, error_b, low_a, high_a, low_b, high_b, least, most, model, sigma
        )
    if chance <= 0.0:
        return 0.0, 0.0, 0.0
    by_a, by_b = by_a * factors[row, A_RATE], by_b * factors[row, B_RATE]
    return (chance, by_a, by_b) if a_later else (chance, by_b, by_a)


@bare
def without_near(
    factors: Floats, row: int, near: bool, t: float, u: float, model: int, sigma: float
) -> tuple[float, float, float]:
    """Of a factor with two tails, which is the difference of two that are log-concave: all that is not too far, or
    (`near`) what is too near. And how the logarithm changes with t and with u, if it is not 0."""
    if factors[row, ROLE] == LEADS:
        farther = factors[row, BOUNDS + 4] if near else factors[row, BOUNDS + 5]
        return _group_at(factors, row, -1.0, farther, t, u, model, sigma)
    if not near:
        return 1.0, 0.0, 0.0
    z = factors[row, Z0] + factors[row, ZT] * t + factors[row, ZU] * u
    return (
        chance_of(WITHIN, z, factors[row, LIMIT], factors[row, WIDE], factors[row, NARROW], model, sigma)[0],
        0.0,
        0.0,
    )


@bare
def cap_of(
    factors: Floats,
    number: int,
    row: int,
    t: tuple[float, float, float],
    u: tuple[float, float, float],
    model: int,
    sigma: float,
) -> float:
    """What a factor cannot exceed within a triangle: each of the chances that it is about grows or shrinks with z."""
    cap = 1.0
    for i in range(number):
        if i != row and (factors[row, ROLE] != LEADS or factors[i, GROUP] != factors[row, GROUP]):
            continue
        z0, by_t, by_u = factors[i, Z0], factors[i, ZT], factors[i, ZU]
        first, second, third = (
            z0 + by_t * t[0] + by_u * u[0],
            z0 + by_t * t[1] + by_u * u[1],
            z0 + by_t * t[2] + by_u * u[2],
        )
        least, most = min(first, second, third), max(first, second, third)
        kind, z = factors[i, KIND], most
        if kind == BEYOND:
            z = max(-least, most)
        elif kind == WITHIN:
            z = 0.0 if least < 0.0 < most else min(abs(least), abs(most))
        limit, wide, narrow = factors[i, LIMIT], factors[i, WIDE], factors[i, NARROW]
        cap = min(cap, chance_of(kind, z, limit, wide, narrow, model, sigma)[0])
    return cap


@bare
def has_no_chance(factors: Floats, row: int, t: tuple[float, float, float], u: tuple[float, float, float]) -> bool:
    """Whether a group is 0 all over a triangle: one of the conditions without which there is no chance, all of them
    linear, fails at its three corners."""
    if factors[row, ROLE] != LEADS:
        return False
    error_a, error_b = factors[row, ERROR_A], factors[row, ERROR_B]
    low_a, high_a = factors[row, BOUNDS], factors[row, BOUNDS + 1]
    low_b, high_b, farther = factors[row, BOUNDS + 2], factors[row, BOUNDS + 3], factors[row, BOUNDS + 5]
    fails = (1 << 12) - 1
    for k in range(3):
        at_a, at_b = (t[k], u[k]) if factors[row, A_LATER] > 0.0 else (u[k], t[k])
        a, b = factors[row, A0] + factors[row, A_RATE] * at_a, factors[row, B0] + factors[row, B_RATE] * at_b
        failed, bit = 0, 1
        for top in (high_a, a + error_a):
            for bottom in (low_b, b - error_b):
                failed |= bit if top - bottom < -farther else 0
                bit <<= 1
        for bottom in (low_a, a - error_a):
            for top in (high_b, b + error_b):
                failed |= bit if bottom - top > farther else 0
                bit <<= 1
        failed |= (bit if a + error_a < low_a else 0) | (2 * bit if a - error_a > high_a else 0)
        failed |= (4 * bit if b + error_b < low_b else 0) | (8 * bit if b - error_b > high_b else 0)
        fails &= failed
    return fails != 0
