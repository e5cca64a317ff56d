"""Half a region and the factors over it come in; times that are likely enough, and how likely, go out. For loops.

Each factor must reach p by itself, which cuts the region by strips: exact when there is one factor, a good start when
there are more. Where all factors are 1 no search is needed. Where both tails of a > or >= count (`curved`) there may be
several peaks, and several intervals.

Rows may be asked for bit by bit. What is sought is sought over all of the region, and told with the last bit of it: so
it is the same number however many bits there were.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.prediction.kernel.bare import bare
from presage.prediction.kernel.ends import NEAR
from presage.prediction.kernel.factors import ALONE, ROLE, add_level, greatest_chance, level
from presage.prediction.kernel.likely_times import END, END_CUT, START, START_CUT, likely_times
from presage.prediction.kernel.peaks import edge, peak_over_t
from presage.prediction.kernel.regions import FIRST, LAST, TERMS, project
from presage.prediction.kernel.summits import greatest_between

# Columns of what is found: low, high, low open, high open, probability.
LOW, HIGH, LOW_OPEN, HIGH_OPEN, CHANCE = 0, 1, 2, 3, 4
# Of the lines: the region, the region cut by levels of p, the region cut by levels of 1.
GIVEN, CUT, SURE = 0, 1, 2
REGIONS = 3
# Rows of times: what is asked for now, and what a probability is taken over.
NOW, ALL = 0, 1
# What reaches p but for this reaches it: a peak that touches p does so wherever it was looked for.
TOUCH = 1e-10


@bare
def find_levels(
    factors: Floats, number: int, p: float, strict: bool, model: int, sigma: float, wanted: Floats, sure: Floats
) -> tuple[bool, bool, float]:
    """Whether each factor can reach p, and 1, and where; what the product cannot exceed."""
    reaches, can_be_sure, most, together = True, True, 1.0, 1.0
    for i in range(number):
        can, sure[i] = level(factors, i, 1.0, False, model, sigma)
        can_be_sure = can_be_sure and can
        greatest = 1.0 if can else greatest_chance(factors, i, model, sigma)
        # What shares errors is no product; it is no more likely than each alone.
        if factors[i, ROLE] == ALONE:
            most *= greatest
        else:
            together = min(together, greatest)
        if p >= 0.0:
            can, wanted[i] = level(factors, i, p, strict, model, sigma)
            reaches = reaches and can
    return reaches, can_be_sure, most * together


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
    times: Floats,
    factors: Floats,
    number: int,
    terms: int,
    curved: bool,
    wanted: Floats,
    can_be_sure: bool,
    sure: Floats,
    most: float,
    p: float,
    strict: bool,
    asked: bool,
    pending: float,
    model: int,
    sigma: float,
    search: Floats,
    cells: Floats,
    waiting: Floats,
    likely: Floats,
    found: Floats,
    row: int,
) -> int:
    """How many intervals were written, to `found[row]` and on: one at most, unless `curved`. `wanted`: levels of p
    (below 0: no trimming); `sure`: levels of 1; `most`: what the product cannot exceed. `asked`: whether the
    probability itself is of interest, else it is NaN. `pending`: what reaches this time (microseconds) goes on, and its
    probability is 0 as long."""
    region = GIVEN
    if p >= 0.0 and number > 0:
        region = CUT
        if not _cut_by(lines, counts, ends, CUT, factors, number, wanted, strict, terms):
            return 0
    there_is, low, high, low_open, high_open = project(lines, counts, region, ends, times, NOW)
    if not there_is:
        return 0
    several = p >= 0.0 and number > 1
    open_end = np.floor(high * 1e6 + 0.5) >= pending
    if number == 0 or not (several or (asked and not open_end)):
        put(found, row, low, high, low_open, high_open, 1.0 if number == 0 else 0.0)
        return 1
    first, last = low, high
    if times[NOW, FIRST] != times[ALL, FIRST] or times[NOW, LAST] != times[ALL, LAST]:
        _, first, last, _, _ = project(lines, counts, region, ends, times, ALL)
    if curved:
        return _trim_curved(
            lines, counts, region, factors, number, first, last, low, high, low_open, high_open, most, p, strict,
            asked, pending, several, model, sigma, cells, waiting, likely, found, row,
        )  # fmt: skip
    is_sure, begin, end = False, first, last
    if can_be_sure and _cut_by(lines, counts, ends, SURE, factors, number, sure, False, terms):
        is_sure, begin, end, _, _ = project(lines, counts, SURE, ends, times, ALL)
        begin, end = min(max(begin, first), last), max(min(end, last), first)
    if several:
        enough = p + TOUCH if strict else p - TOUCH
        if not is_sure:
            begin, best = peak_over_t(lines, counts, region, factors, number, search, first, last, enough, model, sigma)
            end = begin
            if best < enough:
                return 0
        for side in range(2):
            outside, inside = (last, end) if side else (first, begin)
            passes, at = edge(lines, counts, region, factors, number, search, outside, inside, enough, model, sigma)
            if passes and side == 0:
                first = at
                if at >= low:
                    low, low_open = at, strict
            elif passes:
                last = max(at, first)
                if last <= high:
                    high, high_open = last, strict
        if high < low or ((low_open or high_open) and high - low <= NEAR):
            return 0
        open_end = np.floor(high * 1e6 + 0.5) >= pending
    chance = 1.0
    if open_end or not asked:
        chance = 0.0
    elif not is_sure:
        _, chance = peak_over_t(lines, counts, region, factors, number, search, first, last, most, model, sigma)
        # A level was found by halving: what it keeps has at least p.
        chance = max(chance, p)
    put(found, row, low, high, low_open, high_open, chance)
    return 1


@bare
def _trim_curved(
    lines: Floats,
    counts: Ints,
    region: int,
    factors: Floats,
    number: int,
    first: float,
    last: float,
    low: float,
    high: float,
    low_open: bool,
    high_open: bool,
    most: float,
    p: float,
    strict: bool,
    asked: bool,
    pending: float,
    several: bool,
    model: int,
    sigma: float,
    cells: Floats,
    waiting: Floats,
    likely: Floats,
    found: Floats,
    row: int,
) -> int:
    """See `trim`. From first to last is all of the region, from low to high what is asked for now."""
    likely[0, START], likely[0, END], likely[0, START_CUT], likely[0, END_CUT] = first, last, 0.0, 0.0
    count, made = 1, 0
    if several:
        enough = p + TOUCH if strict else p - TOUCH
        count = likely_times(
            lines, counts, region, factors, number, cells, waiting, first, last, enough, model, sigma, likely
        )  # fmt: skip
    for i in range(count):
        begin, end = likely[i, START], likely[i, END]
        here, here_open, there, there_open = low, low_open, high, high_open
        if likely[i, START_CUT] > 0.0 and begin >= low:
            here, here_open = begin, strict
        if likely[i, END_CUT] > 0.0 and end <= high:
            there, there_open = end, strict
        if there < here or ((here_open or there_open) and there - here <= NEAR):
            continue
        chance = 0.0
        if asked and np.floor(there * 1e6 + 0.5) < pending:
            chance, _, _ = greatest_between(
                lines, counts, region, factors, number, cells, begin, end, -1.0, most, model, sigma
            )  # fmt: skip
            chance = max(chance, p)
        put(found, row + made, here, there, here_open, there_open, chance)
        made += 1
    return made


@bare
def put(found: Floats, row: int, low: float, high: float, low_open: bool, high_open: bool, chance: float) -> None:
    found[row, LOW] = low
    found[row, HIGH] = high
    found[row, LOW_OPEN] = 1.0 if low_open else 0.0
    found[row, HIGH_OPEN] = 1.0 if high_open else 0.0
    found[row, CHANCE] = chance
