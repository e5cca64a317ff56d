"""A region of (t, u) and factors come in; the greatest probability, and where it passes p, go out. Called from loops.

For a given t, the best u; over t, the best of those. Where the product is log-concave (all of <=, <, value terms, and >
or >= as long as |z| + K reaches the sum of the thresholds) it has one peak in u, its greatest value one peak in t, and
the times at which it reaches p are an interval: `parts` is 1, and the search is exact to the width of a golden section.
Elsewhere `parts` is more: each part is searched as if it had one peak, so that a second one, narrower than a part, may
be missed.
"""

from __future__ import annotations

from presage.arrays.jit import Floats, Ints
from presage.prediction.kernel.bare import bare
from presage.prediction.kernel.factors import product_at
from presage.prediction.kernel.regions import slice_at

GOLDEN = 0.6180339887498949
# 0.618 ** 58 is below 1e-12, as a part of the width searched.
STEPS = 58
# Seconds: a tenth of a nanosecond.
FINE = 1e-10
EDGE_STEPS = 80


@bare
def peak_over_u(
    lines: Floats, counts: Ints, at: int, factors: Floats, number: int, t: float, parts: int, model: int, sigma: float
) -> float:
    """The greatest product over the u that `lines[at]` allow with t. One call of `product_at` in the loop, whatever is
    asked: every place that calls it is compiled anew."""
    first, last = slice_at(lines, counts, at, t)
    width = (last - first) / parts
    best = 0.0
    for part in range(parts):
        low, high = first + part * width, first + (part + 1) * width
        a, b, at_a, at_b = low, high, 0.0, 0.0
        for step in range(-4, STEPS):
            # Both ends, the two inner points, then one new inner point each time.
            left = step == -4 or step == -2
            if step == -2:
                a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
            elif step >= 0:
                if high - low < FINE or best >= 1.0:
                    break
                left = at_a >= at_b
                if left:
                    high, b, at_b = b, a, at_a
                    a = high - GOLDEN * (high - low)
                else:
                    low, a, at_a = a, b, at_b
                    b = low + GOLDEN * (high - low)
            here = product_at(factors, number, t, a if left else b, model, sigma)
            best = max(best, here)
            if left:
                at_a = here
            else:
                at_b = here
    return best


@bare
def peak_over_t(
    lines: Floats,
    counts: Ints,
    at: int,
    factors: Floats,
    number: int,
    low: float,
    high: float,
    parts: int,
    model: int,
    sigma: float,
) -> tuple[float, float]:
    """Where between two times the product is greatest, and how great: one peak is assumed. Searched as u is."""
    where, best = low, -1.0
    a, b, at_a, at_b = low, high, 0.0, 0.0
    for step in range(-4, STEPS):
        left = step == -4 or step == -2
        if step == -2:
            a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        elif step >= 0:
            if high - low < FINE or best >= 1.0:
                break
            left = at_a >= at_b
            if left:
                high, b, at_b = b, a, at_a
                a = high - GOLDEN * (high - low)
            else:
                low, a, at_a = a, b, at_b
                b = low + GOLDEN * (high - low)
        t = a if left else b
        here = peak_over_u(lines, counts, at, factors, number, t, parts, model, sigma)
        if here > best:
            where, best = t, here
        if left:
            at_a = here
        else:
            at_b = here
    return where, best


@bare
def edge(
    lines: Floats,
    counts: Ints,
    at: int,
    factors: Floats,
    number: int,
    outside: float,
    inside: float,
    p: float,
    parts: int,
    model: int,
    sigma: float,
) -> tuple[bool, float]:
    """Where the greatest product over u passes p, between a time outside and one inside at which it reaches p. Whether
    it passes there; else it is as great already at `outside`. Regula falsi, every third step halves."""
    over, under = 0.0, 0.0
    middle = outside
    for step in range(EDGE_STEPS):
        if step > 0:
            if abs(inside - outside) < FINE:
                break
            share = 0.5 if step % 3 == 1 or over <= 0.0 else over / (over - under)
            # Never onto an end itself, or the other one would stay where it is.
            share = min(max(share, 0.001), 0.999)
            middle = inside + share * (outside - inside)
        here = peak_over_u(lines, counts, at, factors, number, middle, parts, model, sigma) - p
        if here < 0.0:
            outside, under = middle, here
            over *= 0.5
        elif step == 0:
            return False, outside
        else:
            inside, over = middle, here
            under *= 0.5
    return True, inside
