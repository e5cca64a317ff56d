"""WITH PROBABILITY over half a region: the times at which p is reached, and the probability. Called from loops.

Each factor must reach p by itself, which cuts the region by strips: exact for one factor, a good start for several.
Where all factors are 1 no search is needed. Where both tails of a > or >= count (`curved`) there may be several peaks
and several intervals.

Times may be requested step by step. A search always covers the whole region, and its result is output with the last
part: the probability does not depend on the number of steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats
from presage.operators.prediction.kernel.chances.factors import (
    ALONE,
    KIND,
    LIMIT,
    NARROW,
    ROLE,
    WIDE,
    Factors,
    add_level,
    greatest_chance,
    level,
)
from presage.operators.prediction.kernel.chances.likely_times import (
    END,
    END_CUT,
    START,
    START_CUT,
    Scratch,
    likely_times,
)
from presage.operators.prediction.kernel.chances.peaks import edge, peak_over_t
from presage.operators.prediction.kernel.chances.summits import greatest_between
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.regions.ends import NEAR
from presage.operators.prediction.kernel.regions.regions import (
    ALL,
    CUT,
    FIRST,
    GIVEN,
    LAST,
    NOW,
    SURE,
    TERMS,
    Region,
    project,
)
from presage.operators.prediction.kernel.spec import Errors, JoinSpec, ValueSpec, trimmed_at

# Columns of a result: low, high, low open, high open, probability.
LOW, HIGH, LOW_OPEN, HIGH_OPEN, CHANCE = 0, 1, 2, 3, 4
# Columns of limits: the number of factors, whether each can reach p, whether each can be 1, a bound of the product.
NUMBER, REACHES, CAN_BE_SURE, MOST = 0, 1, 2, 3
# Tolerance of p: a peak that touches p reaches it, wherever a search began.
TOUCH = 1e-10


class Ask(NamedTuple):
    """WITH PROBABILITY >= p (below 0: no trimming), or > p if `strict`; `asked`: whether rows have a probability (else
    it is NaN); the distribution of errors."""

    p: float
    strict: bool
    asked: bool
    errors: Errors


def ask_of(spec: JoinSpec | ValueSpec) -> Ask:
    p, strict = trimmed_at(spec.at_least)
    return Ask(float(p), bool(strict), bool(spec.probability), spec.errors.for_loops())


class Levels(NamedTuple):
    """For each factor the z at which it is p, and the z at which it is 1; `limits`: see REACHES … MOST. `before`: the
    factors that these are the levels of."""

    wanted: Floats
    sure: Floats
    limits: Floats
    before: Floats


class Span(NamedTuple):
    """The whole region lies between first and last, the requested times between low and high."""

    first: float
    last: float
    low: float
    high: float
    low_open: bool
    high_open: bool


@bare
def find_levels(factors: Factors, levels: Levels, ask: Ask) -> bool:
    """Set the levels, return whether each factor can reach p. Thresholds are mostly the same from pair to pair, and
    then so are the levels."""
    wanted, sure, limits, before = levels
    rows, number, _ = factors
    same = limits[NUMBER] == number
    for i in range(number):
        for column in (KIND, LIMIT, WIDE, NARROW, ROLE):
            same = same and rows[i, column] == before[i, column]
            before[i, column] = rows[i, column]
    if same:
        return bool(limits[REACHES] > 0.0)
    reaches, can_be_sure, most, together = True, True, 1.0, 1.0
    for i in range(number):
        can, sure[i] = level(factors, i, 1.0, False)
        can_be_sure = can_be_sure and can
        greatest = 1.0 if can else greatest_chance(factors, i)
        # The chance of factors with common errors is at most that of each.
        if rows[i, ROLE] == ALONE:
            most *= greatest
        else:
            together = min(together, greatest)
        if ask.p >= 0.0:
            can, wanted[i] = level(factors, i, ask.p, ask.strict)
            reaches = reaches and can
    limits[NUMBER], limits[REACHES], limits[CAN_BE_SURE] = number, 1.0 if reaches else 0.0, 1.0 if can_be_sure else 0.0
    limits[MOST] = most * together
    return reaches


@bare
def _cut_by(region: Region, into: int, factors: Factors, levels: Floats, strict: bool) -> bool:
    """Cut the region by levels, in the form `into`. Their tags follow those of the terms."""
    lines, counts, ends, _, terms = region
    for side in range(2):
        counts[into, side] = counts[GIVEN, side]
        for i in range(counts[GIVEN, side]):
            for column in range(lines.shape[3]):
                lines[into, side, i, column] = lines[GIVEN, side, i, column]
    for bound in range(4):
        ends[into, bound] = ends[GIVEN, bound]
    there_is = True
    for i in range(factors.number):
        there_is = there_is and add_level(region, into, factors, i, levels[i], strict, TERMS + terms + i)
    return there_is


@bare
def trim(
    region: Region,
    factors: Factors,
    levels: Levels,
    curved: bool,
    pending: float,
    ask: Ask,
    scratch: Scratch,
    found: Floats,
    row: int,
) -> int:
    """Write the intervals to `found[row]` and on, return their number: one at most unless `curved`. What reaches the
    time `pending` (microseconds) continues, and until it ends its probability is 0."""
    which, number, times, most = GIVEN, factors.number, region.times, levels.limits[MOST]
    if ask.p >= 0.0 and number > 0:
        which = CUT
        if not _cut_by(region, CUT, factors, levels.wanted, ask.strict):
            return 0
    there_is, low, high, low_open, high_open = project(region, which, NOW)
    if not there_is:
        return 0
    several = ask.p >= 0.0 and number > 1
    if number == 0 or not (several or (ask.asked and not _goes_on(high, pending))):
        put(found, row, low, high, low_open, high_open, 1.0 if number == 0 else 0.0)
        return 1
    first, last = low, high
    if times[NOW, FIRST] != times[ALL, FIRST] or times[NOW, LAST] != times[ALL, LAST]:
        _, first, last, _, _ = project(region, which, ALL)
    span = Span(first, last, low, high, low_open, high_open)
    if curved:
        return _trim_curved(region, which, factors, span, several, most, pending, ask, scratch, found, row)
    is_sure, begin, end = False, first, last
    if levels.limits[CAN_BE_SURE] > 0.0 and _cut_by(region, SURE, factors, levels.sure, False):
        is_sure, begin, end, _, _ = project(region, SURE, ALL)
        begin, end = min(max(begin, first), last), max(min(end, last), first)
    if several:
        there_is, span = _likely_span(region, which, factors, span, is_sure, begin, end, ask, scratch.search)
        if not there_is:
            return 0
    chance = 1.0
    if _goes_on(span.high, pending) or not ask.asked:
        chance = 0.0
    elif not is_sure:
        _, chance = peak_over_t(region, which, factors, scratch.search, span.first, span.last, most)
        # Levels are found by bisection, so the peak may miss p by rounding.
        chance = max(chance, ask.p)
    put(found, row, span.low, span.high, span.low_open, span.high_open, chance)
    return 1


@bare
def _likely_span(
    region: Region,
    which: int,
    factors: Factors,
    span: Span,
    is_sure: bool,
    begin: float,
    end: float,
    ask: Ask,
    search: Floats,
) -> tuple[bool, Span]:
    """Whether a product with one peak reaches p, and the span in which it does. If it `is_sure`, it is 1 from begin to
    end."""
    first, last, low, high, low_open, high_open = span
    enough = _enough(ask)
    if not is_sure:
        begin, best = peak_over_t(region, which, factors, search, first, last, enough)
        end = begin
        if best < enough:
            return False, span
    for side in range(2):
        outside, inside = (last, end) if side else (first, begin)
        passes, at = edge(region, which, factors, search, outside, inside, enough)
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
    span: Span,
    several: bool,
    most: float,
    pending: float,
    ask: Ask,
    scratch: Scratch,
    found: Floats,
    row: int,
) -> int:
    """As `trim`, for a product that may have several peaks."""
    likely = scratch.likely
    first, last, low, high, low_open, high_open = span
    likely[0, START], likely[0, END], likely[0, START_CUT], likely[0, END_CUT] = first, last, 0.0, 0.0
    count, made = 1, 0
    if several:
        count = likely_times(region, which, factors, scratch, first, last, _enough(ask))
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
            chance, _, _ = greatest_between(region, which, factors, scratch.cells, begin, end, -1.0, most)
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
