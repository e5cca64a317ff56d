"""WITH PROBABILITY over half a region: the times that are likely enough, and how likely. Called from loops.

Each factor must reach p by itself, which cuts the region by strips: exact when there is one factor, a good start when
there are more. Where all factors are 1 no search is needed. Where both tails of a > or >= count (`curved`) there may be
several peaks, and several intervals.

Rows may be asked for bit by bit. What is sought is sought over all of the region, and told with the last bit of it: so
it is the same number however many bits there were.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.operators.prediction.kernel.chances.factors import ALONE, ROLE, add_level, greatest_chance, level
from presage.operators.prediction.kernel.chances.likely_times import END, END_CUT, START, START_CUT, likely_times
from presage.operators.prediction.kernel.chances.peaks import edge, peak_over_t
from presage.operators.prediction.kernel.chances.summits import greatest_between
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.regions.ends import NEAR
from presage.operators.prediction.kernel.regions.regions import FIRST, LAST, TERMS, project
from presage.operators.prediction.kernel.spec import JoinSpec, ValueSpec, trimmed_at

# Columns of what is found: low, high, low open, high open, probability.
LOW, HIGH, LOW_OPEN, HIGH_OPEN, CHANCE = 0, 1, 2, 3, 4
# Of the lines: the region, the region cut by levels of p, the region cut by levels of 1.
GIVEN, CUT, SURE = 0, 1, 2
REGIONS = 3
# Rows of times: what is asked for now, and what a probability is taken over.
NOW, ALL = 0, 1
# What reaches p but for this reaches it: a peak that touches p does so wherever it was looked for.
TOUCH = 1e-10


class Ask(NamedTuple):
    """WITH PROBABILITY >= p (below 0: no trimming), or > p where `strict`; `asked`: whether the probability itself is
    of interest, else it is NaN; the model of errors."""

    p: float
    strict: bool
    asked: bool
    model: int
    sigma: float


def ask_of(spec: JoinSpec | ValueSpec) -> Ask:
    p, strict = trimmed_at(spec.at_least)
    return Ask(float(p), bool(strict), bool(spec.probability), int(spec.errors.model), float(spec.errors.sigma))


class Region(NamedTuple):
    """A region in REGIONS forms: lines of each side, how many, bounds of t; times asked for; how many terms it has."""

    lines: Floats
    counts: Ints
    ends: Floats
    times: Floats
    terms: int


class Factors(NamedTuple):
    """The factors of a probability, and for each the levels at which it is p, and 1."""

    rows: Floats
    wanted: Floats
    sure: Floats


class Scratch(NamedTuple):
    """Memory for the searches; all but the first only for several peaks."""

    search: Floats
    cells: Floats
    waiting: Floats
    likely: Floats


class Span(NamedTuple):
    """From first to last is all of the region, from low to high what is asked for now."""

    first: float
    last: float
    low: float
    high: float
    low_open: bool
    high_open: bool


@bare
def find_levels(factors: Factors, number: int, ask: Ask) -> tuple[bool, bool, float]:
    """Whether each factor can reach p, and 1, and where; what the product cannot exceed."""
    rows, model, sigma = factors.rows, ask.model, ask.sigma
    reaches, can_be_sure, most, together = True, True, 1.0, 1.0
    for i in range(number):
        can, factors.sure[i] = level(rows, i, 1.0, False, model, sigma)
        can_be_sure = can_be_sure and can
        greatest = 1.0 if can else greatest_chance(rows, i, model, sigma)
        # What shares errors is no product; it is no more likely than each alone.
        if rows[i, ROLE] == ALONE:
            most *= greatest
        else:
            together = min(together, greatest)
        if ask.p >= 0.0:
            can, factors.wanted[i] = level(rows, i, ask.p, ask.strict, model, sigma)
            reaches = reaches and can
    return reaches, can_be_sure, most * together


@bare
def _cut_by(region: Region, into: int, factors: Factors, number: int, levels: Floats, strict: bool) -> bool:
    """The region cut by levels, written to row `into`. Their tags come behind those of the terms."""
    lines, counts, ends = region.lines, region.counts, region.ends
    for side in range(2):
        counts[into, side] = counts[GIVEN, side]
        for i in range(counts[GIVEN, side]):
            for column in range(lines.shape[3]):
                lines[into, side, i, column] = lines[GIVEN, side, i, column]
    for bound in range(4):
        ends[into, bound] = ends[GIVEN, bound]
    for i in range(number):
        if not add_level(lines, counts, into, ends, factors.rows, i, levels[i], strict, TERMS + region.terms + i):
            return False
    return True


@bare
def trim(
    region: Region,
    factors: Factors,
    number: int,
    curved: bool,
    can_be_sure: bool,
    most: float,
    pending: float,
    ask: Ask,
    scratch: Scratch,
    found: Floats,
    row: int,
) -> int:
    """How many intervals were written, to `found[row]` and on: one at most, unless `curved`. `most`: what the product
    of the first `number` factors cannot exceed. `pending`: what reaches this time (microseconds) goes on, and its
    probability is 0 as long."""
    which = GIVEN
    if ask.p >= 0.0 and number > 0:
        which = CUT
        if not _cut_by(region, CUT, factors, number, factors.wanted, ask.strict):
            return 0
    lines, counts, ends, times = region.lines, region.counts, region.ends, region.times
    there_is, low, high, low_open, high_open = project(lines, counts, which, ends, times, NOW)
    if not there_is:
        return 0
    several = ask.p >= 0.0 and number > 1
    if number == 0 or not (several or (ask.asked and not _goes_on(high, pending))):
        put(found, row, low, high, low_open, high_open, 1.0 if number == 0 else 0.0)
        return 1
    first, last = low, high
    if times[NOW, FIRST] != times[ALL, FIRST] or times[NOW, LAST] != times[ALL, LAST]:
        _, first, last, _, _ = project(lines, counts, which, ends, times, ALL)
    span = Span(first, last, low, high, low_open, high_open)
    if curved:
        return _trim_curved(region, which, factors, number, span, several, most, pending, ask, scratch, found, row)
    is_sure, begin, end = False, first, last
    if can_be_sure and _cut_by(region, SURE, factors, number, factors.sure, False):
        is_sure, begin, end, _, _ = project(lines, counts, SURE, ends, times, ALL)
        begin, end = min(max(begin, first), last), max(min(end, last), first)
    if several:
        there_is, span = _likely_span(region, which, factors, number, span, is_sure, begin, end, ask, scratch)
        if not there_is:
            return 0
    chance = 1.0
    if _goes_on(span.high, pending) or not ask.asked:
        chance = 0.0
    elif not is_sure:
        _, chance = peak_over_t(
            lines,
            counts,
            which,
            factors.rows,
            number,
            scratch.search,
            span.first,
            span.last,
            most,
            ask.model,
            ask.sigma,
        )
        # A level was found by halving: what it keeps has at least p.
        chance = max(chance, ask.p)
    put(found, row, span.low, span.high, span.low_open, span.high_open, chance)
    return 1


@bare
def _likely_span(
    region: Region,
    which: int,
    factors: Factors,
    number: int,
    span: Span,
    is_sure: bool,
    begin: float,
    end: float,
    ask: Ask,
    scratch: Scratch,
) -> tuple[bool, Span]:
    """Whether a product with one peak reaches p, and the span in which it does. From begin to end it `is_sure`, if it
    is anywhere."""
    lines, counts, rows, search, model, sigma = (
        region.lines,
        region.counts,
        factors.rows,
        scratch.search,
        ask.model,
        ask.sigma,
    )
    first, last, low, high, low_open, high_open = span
    enough = _enough(ask)
    if not is_sure:
        begin, best = peak_over_t(lines, counts, which, rows, number, search, first, last, enough, model, sigma)
        end = begin
        if best < enough:
            return False, span
    for side in range(2):
        outside, inside = (last, end) if side else (first, begin)
        passes, at = edge(lines, counts, which, rows, number, search, outside, inside, enough, model, sigma)
        if passes and side == 0:
            first = at
            if at >= low:
                low, low_open = at, ask.strict
        elif passes:
            last = max(at, first)
            if last <= high:
                high, high_open = last, ask.strict
    return not _is_empty(low, high, low_open, high_open), Span(first, last, low, high, low_open, high_open)


@bare
def _trim_curved(
    region: Region,
    which: int,
    factors: Factors,
    number: int,
    span: Span,
    several: bool,
    most: float,
    pending: float,
    ask: Ask,
    scratch: Scratch,
    found: Floats,
    row: int,
) -> int:
    """See `trim`; the product may have several peaks."""
    lines, counts, rows, cells, likely = region.lines, region.counts, factors.rows, scratch.cells, scratch.likely
    first, last, low, high, low_open, high_open = span
    likely[0, START], likely[0, END], likely[0, START_CUT], likely[0, END_CUT] = first, last, 0.0, 0.0
    count, made, model, sigma = 1, 0, ask.model, ask.sigma
    if several:
        waiting, enough = scratch.waiting, _enough(ask)
        count = likely_times(
            lines, counts, which, rows, number, cells, waiting, first, last, enough, model, sigma, likely
        )
    for i in range(count):
        begin, end = likely[i, START], likely[i, END]
        here, here_open, there, there_open = low, low_open, high, high_open
        if likely[i, START_CUT] > 0.0 and begin >= low:
            here, here_open = begin, ask.strict
        if likely[i, END_CUT] > 0.0 and end <= high:
            there, there_open = end, ask.strict
        if _is_empty(here, there, here_open, there_open):
            continue
        chance = 0.0
        if ask.asked and not _goes_on(there, pending):
            chance, _, _ = greatest_between(
                lines, counts, which, rows, number, cells, begin, end, -1.0, most, model, sigma
            )
            chance = max(chance, ask.p)
        put(found, row + made, here, there, here_open, there_open, chance)
        made += 1
    return made


@bare
def _enough(ask: Ask) -> float:
    return ask.p + TOUCH if ask.strict else ask.p - TOUCH


@bare
def _goes_on(high: float, pending: float) -> bool:
    return bool(np.floor(high * 1e6 + 0.5) >= pending)


@bare
def _is_empty(low: float, high: float, low_open: bool, high_open: bool) -> bool:
    return high < low or ((low_open or high_open) and high - low <= NEAR)


@bare
def put(found: Floats, row: int, low: float, high: float, low_open: bool, high_open: bool, chance: float) -> None:
    found[row, LOW] = low
    found[row, HIGH] = high
    found[row, LOW_OPEN] = 1.0 if low_open else 0.0
    found[row, HIGH_OPEN] = 1.0 if high_open else 0.0
    found[row, CHANCE] = chance
