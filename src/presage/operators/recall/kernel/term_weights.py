"""Weights of terms (IDF), from the counts of the events in sight that have each term and each cell.

Counts are updated from one new event to the next. IDFs are computed when a new event first needs them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats, Ints, inlined
from presage.operators.recall.kernel.cells import Cells
from presage.operators.recall.kernel.contexts import Bags
from presage.operators.recall.kernel.densities import LEAST_IDF, idf, idf_of_bin, idf_of_value


class Counts(NamedTuple):
    """Of the events in sight: how many hold each term; how many numbers are in each cell, and their distances."""

    terms: Ints
    held: Floats
    moment: Floats


class Rarity(NamedTuple):
    """IDFs, computed for the new event of number `known`; in a bin also the slope."""

    idf: Floats
    known: Ints
    cell_idf: Floats
    cell_slope: Floats
    cell_known: Ints


class Terms(NamedTuple):
    """The cells of numbers, the counts of the events in sight, and the IDFs computed from them."""

    cells: Cells
    counts: Counts
    rarity: Rarity


class Scale(NamedTuple):
    """What the numbers of one new event are weighed by: how many values it sees of each attribute, the bandwidths, the
    kernels by bins of all attributes, and the number of the event."""

    value_count: Floats
    bandwidth: Floats
    kernels: Floats
    kernel_starts: Ints
    now: int


@inlined
def make_terms(cells: Cells, terms: int) -> Terms:
    size, never = len(cells.at), np.full(terms, -1, np.int64)
    counts = Counts(np.zeros(terms, np.int64), np.zeros(size), np.zeros(size))
    cell_never = np.full(size, -1, np.int64)
    return Terms(cells, counts, Rarity(np.zeros(terms), never, np.zeros(size), np.zeros(size), cell_never))


@inlined
def count_terms(counts: Counts, bags: Bags, first: int, stop: int, by: int) -> None:
    base = bags.starts[0]
    for i in range(bags.starts[first] - base, bags.starts[stop] - base):
        counts.terms[bags.codes[i]] += by


@inlined
def count_numbers(counts: Counts, bags: Bags, cells: Cells, first: int, stop: int) -> None:
    """Count numbers of past events, whose occurrences come first in the cells."""
    base = bags.number_starts[0]
    for i in range(bags.number_starts[first] - base, bags.number_starts[stop] - base):
        counts.held[cells.cell[i]] += 1.0
        counts.moment[cells.cell[i]] += cells.offset[i]


@inlined
def enter_numbers(counts: Counts, bags: Bags, cells: Cells, event: int, ahead: int) -> Floats:
    """Count the numbers of a new event, too; the distances of their cells before that, to restore them. `ahead`: how
    many occurrences come first in the cells."""
    low = ahead + bags.number_starts[event] - bags.number_starts[0]
    before = np.zeros(bags.number_starts[event + 1] - bags.number_starts[event])
    for i in range(len(before)):
        cell = cells.cell[low + i]
        before[i] = counts.moment[cell]
        counts.held[cell] += 1.0
        counts.moment[cell] += cells.offset[low + i]
    return before


@inlined
def withdraw_numbers(counts: Counts, bags: Bags, cells: Cells, event: int, ahead: int, before: Floats) -> None:
    low = ahead + bags.number_starts[event] - bags.number_starts[0]
    for i in range(len(before) - 1, -1, -1):
        cell = cells.cell[low + i]
        counts.held[cell] -= 1.0
        counts.moment[cell] = before[i]


@inlined
def look_from(counts: Counts, bags: Bags, cells: Cells, totals: Ints, first: int, stop: int) -> None:
    """Count the events from `first` to `stop`, starting from none or from all, whichever is less work."""
    inside, events = stop - first, len(bags.starts) - 1
    if inside > events - inside:
        counts.terms[:] = totals
        count_terms(counts, bags, 0, first, -1)
        count_terms(counts, bags, stop, events, -1)
    else:
        counts.terms[:] = 0
        count_terms(counts, bags, first, stop, 1)
    counts.held[:] = 0.0
    counts.moment[:] = 0.0
    count_numbers(counts, bags, cells, first, stop)


@inlined
def weigh_terms(rarity: Rarity, counts: Counts, codes: Ints, low: int, high: int, events: int, now: int) -> None:
    """Compute the IDFs of these terms, unless the event has them."""
    for i in range(low, high):
        code = codes[i]
        if rarity.known[code] != now:
            rarity.known[code] = now
            rarity.idf[code] = idf(events, counts.terms[code])


@inlined
def weigh_numbers(
    weights: Floats, terms: Terms, scale: Scale, attributes: Ints, low: int, high: int, ahead: int
) -> None:
    """Write the weights of the occurrences `low` to `high`, of which `ahead` others come first in the cells."""
    (cells, counts, rarity), (count, bandwidth, kernels, kernel_starts, now) = terms, scale
    for i in range(low, high):
        cell = cells.cell[i + ahead]
        if rarity.cell_known[cell] != now:
            rarity.cell_known[cell] = now
            a = attributes[i]
            first, stop, held, width = cells.starts[a], cells.starts[a + 1], counts.held, bandwidth[a]
            rarity.cell_slope[cell] = 0.0
            if cells.width[a] == 0.0:
                rarity.cell_idf[cell] = idf_of_value(cell, first, stop, cells.at, held, count[a], width)
            elif width == 0.0:
                # All that are in sight are equal.
                rarity.cell_idf[cell] = LEAST_IDF
            else:
                kernel, moment = kernels[kernel_starts[a] : kernel_starts[a + 1]], counts.moment
                rarity.cell_idf[cell], rarity.cell_slope[cell] = idf_of_bin(
                    cell, first, stop, cells.at, held, moment, kernel, count[a], cells.width[a], width
                )
        weights[i - low] = max(LEAST_IDF, rarity.cell_idf[cell] + rarity.cell_slope[cell] * cells.offset[i + ahead])
