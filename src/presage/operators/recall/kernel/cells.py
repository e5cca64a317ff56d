"""Cells of numbers: the density of each attribute is a sum over its cells.

Up to EXACT distinct values of an attribute, each is a cell of its own and sums are exact. Beyond that a cell is a bin
of at most a sixteenth of the bandwidth, with the count of its values and the sum of their distances from its middle.
That leaves errors of second order in (width / bandwidth): less than 0.001 in an IDF.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.codes import grouped_order
from presage.arrays.jit import Floats, Ints, compiled

# Distinct values of an attribute that are summed one by one.
EXACT = 2048
# Bins to a bandwidth, at least.
FINE = 16
# No more bins than doubles can number exactly. Values that far apart are rarely near each other, and summed singly.
MOST_BINS = 2.0**40
NO_BANDWIDTH = -10_000


class Cells(NamedTuple):
    """Cells of all attributes, ascending within an attribute. Occurrences are those of past events, then those of new
    events, then those of the sample of older events."""

    starts: Ints  # attributes + 1
    at: Floats  # the value of a cell, or the number of its bin
    width: Floats  # of the bins of each attribute; 0 where each value has its own cell
    cell: Ints  # of each occurrence
    offset: Floats  # of each occurrence from the middle of its cell


def group_rows(attributes: Ints, values: Floats, bandwidth: Floats, exact: int = EXACT) -> Ints:
    """A number for each new event; those of one number share cells: with bins, their bandwidths are about the same."""
    if len(bandwidth) < 2:
        return np.zeros(len(bandwidth), np.int64)
    order, starts = grouped_order(attributes, bandwidth.shape[1])
    many = [
        a
        for a in range(bandwidth.shape[1])
        if len(number_values(values[order[starts[a] : starts[a + 1]]].view(np.int64), exact)[1]) > exact
    ]
    if not many:
        return np.zeros(len(bandwidth), np.int64)
    widths = bandwidth[:, many]
    logs = np.floor(np.log2(np.where(widths > 0, widths, 1.0)) / 2)
    _, group = np.unique(np.where(widths > 0, logs, NO_BANDWIDTH), axis=0, return_inverse=True)
    return group.reshape(-1).astype(np.int64)


def build_cells(attributes: Ints, values: Floats, bandwidth: Floats, exact: int = EXACT) -> Cells:
    """The cells of all occurrences. `bandwidth`: of each new event (rows) and attribute."""
    order, starts = grouped_order(attributes, bandwidth.shape[1])
    cell, offset = np.zeros(len(values), np.int64), np.zeros(len(values))
    ats, sizes, widths = [], [0], []
    for a in range(bandwidth.shape[1]):
        rows = order[starts[a] : starts[a + 1]]
        wide = bandwidth[:, a]
        own, away, at, width = _cells_of(values[rows], float(np.min(wide[wide > 0], initial=np.inf)), exact)
        cell[rows], offset[rows] = own + sum(sizes), away
        ats.append(at)
        sizes.append(len(at))
        widths.append(width)
    return Cells(np.cumsum(sizes), np.concatenate([np.zeros(0), *ats]), np.array(widths, np.float64), cell, offset)


def _cells_of(values: Floats, bandwidth: float, exact: int) -> tuple[Ints, Floats, Floats, float]:
    number, distinct = number_values(values.view(np.int64), exact)
    width = bandwidth / FINE
    low, high = float(np.min(values, initial=np.inf)), float(np.max(values, initial=-np.inf))
    if len(distinct) > exact and np.isfinite(width) and 0 < (high - low) < MOST_BINS * width:
        bins = np.floor((values - low) / width)
        cell, at = _occupied(bins.astype(np.int64), int(bins.max()) + 1)
        return cell, values - (low + (bins + 0.5) * width), at.astype(np.float64), width
    if len(distinct) > exact:
        alone, place = np.unique(values, return_inverse=True)
        return place.reshape(-1).astype(np.int64), np.zeros(len(values)), alone, 0.0
    singles = distinct.view(np.float64)
    order = np.argsort(singles)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[number], np.zeros(len(values)), singles[order], 0.0


def _occupied(bins: Ints, count: int) -> tuple[Ints, Ints]:
    """The place of each bin among the distinct ones, and the distinct ones."""
    if count > 8 * len(bins) + 1024:
        distinct, place = np.unique(bins, return_inverse=True)
        return place.reshape(-1).astype(np.int64), distinct
    flags = np.zeros(count, np.int64)
    flags[bins] = 1
    place = np.cumsum(flags) - 1
    return place[bins], np.flatnonzero(flags)


@compiled
def number_values(bits: Ints, most: int) -> tuple[Ints, Ints]:
    """Numbers of equal values in order of appearance, and the distinct values; stops when there are more than `most`.

    Values come as the bits of doubles (of the two zeros only one occurs, and no NaN).
    """
    size = 16
    while size < 4 * most:
        size *= 2
    slots = np.full(size, -1, np.int64)
    number = np.empty(len(bits), np.int64)
    distinct = np.empty(most + 1, np.int64)
    count = 0
    for i in range(len(bits)):
        mixed = np.uint64(bits[i]) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64(mixed >> np.uint64(32)) & (size - 1)
        while slots[slot] >= 0 and distinct[slots[slot]] != bits[i]:
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = count
            distinct[count] = bits[i]
            count += 1
            if count > most:
                break
        number[i] = slots[slot]
    return number, distinct[:count].copy()
