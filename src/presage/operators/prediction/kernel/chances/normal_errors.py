"""The difference of two truncated normal errors: its density, and the chance that it exceeds a number.

An error is normal with deviation sigma · threshold, truncated at ± threshold. One of the two is integrated by a
formula, the other by Gauss-Legendre quadrature on panels of at most two deviations between the kinks: accurate to
1e-12."""

from __future__ import annotations

import math

import numpy as np

from presage.operators.prediction.kernel.jit import bare

_points, _weights = np.polynomial.legendre.leggauss(12)
POINTS, WEIGHTS = tuple(float(x) for x in _points), tuple(float(w) for w in _weights)
ROOT = math.sqrt(2.0)
# An error beyond so many deviations has a chance of 1e-18 and is ignored.
REACH = 9.0


@bare
def erf_between(low: float, high: float) -> float:
    """erf(high) - erf(low), by erfc far from 0, where both are 1 to the last digit."""
    if low > 0.0:
        return math.erfc(low) - math.erfc(high)
    if high < 0.0:
        return math.erfc(-high) - math.erfc(-low)
    return math.erf(high) - math.erf(low)


@bare
def _tail(x: float, scale: float, edge: float, rest: float) -> float:
    """P(e > x) of one error within its threshold; `edge` and `rest`: erf and erfc at the threshold."""
    return 0.5 * (math.erfc(x / scale) - rest) / edge


@bare
def normal_density(x: float, wide: float, narrow: float, sigma: float) -> float:
    """The density at x >= 0. The product of two normal densities is a normal density times a constant."""
    if x >= wide + narrow:
        return 0.0
    edge = math.erf(1.0 / (ROOT * sigma))
    spread = sigma * math.hypot(wide, narrow)
    density = math.exp(-0.5 * (x / spread) ** 2) / (math.sqrt(2.0 * math.pi) * spread * edge)
    if narrow == 0.0:
        return density
    # e = v - w with |v| <= wide, |w| <= narrow: v lies between these two, around the middle.
    first, last = max(-wide, x - narrow), min(wide, x + narrow)
    middle = x * (wide / math.hypot(wide, narrow)) ** 2
    scale = ROOT * sigma * wide * narrow / math.hypot(wide, narrow)
    return density * 0.5 * erf_between((first - middle) / scale, (last - middle) / scale) / edge


@bare
def normal_survival(x: float, wide: float, narrow: float, sigma: float) -> float:
    """P(e > x) for x >= 0; `wide` > 0 is the greater threshold, `narrow` >= 0 the other."""
    if x >= wide + narrow:
        return 0.0
    # Both are truncated at the same number of deviations. Calls of erf dominate the cost: one for each point.
    edge, rest = math.erf(1.0 / (ROOT * sigma)), math.erfc(1.0 / (ROOT * sigma))
    deviation, scale = sigma * narrow, ROOT * sigma * wide
    if narrow == 0.0:
        return _tail(x, scale, edge, rest)
    # e = v - w with |v| <= wide, |w| <= narrow: v > x + w is sure below `first`, impossible above `last`.
    first, last = max(-narrow, -wide - x), min(narrow, wide - x)
    total = 0.0
    if first > -narrow:
        total += 1.0 - _tail(first, ROOT * deviation, edge, rest)
    first, last = max(first, -REACH * deviation), min(last, REACH * deviation)
    if last <= first:
        return total
    panels = int(max(1.0, math.ceil((last - first) / (2.0 * deviation))))
    half = 0.5 * (last - first) / panels
    norm = 1.0 / (math.sqrt(2.0 * math.pi) * deviation * edge)
    for panel in range(panels):
        middle = first + (2 * panel + 1) * half
        part = 0.0
        for k in range(len(POINTS)):
            w = middle + half * POINTS[k]
            part += WEIGHTS[k] * math.exp(-0.5 * (w / deviation) ** 2) * _tail(x + w, scale, edge, rest)
        total += part * half * norm
    return total
