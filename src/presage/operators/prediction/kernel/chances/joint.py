"""The chance that conditions which share errors hold together, and its slopes. Called from loops.

A value of a and one of b, each with an error of its own, bounds for each of the two, and bounds for their distance: all
that can be said of one attribute, or of one of each side. The wider error is integrated as a formula, over the narrower
Gauss and Legendre, cut where the integrand has a kink. Of uniform errors it is linear in between.
"""

from __future__ import annotations

import math

from presage.operators.prediction.kernel.chances.ascent import STEEP
from presage.operators.prediction.kernel.chances.likelihood import NORMAL
from presage.operators.prediction.kernel.chances.normal_errors import POINTS, REACH, ROOT, WEIGHTS, erf_between
from presage.operators.prediction.kernel.jit import bare

# Of a linear integrand two points are enough.
_PAIR = math.sqrt(1.0 / 3.0)


@bare
def joint_chance(
    a: float,
    b: float,
    error_a: float,
    error_b: float,
    low_a: float,
    high_a: float,
    low_b: float,
    high_b: float,
    nearer: float,
    farther: float,
    model: int,
    sigma: float,
) -> tuple[float, float, float]:
    """P(low_a <= A <= high_a, low_b <= B <= high_b, nearer <= |A − B| <= farther), and how its logarithm changes with a
    and with b. `nearer` below 0: as near as they like. One of the errors is above 0."""
    # Exchanging the sides changes no bit: which comes first is told by what they are.
    turned = error_a > error_b
    if error_a == error_b:
        turned = low_a > low_b if low_a != low_b else high_a > high_b if high_a != high_b else a > b
    if turned:
        a, error_a, low_a, high_a, b, error_b, low_b, high_b = b, error_b, low_b, high_b, a, error_a, low_a, high_a
    chance, by_a, by_b = 0.0, 0.0, 0.0
    for part in range(2):
        reach, sign = (nearer, -1.0) if part else (farther, 1.0)
        if reach >= 0.0:
            more, more_a, more_b = _within(
                a, b, error_a, error_b, low_a, high_a, low_b, high_b, -reach, reach, model, sigma
            )
            chance, by_a, by_b = chance + sign * more, by_a + sign * more_a, by_b + sign * more_b
    if chance > 0.0:
        by_a, by_b, chance = by_a / chance, by_b / chance, min(1.0, chance)
    else:
        chance = 0.0
        by_a, by_b = _towards(a, b, error_a, error_b, low_a, high_a, low_b, high_b, nearer, farther)
    return (chance, by_b, by_a) if turned else (chance, by_a, by_b)


@bare
def one_sided_chance(
    a: float,
    b: float,
    error_a: float,
    error_b: float,
    low_a: float,
    high_a: float,
    low_b: float,
    high_b: float,
    least: float,
    most: float,
    model: int,
    sigma: float,
) -> tuple[float, float, float]:
    """P(low_a <= A <= high_a, low_b <= B <= high_b, least <= A − B <= most), and how its logarithm changes with a and
    with b: log-concave. No slopes where there is no chance."""
    turned = error_a > error_b
    if turned:
        a, error_a, low_a, high_a, b, error_b, low_b, high_b = b, error_b, low_b, high_b, a, error_a, low_a, high_a
        least, most = -most, -least
    chance, by_a, by_b = _within(a, b, error_a, error_b, low_a, high_a, low_b, high_b, least, most, model, sigma)
    if chance > 0.0:
        by_a, by_b, chance = by_a / chance, by_b / chance, min(1.0, chance)
    return (chance, by_b, by_a) if turned else (chance, by_a, by_b)


