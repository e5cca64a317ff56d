"""Terms over two pieces come in as factors of a probability; its value at (t, u) and bounds of it go out. For loops.

A factor is a chance that depends on one linear function z of the two times. Those of `=` and `<>` are constant and are
none. Each of the others is at least p on a strip of z (`level`), and 1 on another (p = 1).
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.prediction.kernel.bare import bare
from presage.prediction.kernel.likelihood import ABOVE, BEYOND, WITHIN, chance_of
from presage.prediction.kernel.regions import add_between

# Columns of a factor: z = Z0 + ZT·t + ZU·u. SIDE: the sign of z, where it is BEYOND. TERM: which term or margin.
KIND, Z0, ZT, ZU, LIMIT, WIDE, NARROW, SIDE, TERM = 0, 1, 2, 3, 4, 5, 6, 7, 8
COLUMNS = 9
HALVINGS = 64


@bare
def product_at(factors: Floats, count: int, t: float, u: float, model: int, sigma: float) -> float:
    result = 1.0
    for i in range(count):
        z = factors[i, Z0] + factors[i, ZT] * t + factors[i, ZU] * u
        result *= chance_of(factors[i, KIND], z, factors[i, LIMIT], factors[i, WIDE], factors[i, NARROW], model, sigma)
    return result


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
        here = chance_of(kind, at, limit, wide, narrow, model, sigma)
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
