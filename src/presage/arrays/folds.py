"""Running aggregates of each code, over rows that only come.

Every loop is one pass in order of arrival, O(rows). It starts from the accumulators of the step before, so that the
additions are the same however the input is cut, and returns the running values and the accumulators at the end.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from presage.arrays.jit import Bools, Floats, Ints, compiled, inlined

S = TypeVar("S", np.int64, np.float64)


@inlined
def _added(codes: Ints, values: npt.NDArray[S], start: npt.NDArray[S]) -> tuple[npt.NDArray[S], npt.NDArray[S]]:
    total = start.copy()
    out = np.empty(codes.size, values.dtype)
    for i in range(codes.size):
        total[codes[i]] += values[i]
        out[i] = total[codes[i]]
    return out, total


@compiled
def fold_total(codes: Ints, values: Ints, start: Ints) -> tuple[Ints, Ints]:
    return _added(codes, values, start)


@compiled
def fold_sum(codes: Ints, values: Floats, start: Floats) -> tuple[Floats, Floats]:
    return _added(codes, values, start)


@compiled
def fold_least(codes: Ints, keys: Ints, start: Ints) -> tuple[Ints, Ints]:
    least = start.copy()
    out = np.empty(codes.size, np.int64)
    for i in range(codes.size):
        if keys[i] < least[codes[i]]:
            least[codes[i]] = keys[i]
        out[i] = least[codes[i]]
    return out, least


@compiled
def fold_spread(
    codes: Ints, values: Floats, valid: Bools, start_n: Ints, start_mean: Floats, start_m2: Floats
) -> tuple[Floats, Ints, Floats, Floats]:
    """Sum of squared distances from the mean, after Welford: no difference of large sums."""
    n = start_n.copy()
    mean = start_mean.copy()
    m2 = start_m2.copy()
    out = np.empty(codes.size, np.float64)
    for i in range(codes.size):
        g = codes[i]
        if valid[i]:
            n[g] += 1
            delta = values[i] - mean[g]
            mean[g] += delta / n[g]
            m2[g] += delta * (values[i] - mean[g])
        out[i] = m2[g]
    return out, n, mean, m2


@compiled
def running_spread(codes: Ints, values: Floats, valid: Bools, groups: int) -> Floats:
    """As the running values of `fold_spread`, with the additions of Spark's stddev, to the last digit."""
    n = np.zeros(groups, np.float64)
    mean = np.zeros(groups, np.float64)
    m2 = np.zeros(groups, np.float64)
    out = np.empty(codes.size, np.float64)
    for i in range(codes.size):
        g = codes[i]
        if valid[i]:
            n[g] += 1.0
            delta = values[i] - mean[g]
            step = delta / n[g]
            mean[g] += step
            m2[g] += delta * (delta - step)
        out[i] = m2[g]
    return out


@inlined
def merged_spread(n: int, mean: float, m2: float, n2: int, mean2: float, m22: float) -> tuple[int, float, float]:
    """Count, mean and squared distances of two sets together, after Chan, Golub and LeVeque; exact if one is empty."""
    if n == 0:
        return n2, mean2, m22
    if n2 == 0:
        return n, mean, m2
    both = n + n2
    delta = mean2 - mean
    return both, mean + delta * (n2 / both), m2 + m22 + delta * delta * (n / both * n2)
