"""The chance that conditions with common errors hold together, and its slopes. Called from loops.

A value of a and one of b, each with an error of its own, bounds of each of the two, and bounds of their distance: all
conditions on one attribute, or on one of each side. The wider error is integrated by a formula, the narrower one by
Gauss-Legendre quadrature between the kinks of the integrand, which is linear in between for uniform errors.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from presage.operators.prediction.kernel.chances.ascent import STEEP
from presage.operators.prediction.kernel.chances.likelihood import NORMAL
from presage.operators.prediction.kernel.chances.normal_errors import POINTS, REACH, ROOT, WEIGHTS, erf_between
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.spec import Errors

# Two points are exact for a linear integrand.
_PAIR = math.sqrt(1.0 / 3.0)


class Values(NamedTuple):
    """The predicted values of both sides, and their thresholds."""

    a: float
    b: float
    error_a: float
    error_b: float


class Bounds(NamedTuple):
    """Bounds of A and of B, then of their distance |A − B| or of their difference A − B."""

    low_a: float
    high_a: float
    low_b: float
    high_b: float
    least: float
    most: float


@bare
def joint_chance(values: Values, bounds: Bounds, errors: Errors) -> tuple[float, float, float]:
    """P(A and B within their bounds, least <= |A − B| <= most), and how its logarithm changes with a and with b. A
    `least` below 0 is no bound. At least one of the thresholds is above 0."""
    a, b, error_a, error_b = values
    low_a, high_a, low_b, high_b, least, most = bounds
    # A canonical order of the sides: exchanging them changes no bit.
    turned = error_a > error_b
    if error_a == error_b:
        turned = low_a > low_b if low_a != low_b else high_a > high_b if high_a != high_b else a > b
    if turned:
        values = Values(b, a, error_b, error_a)
        low_a, high_a, low_b, high_b = low_b, high_b, low_a, high_a
    chance, by_a, by_b = 0.0, 0.0, 0.0
    for part in range(2):
        reach, sign = (least, -1.0) if part else (most, 1.0)
        if reach >= 0.0:
            more, more_a, more_b = _within(values, Bounds(low_a, high_a, low_b, high_b, -reach, reach), errors)
            chance, by_a, by_b = chance + sign * more, by_a + sign * more_a, by_b + sign * more_b
    if chance > 0.0:
        by_a, by_b, chance = by_a / chance, by_b / chance, min(1.0, chance)
    else:
        chance = 0.0
        by_a, by_b = _towards(values, Bounds(low_a, high_a, low_b, high_b, least, most))
    return (chance, by_b, by_a) if turned else (chance, by_a, by_b)


@bare
def one_sided_chance(values: Values, bounds: Bounds, errors: Errors) -> tuple[float, float, float]:
    """P(A and B within their bounds, least <= A − B <= most), which is log-concave, and how its logarithm changes with
    a and with b. The slopes are 0 where the chance is 0."""
    turned = values.error_a > values.error_b
    if turned:
        values = Values(values.b, values.a, values.error_b, values.error_a)
        low_a, high_a, low_b, high_b, least, most = bounds
        bounds = Bounds(low_b, high_b, low_a, high_a, -most, -least)
    chance, by_a, by_b = _within(values, bounds, errors)
    if chance > 0.0:
        by_a, by_b, chance = by_a / chance, by_b / chance, min(1.0, chance)
    return (chance, by_b, by_a) if turned else (chance, by_a, by_b)


@bare
def _within(values: Values, bounds: Bounds, errors: Errors) -> tuple[float, float, float]:
    """P of the bounds, of which the last are those of A − B, and how it changes with a and b. `error_a` is the narrower
    one."""
    a, b, error_a, error_b = values
    low_a, high_a, low_b, high_b, least, most = bounds
    model, sigma = errors
    first, last = max(low_a, a - error_a), min(high_a, a + error_a)
    bottom, top = max(low_b, b - error_b), min(high_b, b + error_b)
    if bottom >= top or first > last or (first == last and error_a > 0.0):
        return 0.0, 0.0, 0.0
    if error_a == 0.0:
        return share_within(a, b, error_b, low_b, high_b, least, most, errors)
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
                chance, by_x, moved = share_within(x, b, error_b, low_b, high_b, least, most, errors)
                weight *= half * density_at(x - a, error_a, errors)
                total, by_a, by_b = total + weight * chance, by_a + weight * by_x, by_b + weight * moved
        here = there
    if low_a > a - error_a:
        chance, _, _ = share_within(low_a, b, error_b, low_b, high_b, least, most, errors)
        by_a += density_at(low_a - a, error_a, errors) * chance
    if high_a < a + error_a:
        chance, _, _ = share_within(high_a, b, error_b, low_b, high_b, least, most, errors)
        by_a -= density_at(high_a - a, error_a, errors) * chance
    return total, by_a, by_b


@bare
def share_within(
    x: float, b: float, error: float, low: float, high: float, least: float, most: float, errors: Errors
) -> tuple[float, float, float]:
    """P(low <= B <= high, least <= x − B <= most), and how it changes with x and with b."""
    model, sigma = errors
    bottom, top = max(low, x - most), min(high, x - least)
    first, last = max(bottom, b - error), min(top, b + error)
    if first >= last:
        return 0.0, 0.0, 0.0
    by_x, by_b = 0.0, 0.0
    if top < b + error:
        density = density_at(top - b, error, errors)
        by_b -= density
        by_x += density if top == x - least else 0.0
    if bottom > b - error:
        density = density_at(bottom - b, error, errors)
        by_b += density
        by_x -= density if bottom == x - most else 0.0
    if model == NORMAL:
        scale = ROOT * sigma * error
        chance = 0.5 * erf_between((first - b) / scale, (last - b) / scale) / math.erf(error / scale)
    else:
        chance = (last - first) / (2.0 * error)
    return chance, by_x, by_b


@bare
def density_at(e: float, error: float, errors: Errors) -> float:
    model, sigma = errors
    if model != NORMAL:
        return 0.5 / error
    deviation = sigma * error
    return math.exp(-0.5 * (e / deviation) ** 2) / (
        math.sqrt(2.0 * math.pi) * deviation * math.erf(1.0 / (ROOT * sigma))
    )


@bare
def _towards(values: Values, bounds: Bounds) -> tuple[float, float]:
    """Slopes where the chance is 0: they point to where it may be positive."""
    a, b, error_a, error_b = values
    low_a, high_a, low_b, high_b, least, most = bounds
    by_a = STEEP if a + error_a <= low_a else -STEEP if a - error_a >= high_a else 0.0
    by_b = STEEP if b + error_b <= low_b else -STEEP if b - error_b >= high_b else 0.0
    if by_a == 0.0 and by_b == 0.0:
        apart = max(low_a, a - error_a) - min(high_b, b + error_b)
        back = max(low_b, b - error_b) - min(high_a, a + error_a)
        if max(apart, back) >= most:
            by_a = -STEEP if apart > back else STEEP
        elif least >= 0.0:
            by_a = STEEP if a >= b else -STEEP
        by_b = -by_a
    return by_a, by_b
