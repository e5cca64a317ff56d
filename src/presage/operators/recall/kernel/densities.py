"""Kernel densities over cells: how rare a number is (IDF), and how alike two are."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, inlined

# Kernels farther away than so many bandwidths count as 0: they are 1e-32 for single values, 1e-18 for bins.
REACH, BINNED_REACH = 12.0, 9.0
# The IDF of a term that all events hold: it still counts a little.
LEAST_IDF = 1.0


@inlined
def idf(events: float, holding: float) -> float:
    """The rarity of a term that `holding` of the events hold."""
    rare: float = np.log((1.0 + events) / (1.0 + holding)) + LEAST_IDF
    return rare


@inlined
def alike(x: float, y: float, bandwidth: float) -> float:
    """The kernel: 1 for equal numbers."""
    if bandwidth == 0.0:
        return 1.0 if x == y else 0.0
    apart = (x - y) / bandwidth
    near: float = np.exp(-0.5 * apart * apart)
    return near


@inlined
def idf_of_value(cell: int, first: int, stop: int, at: Floats, held: Floats, count: float, bandwidth: float) -> float:
    """IDF of a cell that is one value: the kernels of all values add up to the events that hold it."""
    if bandwidth == 0.0:
        return idf(count, held[cell])
    total = 0.0
    i = cell
    while i >= first and (at[cell] - at[i]) / bandwidth < REACH:
        total += held[i] * alike(at[i], at[cell], bandwidth)
        i -= 1
    i = cell + 1
    while i < stop and (at[i] - at[cell]) / bandwidth < REACH:
        total += held[i] * alike(at[i], at[cell], bandwidth)
        i += 1
    return idf(count, total)


@inlined
def kernel_by_bins(width: float, bandwidth: float) -> Floats:
    """The kernel at each whole number of bins."""
    reach = int(BINNED_REACH * bandwidth / width) + 1
    apart = np.arange(reach + 1) * (width / bandwidth)
    return np.exp(-0.5 * apart * apart)


@inlined
def idf_of_bin(
    cell: int,
    first: int,
    stop: int,
    at: Floats,
    held: Floats,
    moment: Floats,
    kernel: Floats,
    count: float,
    width: float,
    bandwidth: float,
) -> tuple[float, float]:
    """IDF in the middle of a bin, and its slope there. `moment`: the sum of the distances from a bin's middle."""
    unit = width / bandwidth
    total, rise = 0.0, 0.0
    low, high = cell, cell
    while low > first and at[cell] - at[low - 1] < len(kernel):
        low -= 1
    while high + 1 < stop and at[high + 1] - at[cell] < len(kernel):
        high += 1
    for i in range(low, high + 1):
        bins = int(at[cell] - at[i])
        near = kernel[abs(bins)]
        z = bins * unit
        aside = moment[i] / bandwidth
        total += near * (held[i] + z * aside)
        rise += near * (aside * (1.0 - z * z) - z * held[i])
    return idf(count, total), -rise / ((1.0 + total) * bandwidth)
