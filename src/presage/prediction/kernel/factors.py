"""Terms over two pieces come in as factors of a probability; its value at (t, u) and bounds of it go out. For loops.

A factor is a chance that depends on one linear function z of the two times. Those of `=` and `<>` are constant and are
none. Each of the others is at least p on a strip of z (`level`), and 1 on another (p = 1).
"""

from __future__ import annotations

from presage.arrays.jit import Floats, inlined
from presage.prediction.kernel.likelihood import ABOVE, BEYOND, WITHIN, chance_of
from presage.prediction.kernel.regions import TERMS, add_line

# Columns of a factor: z = Z0 + ZT·t + ZU·u. SIDE: the sign of z, where the factor is BEYOND. TERM: which term or margin.
KIND, Z0, ZT, ZU, LIMIT, WIDE, NARROW, SIDE, TERM = 0, 1, 2, 3, 4, 5, 6, 7, 8
COLUMNS = 9
HALVINGS = 64


@inlined
def product_at(factors: Floats, count: int, t: float, u: float, model: int, sigma: float) -> float:
    result = 1.0
    for i in range(count):
        z = factors[i, Z0] + factors[i, ZT] * t + factors[i, ZU] * u
        result *= chance_of(factors[i, KIND], z, factors[i, LIMIT], factors[i, WIDE], factors[i, NARROW], model, sigma)
    return result


@inlined
def level(factor: Floats, p: float, strict: bool, model: int, sigma: float) -> tuple[bool, float]:
    """Whether the factor reaches p (or, if strict, passes it) at all, and the z at which it does: the greatest |z| for WITHIN, the least |z| for
    BEYOND, the least z for ABOVE. Chances are monotone between the ends searched."""
    slack = factor[WIDE] + factor[NARROW]
    limit = factor[LIMIT]
    within = factor[KIND] == WITHIN
    if factor[KIND] == ABOVE:
        low, high = -slack, slack
    else:
        low, high = max(0.0, limit - slack), limit + slack
    good, bad = (low, high) if within else (high, low)
    if p >= 1.0:
        return not (within and slack > limit), good
    # First the ends: does it reach p at the good one, does it even at the bad one? Then halving.
    for step in range(-2, HALVINGS):
        at = good if step == -2 else bad if step == -1 else 0.5 * (good + bad)
        here = chance_of(factor[KIND], at, limit, factor[WIDE], factor[NARROW], model, sigma)
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


@inlined
def add_level(lines: Floats, count: int, bounds: Floats, factor: Floats, at: float, is_open: bool, tag: int) -> int:
    """The strip on which a factor is as great as at z = `at`."""
    z0, p, q = factor[Z0], factor[ZT], factor[ZU]
    if factor[KIND] == WITHIN:
        count = add_line(lines, count, bounds, p, q, at - z0, is_open, tag)
        return add_line(lines, count, bounds, -p, -q, at + z0, is_open, tag)
    if factor[KIND] == BEYOND and factor[SIDE] < 0.0:
        return add_line(lines, count, bounds, p, q, -at - z0, is_open, tag)
    return add_line(lines, count, bounds, -p, -q, z0 - at, is_open, tag)


@inlined
def add_levels(
    lines: Floats, count: int, bounds: Floats, factors: Floats, number: int, levels: Floats, is_open: bool, terms: int
) -> int:
    """The strips of all factors, with tags behind those of the terms."""
    for i in range(number):
        count = add_level(lines, count, bounds, factors[i], levels[i], is_open, TERMS + terms + i)
    return count
