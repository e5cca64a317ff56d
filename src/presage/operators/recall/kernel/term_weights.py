"""Weights of terms (IDF), from the events in sight that have each term and each cell.

Counts run along from one new event to the next. IDFs are found when they are first asked for by a new event.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats, Ints, inlined
from presage.operators.recall.kernel.cells import Cells
from presage.operators.recall.kernel.contexts import Bags
from presage.operators.recall.kernel.densities import LEAST_IDF, idf, idf_of_bin, idf_of_value


class Counts(NamedTuple):
    """Of the events in sight: how many hold each term; how many numbers lie in each cell, how far off."""

    terms: Ints
    held: Floats
    moment: Floats


class Rarity(NamedTuple):
    """IDFs that the new event of number `known` has asked for; in a bin also the slope."""

    idf: Floats
    known: Ints
    cell_idf: Floats
    cell_slope: Floats
    cell_known: Ints


@inlined
def make_counts(terms: int, cells: int) -> Counts:
    return Counts(np.zeros(terms, np.int64), np.zeros(cells), np.zeros(cells))


@inlined
def make_rarity(terms: int, cells: int) -> Rarity:
    return Rarity(
        np.zeros(terms), np.full(terms, -1, np.int64), np.zeros(cells), np.zeros(cells), np.full(cells, -1, np.int64)
    )


@inlined
def count_terms(counts: Counts, bags: Bags, first: int, stop: int, by: int) -> None:
    base = bags.starts[0]
    for i in range(bags.starts[first] - base, bags.starts[stop] - base):
        counts.terms[bags.codes[i]] += by


@inlined
def count_numbers(counts: Counts, bags: Bags, cells: Cells, first: int, stop: int) -> None:
    """Of past events: their occurrences come first."""
    base = bags.number_starts[0]
    for i in range(bags.number_starts[first] - base, bags.number_starts[stop] - base):
        counts.held[cells.cell[i]] += 1.0
        counts.moment[cells.cell[i]] += cells.offset[i]


@inlined
def enter_numbers(counts: Counts, bags: Bags, cells: Cells, event: int, ahead: int) -> Floats:
    """Count the numbers of a new event, too; what was known of their cells before, to go back to. `ahead`: how many
    occurrences come first in the cells."""
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
    """Counts of the events from `first` to `stop`, from nothing or from the counts of all, whichever is nearer."""
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
    """See to it that the IDFs of these terms are known."""
    for i in range(low, high):
        code = codes[i]
        if rarity.known[code] != now:
            rarity.known[code] = now
            rarity.idf[code] = idf(events, counts.terms[code])


@inlined
def weigh_numbers(
    weights: Floats,
    rarity: Rarity,
    counts: Counts,
    cells: Cells,
    attributes: Ints,
    low: int,
    high: int,
    ahead: int,
    count: Floats,
    bandwidth: Floats,
    kernels: Floats,
    kernel_starts: Ints,
    now: int,
) -> None:
    """Write the weights of some occurrences, of which `ahead` others come first in the cells."""
    for i in range(low, high):
        cell = cells.cell[i + ahead]
        if rarity.cell_known[cell] != now:
            rarity.cell_known[cell] = now
            a = attributes[i]
            first, stop = cells.starts[a], cells.starts[a + 1]
            rarity.cell_slope[cell] = 0.0
            if cells.width[a] == 0.0:
                rarity.cell_idf[cell] = idf_of_value(cell, first, stop, cells.at, counts.held, count[a], bandwidth[a])
            elif bandwidth[a] == 0.0:
                # All that are in sight are equal.
                rarity.cell_idf[cell] = LEAST_IDF
            else:
                kernel = kernels[kernel_starts[a] : kernel_starts[a + 1]]
                rarity.cell_idf[cell], rarity.cell_slope[cell] = idf_of_bin(
                    cell,
                    first,
                    stop,
                    cells.at,
                    counts.held,
                    counts.moment,
                    kernel,
                    count[a],
                    cells.width[a],
                    bandwidth[a],
                )
        weights[i - low] = max(LEAST_IDF, rarity.cell_idf[cell] + rarity.cell_slope[cell] * cells.offset[i + ahead])
