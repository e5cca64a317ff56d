"""Half a region and the factors over it come in; times that are likely enough, and how likely, go out. For loops.

Each factor must reach p by itself, which cuts the region by strips: exact when there is one factor, a good start when
there are more. Where all factors are 1 no search is needed.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.prediction.kernel.bare import bare
from presage.prediction.kernel.factors import add_level, level
from presage.prediction.kernel.peaks import edge, peak_over_t
from presage.prediction.kernel.regions import TERMS, project

# Columns of what is found: low, high, low open, high open, probability.
LOW, HIGH, LOW_OPEN, HIGH_OPEN, CHANCE = 0, 1, 2, 3, 4
# Into how many parts times are cut where more than one peak is possible.
PARTS = 8
# Of the lines: the region, the region cut by levels of p, the region cut by levels of 1.
GIVEN, CUT, SURE = 0, 1, 2
REGIONS = 3


@bare
def find_levels(
    factors: Floats, number: int, p: float, strict: bool, model: int, sigma: float, wanted: Floats, sure: Floats
) -> tuple[bool, bool]:
    """Whether each factor can reach p, and 1, and where."""
    reaches, can_be_sure = True, True
    for i in range(number):
        can, sure[i] = level(factors, i, 1.0, False, model, sigma)
        can_be_sure = can_be_sure and can
        if p >= 0.0:
            can, wanted[i] = level(factors, i, p, strict, model, sigma)
            reaches = reaches and can
    return reaches, can_be_sure


@bare
def _cut_by(
    lines: Floats,
    counts: Ints,
    ends: Floats,
    into: int,
    factors: Floats,
    number: int,
    levels: Floats,
    strict: bool,
    terms: int,
) -> bool:
    """The region cut by levels, written to row `into`. Their tags come behind those of the terms."""
    for side in range(2):
        counts[into, side] = counts[GIVEN, side]
        for i in range(counts[GIVEN, side]):
            for column in range(lines.shape[3]):
                lines[into, side, i, column] = lines[GIVEN, side, i, column]
    for bound in range(4):
        ends[into, bound] = ends[GIVEN, bound]
    for i in range(number):
        if not add_level(lines, counts, into, ends, factors, i, levels[i], strict, TERMS + terms + i):
            return False
    return True


@bare
def trim(
    lines: Floats,
    counts: Ints,
    ends: Floats,
    factors: Floats,
    number: int,
    terms: int,
    parts: int,
    wanted: Floats,
    can_be_sure: bool,
    sure: Floats,
    p: float,
    strict: bool,
    asked: bool,
    model: int,
    sigma: float,
    found: Floats,
    begin: int,
) -> int:
    """How many intervals were written to `found`, from row `begin` on. `wanted`: levels of p (below 0: no trimming);
    `sure`: levels of 1; `asked`: whether the probability itself is of interest, else it is NaN."""
    region = GIVEN
    if p >= 0.0 and number > 0:
        region = CUT
        if not _cut_by(lines, counts, ends, CUT, factors, number, wanted, strict, terms):
            return 0
    there_is, low, high, low_open, high_open = project(lines, counts, region, ends)
    if not there_is:
        return 0
    if number == 0:
        put(found, begin, low, high, low_open, high_open, 1.0)
        return 1
    # With one factor, or none wanted, the levels have said it all.
    exact = p < 0.0 or number <= 1
    is_sure, first, last = False, low, high
    if can_be_sure and (exact or parts == 1):
        if _cut_by(lines, counts, ends, SURE, factors, number, sure, False, terms):
            is_sure, first, last, _, _ = project(lines, counts, SURE, ends)
        first, last = min(max(first, low), high), max(min(last, high), low)
    if exact and (is_sure or not asked):
        put(found, begin, low, high, low_open, high_open, 1.0 if is_sure else np.nan)
        return 1
    made = 0
    # A level was found by halving: what it keeps has at least p.
    greatest = max(p, 0.0)
    for part in range(parts):
        a = low + part * (high - low) / parts
        b = high if part == parts - 1 else low + (part + 1) * (high - low) / parts
        best = 1.0
        if not is_sure:
            first, best = peak_over_t(lines, counts, region, factors, number, a, b, parts, model, sigma)
            last = first
        greatest = max(greatest, best)
        if exact or best < p or (best == p and strict):
            continue
        row = begin + made
        put(found, row, a, b, low_open and part == 0, high_open and part == parts - 1, best)
        made += 1
        for end in range(2):
            outside, inside = (b, last) if end else (a, first)
            passes, at = edge(lines, counts, region, factors, number, outside, inside, p, parts, model, sigma)
            if passes:
                found[row, HIGH if end else LOW] = at
                found[row, HIGH_OPEN if end else LOW_OPEN] = 1.0 if strict else 0.0
    if exact:
        put(found, begin, low, high, low_open, high_open, greatest)
        return 1
    return made


@bare
def put(found: Floats, row: int, low: float, high: float, low_open: bool, high_open: bool, chance: float) -> None:
    found[row, LOW] = low
    found[row, HIGH] = high
    found[row, LOW_OPEN] = 1.0 if low_open else 0.0
    found[row, HIGH_OPEN] = 1.0 if high_open else 0.0
    found[row, CHANCE] = chance
