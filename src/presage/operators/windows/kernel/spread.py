"""The merge of count, mean and squared distances of two sets: the step of a standard deviation."""

from __future__ import annotations

from presage.arrays.jit import inlined


@inlined
def merged(n: int, mean: float, m2: float, n2: int, mean2: float, m22: float) -> tuple[int, float, float]:
    """After Chan, Golub and LeVeque; exact when one set is empty."""
    if n == 0:
        return n2, mean2, m22
    if n2 == 0:
        return n, mean, m2
    both = n + n2
    delta = mean2 - mean
    return both, mean + delta * (n2 / both), m2 + m22 + delta * delta * (n / both * n2)