@bare
def _within(
    a: float,
    b: float,
    error_a: float,
    error_b: float,
    low_a: float,
    high_a: float,
    low_b: float,
    high_b: float,
    least: float,
    most: float,
    model: int,
    sigma: float,
) -> tuple[float, float, float]:
    """P of the bounds and of least <= A − B <= most, and how it changes with a and b. `error_a` is the narrower."""
    first, last = max(low_a, a - error_a), min(high_a, a + error_a)
    bottom, top = max(low_b, b - error_b), min(high_b, b + error_b)
    if bottom >= top or first > last or (first == last and error_a > 0.0):
        return 0.0, 0.0, 0.0
    if error_a == 0.0:
        return share_within(a, b, error_b, low_b, high_b, least, most, model, sigma)
    if model == NORMAL:
        first, last = max(first, a - REACH * sigma * error_a), min(last, a + REACH * sigma * error_a)
    total, by_a, by_b = 0.0, 0.0, 0.0
    here = first
    while here < last:
        # Up to the next kink.
        there = last
        for kink in (bottom + least, top + least, bottom + most, top + most):
            if here < kink < there:
                there = kink
        panels = 1
        if model == NORMAL:
            panels = int(max(1.0, math.ceil((there - here) / (2.0 * sigma * error_a))))
        half = 0.5 * (there - here) / panels
        for panel in range(panels):
            middle = here + (2 * panel + 1) * half
            for k in range(len(POINTS) if model == NORMAL else 2):
                point, weight = (POINTS[k], WEIGHTS[k]) if model == NORMAL else ((2 * k - 1) * _PAIR, 1.0)
                x = middle + half * point
                chance, by_x, moved = share_within(x, b, error_b, low_b, high_b, least, most, model, sigma)
                weight *= half * density_at(x - a, error_a, model, sigma)
                total, by_a, by_b = total + weight * chance, by_a + weight * by_x, by_b + weight * moved
        here = there
    if low_a > a - error_a:
        chance, _, _ = share_within(low_a, b, error_b, low_b, high_b, least, most, model, sigma)
        by_a += density_at(low_a - a, error_a, model, sigma) * chance
    if high_a < a + error_a:
        chance, _, _ = share_within(high_a, b, error_b, low_b, high_b, least, most, model, sigma)
        by_a -= density_at(high_a - a, error_a, model, sigma) * chance
    return total, by_a, by_b


@bare
def share_within(
    x: float, b: float, error: float, low: float, high: float, least: float, most: float, model: int, sigma: float
) -> tuple[float, float, float]:
    """P(low <= B <= high, least <= x − B <= most), and how it changes with x and with b."""
    bottom, top = max(low, x - most), min(high, x - least)
    first, last = max(bottom, b - error), min(top, b + error)
    if first >= last:
        return 0.0, 0.0, 0.0
    by_x, by_b = 0.0, 0.0
    if top < b + error:
        density = density_at(top - b, error, model, sigma)
        by_b -= density
        by_x += density if top == x - least else 0.0
    if bottom > b - error:
        density = density_at(bottom - b, error, model, sigma)
        by_b += density
        by_x -= density if bottom == x - most else 0.0
    if model == NORMAL:
        scale = ROOT * sigma * error
        chance = 0.5 * erf_between((first - b) / scale, (last - b) / scale) / math.erf(error / scale)
    else:
        chance = (last - first) / (2.0 * error)
    return chance, by_x, by_b


@bare
def density_at(e: float, error: float, model: int, sigma: float) -> float:
    if model != NORMAL:
        return 0.5 / error
    deviation = sigma * error
    return math.exp(-0.5 * (e / deviation) ** 2) / (
        math.sqrt(2.0 * math.pi) * deviation * math.erf(1.0 / (ROOT * sigma))
    )


@bare
def _towards(
    a: float,
    b: float,
    error_a: float,
    error_b: float,
    low_a: float,
    high_a: float,
    low_b: float,
    high_b: float,
    nearer: float,
    farther: float,
) -> tuple[float, float]:
    """Where there is no chance: the way to where there may be one."""
    by_a = STEEP if a + error_a <= low_a else -STEEP if a - error_a >= high_a else 0.0
    by_b = STEEP if b + error_b <= low_b else -STEEP if b - error_b >= high_b else 0.0
    if by_a == 0.0 and by_b == 0.0:
        apart = max(low_a, a - error_a) - min(high_b, b + error_b)
        back = max(low_b, b - error_b) - min(high_a, a + error_a)
        if max(apart, back) >= farther:
            by_a = -STEEP if apart > back else STEEP
        elif nearer >= 0.0:
            by_a = STEEP if a >= b else -STEEP
        by_b = -by_a
    return by_a, by_b
