"""Parts of a factor at a place, and upper bounds of it within a triangle. Called from loops.

The chance of > or >= where both tails count is not log-concave. It is the sum of two log-concave chances: that one
value is above the other by more than K, and that it is below by more. It is also the difference of two: of everything,
and of what is too near. The same holds for a group. A log-concave function lies below its tangents, and between two
places above the straight line of its logarithm: so sums are bounded from below (`likely_times`) and differences from
above (`summits`).
"""

from __future__ import annotations

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
    Factors,
    group_at,
)
from presage.operators.prediction.kernel.chances.likelihood import ABOVE, BEYOND, WITHIN, chance_of
from presage.operators.prediction.kernel.jit import bare

Corners = tuple[float, float, float]


@bare
def part_at(factors: Factors, row: int, part: int, t: float, u: float) -> tuple[float, float, float]:
    """One of the one or two parts (see TAILS) at a place, and how its logarithm changes with t and with u; the slopes
    are 0 where it is 0."""
    rows, _, errors = factors
    two = rows[row, TAILS] > 1.0
    if rows[row, ROLE] == LEADS:
        least, most = rows[row, BOUNDS + 4], rows[row, BOUNDS + 5]
        if two and part:
            least, most = -most, -least
        return _no_slopes_at_zero(group_at(factors, row, least, most, two, t, u))
    kind, limit = rows[row, KIND], rows[row, LIMIT]
    z = rows[row, Z0] + rows[row, ZT] * t + rows[row, ZU] * u
    sign = 1.0
    if two:
        # z + e > limit, or -z - e > limit, e being symmetric.
        sign = -1.0 if part else 1.0
        kind, z = ABOVE, sign * z - limit
    chance, slope = chance_of(kind, z, limit, rows[row, WIDE], rows[row, NARROW], errors)
    if chance <= 0.0:
        return 0.0, 0.0, 0.0
    slope *= sign / chance
    return chance, slope * rows[row, ZT], slope * rows[row, ZU]


@bare
def _no_slopes_at_zero(found: tuple[float, float, float]) -> tuple[float, float, float]:
    return found if found[0] > 0.0 else (0.0, 0.0, 0.0)


@bare
def without_near(factors: Factors, row: int, near: bool, t: float, u: float) -> tuple[float, float, float]:
    """One of the two log-concave chances whose difference is a factor with two tails: of all that is not too far, or
    (`near`) of what is too near. And how its logarithm changes with t and with u."""
    rows, _, errors = factors
    if rows[row, ROLE] == LEADS:
        most = rows[row, BOUNDS + 4] if near else rows[row, BOUNDS + 5]
        return _no_slopes_at_zero(group_at(factors, row, -1.0, most, False, t, u))
    if not near:
        return 1.0, 0.0, 0.0
    z = rows[row, Z0] + rows[row, ZT] * t + rows[row, ZU] * u
    return chance_of(WITHIN, z, rows[row, LIMIT], rows[row, WIDE], rows[row, NARROW], errors)[0], 0.0, 0.0


@bare
def cap_of(factors: Factors, row: int, t: Corners, u: Corners) -> float:
    """An upper bound of a factor within a triangle: each of its chances is monotone in |z| or z."""
    rows, number, errors = factors
    cap = 1.0
    for i in range(number):
        if i != row and (rows[row, ROLE] != LEADS or rows[i, GROUP] != rows[row, GROUP]):
            continue
        z0, by_t, by_u = rows[i, Z0], rows[i, ZT], rows[i, ZU]
        first, second, third = (
            z0 + by_t * t[0] + by_u * u[0],
            z0 + by_t * t[1] + by_u * u[1],
            z0 + by_t * t[2] + by_u * u[2],
        )
        least, most = min(first, second, third), max(first, second, third)
        kind, z = rows[i, KIND], most
        if kind == BEYOND:
            z = max(-least, most)
        elif kind == WITHIN:
            z = 0.0 if least < 0.0 < most else min(abs(least), abs(most))
        cap = min(cap, chance_of(kind, z, rows[i, LIMIT], rows[i, WIDE], rows[i, NARROW], errors)[0])
    return cap


@bare
def has_no_chance(factors: Factors, row: int, t: Corners, u: Corners) -> bool:
    """Whether a group is 0 all over a triangle: one of its necessary conditions, all of them linear, fails at all three
    corners."""
    rows = factors.rows
    if rows[row, ROLE] != LEADS:
        return False
    error_a, error_b = rows[row, ERROR_A], rows[row, ERROR_B]
    low_a, high_a = rows[row, BOUNDS], rows[row, BOUNDS + 1]
    low_b, high_b, farther = rows[row, BOUNDS + 2], rows[row, BOUNDS + 3], rows[row, BOUNDS + 5]
    fails = (1 << 12) - 1
    for k in range(3):
        at_a, at_b = (t[k], u[k]) if rows[row, A_LATER] > 0.0 else (u[k], t[k])
        a, b = rows[row, A0] + rows[row, A_RATE] * at_a, rows[row, B0] + rows[row, B_RATE] * at_b
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
