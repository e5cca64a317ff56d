"""Moments of pairs of numbers: their count, both means, sums of squared distances from these, and of their products.

A row of six doubles each. They are merged after Chan, Golub and LeVeque: no difference of large sums. A pair of which
a number is not finite makes its sums NaN.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, inlined

WIDTH = 6
COUNT, MEAN_X, MEAN_Y, XX, YY, XY = range(WIDTH)


@inlined
def one_pair(x: float, y: float, valid: bool, into: Floats) -> None:
    """The moments of one pair; of none, if it is not valid."""
    into[:] = 0.0
    if valid:
        into[0] = 1.0
        into[1] = x
        into[2] = y
        # x - x is 0, or NaN for an x that is not finite.
        into[3] = x - x
        into[4] = y - y
        into[5] = (x - x) + (y - y)


@inlined
def merge_pairs(a: Floats, b: Floats, into: Floats) -> None:
    """The moments of two sets together, which may overwrite one of them; exact if one is empty."""
    if b[0] == 0.0:
        into[:] = a
        return
    if a[0] == 0.0:
        into[:] = b
        return
    both = a[0] + b[0]
    share = b[0] / both
    dx = b[1] - a[1]
    dy = b[2] - a[2]
    weight = a[0] * share
    # `weight` goes to one factor: equal numbers have distances that are exactly 0.
    into[3] = a[3] + b[3] + dx * dx * weight
    into[4] = a[4] + b[4] + dy * dy * weight
    into[5] = a[5] + b[5] + dx * dy * weight
    into[1] = a[1] + dx * share
    into[2] = a[2] + dy * share
    into[0] = both


@compiled
def fold_pairs(codes: Ints, x: Floats, y: Floats, valid: Bools, start: Floats) -> tuple[Floats, Floats]:
    """The running moments of each code after each row, and those at the end; `start` has a row for each code."""
    total = start.copy()
    out = np.empty((codes.size, 6), np.float64)
    pair = np.empty(6, np.float64)
    for i in range(codes.size):
        one_pair(x[i], y[i], valid[i], pair)
        merge_pairs(total[codes[i]], pair, total[codes[i]])
        out[i] = total[codes[i]]
    return out, total
