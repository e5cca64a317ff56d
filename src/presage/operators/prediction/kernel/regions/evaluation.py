"""The evaluation step: the intervals of time at which pairs of segments match.

For each pair: the strips of values that each term allows, every choice of one strip per term (a convex region), both
halves of that region. Cost per pair: 2 · (4 + 2m)² / 4 bounds for m terms, and a search where chances are needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, inlined
from presage.operators.prediction.kernel.chances.ascent import SEARCH
from presage.operators.prediction.kernel.chances.factors import COLUMNS, Factors
from presage.operators.prediction.kernel.chances.likely_times import PARTS, WAITING, Scratch
from presage.operators.prediction.kernel.chances.peaks import SEARCHES
from presage.operators.prediction.kernel.chances.summits import CELL, CELLS
from presage.operators.prediction.kernel.chances.threshold import (
    CHANCE,
    HIGH,
    HIGH_OPEN,
    LOW,
    LOW_OPEN,
    Ask,
    Levels,
    find_levels,
    put,
    trim,
)
from presage.operators.prediction.kernel.jit import bare, bare_inlined
from presage.operators.prediction.kernel.regions.clear_cases import (
    EVERYTHING,
    UNCLEAR,
    clear_case,
    whole_interval,
)
from presage.operators.prediction.kernel.regions.ends import micros
from presage.operators.prediction.kernel.regions.halves import (
    Placed,
    aim_factors,
    set_factors,
    set_functions,
    start_region,
)
from presage.operators.prediction.kernel.regions.regions import (
    CLOSED,
    FIRST,
    FORMS,
    GIVEN,
    LAST,
    NOW,
    UNTIL_BEFORE,
    Region,
    most_lines,
    project,
)
from presage.operators.prediction.kernel.regions.sides import ALWAYS, FOREVER, SideArrays
from presage.operators.prediction.kernel.regions.solutions import MOST
from presage.operators.prediction.kernel.regions.strips import (
    Strips,
    Terms,
    choose_strips,
    find_strips,
    most_choices,
)

# Columns of `Found.whole`: the segments, microseconds from and to, and the choice of strips.
LEFT, RIGHT, FROM, TO, CHOICE = 0, 1, 2, 3, 4


class JoinArrays(NamedTuple):
    """Both sides of a join, its terms, and the window in seconds."""

    left: SideArrays
    right: SideArrays
    terms: Terms
    window: float


class Period(NamedTuple):
    """The requested times t: after < t <= until. A probability covers all such times after `since`. What continues
    beyond `until` has the probability 0, unless `until` is `final`."""

    after: int
    until: int
    since: int
    final: bool


class Times(NamedTuple):
    """The period of `join` and `validity`; None: no bound."""

    after: int | None = None
    until: int | None = None
    since: int | None = None
    final: bool = True

    @property
    def period(self) -> Period:
        return Period(
            ALWAYS if self.after is None else self.after,
            FOREVER if self.until is None else self.until,
            ALWAYS if self.since is None else self.since,
            self.final or self.until is None,
        )


ANY_TIME = Times()


class Found(NamedTuple):
    """Intervals: whole numbers (LEFT … CHOICE); the fractions of a microsecond of from and to, and the probability (NaN
    if there is none); whether from and to are open."""

    whole: Ints
    parts: Floats
    opens: Bools


class Work(NamedTuple):
    """Memory for one pair of segments: placed on one axis of time, its strips and the chosen ones, its region, factors
    with their levels, and the intervals of one choice."""

    placed: Placed
    strips: Strips
    chosen: Floats
    region: Region
    factors: Floats
    levels: Levels
    scratch: Scratch
    found: Floats


@inlined
def room_for(rows: int) -> Found:
    return Found(np.empty((rows, 5), np.int64), np.empty((rows, 3)), np.empty((rows, 2), np.bool_))


@inlined
def work_for(terms: int, factors: int, cells: int) -> Work:
    """Memory for so many terms, factors, and triangles of a search for several peaks."""
    lines = np.empty((FORMS, 2, most_lines(terms + factors), 5))
    return Work(
        Placed(np.empty((2, 4)), np.empty((2, terms, 2)), np.empty(2)),
        Strips(np.empty((terms, MOST, 4)), np.zeros(terms, np.int64)),
        np.empty((terms, 4)),
        Region(lines, np.zeros((FORMS, 2), np.int64), np.empty((FORMS, 4)), np.empty((2, 4)), terms),
        np.empty((factors, COLUMNS)),
        Levels(np.empty(factors), np.empty(factors), np.full(4, -1.0), np.empty((factors, COLUMNS))),
        Scratch(np.empty((SEARCHES, SEARCH)), np.empty((cells, CELL)), np.empty((WAITING, 3)), np.empty((PARTS, 4))),
        np.empty((2 * PARTS, 5)),
    )


@compiled
def evaluate(
    pair_a: Ints, pair_b: Ints, begin: int, join: JoinArrays, period: Period, ask: Ask
) -> tuple[Ints, Floats, Bools, int]:
    """The intervals of pairs from `begin` on, as many as there is space for, and where to continue."""
    # Tuples are taken apart and built outside of the loop: inside, their arrays are counted references in every round.
    left, right, terms, window = join
    start_a, ends_a, lines_a, margins_a, never_a, visible_a = left
    start_b, ends_b, lines_b, margins_b, never_b, visible_b = right
    comparisons, groups = terms.rows, terms.groups
    count, chancy = len(comparisons), ask.asked or ask.p >= 0.0
    per_pair = (2 * PARTS if chancy else 2) * most_choices(comparisons, chancy)
    space = len(pair_a) - begin + per_pair
    out = room_for(space)
    work = work_for(count, count + margins_a.shape[1] + margins_b.shape[1], CELLS)
    placed, strips, chosen, region, rows, levels, scratch, found = work
    times, numbers = region.times, strips.numbers
    made, row = 0, begin
    while row < len(pair_a) and made + per_pair <= space:
        a, b = pair_a[row], pair_b[row]
        row += 1
        origin = max(start_a[a], start_b[b])
        first, last = max(visible_a[a, 0], visible_b[b, 0]), min(visible_a[a, 1], visible_b[b, 1])
        if not set_times(times, origin, first, last, period):
            continue
        never = find_strips(terms, lines_a, a, lines_b, b, chancy, strips) or never_a[a] or never_b[b]
        choices = 1
        for k in range(count):
            choices *= numbers[k]
        if choices == 0 or (never and needs_chance(ask)):
            continue
        _place(placed, 0, (start_a[a] - origin) / 1e6, ends_a, lines_a, a)
        _place(placed, 1, (start_b[b] - origin) / 1e6, ends_b, lines_b, b)
        number, reaches = 0, True
        if chancy and not never:
            number = set_factors(terms, left, a, right, b, rows)
            reaches = find_levels(Factors(rows, number, ask.errors), levels, ask)
        if not reaches:
            continue
        pending = np.inf if period.final else float(period.until - origin)
        for choice in range(choices):
            of_first_half, total = 0, 0
            for half in range(2):
                choose_strips(choice, strips, half == 1, chosen)
                if number == 0:
                    total += _without_chances(placed, half, window, chosen, region, found, total)
                elif start_region(placed, half, window, chosen, region):
                    factors = Factors(rows, number, ask.errors)
                    curved = aim_factors(placed, half, chosen, margins_a, a, margins_b, b, groups, factors)
                    total += trim(region, factors, levels, curved, pending, ask, scratch, found, total)
                of_first_half = total if half == 0 else of_first_half
            if of_first_half == 1 and total == 2 and _united(found):
                total = 1
            for i in range(total):
                write_found(out, made, a, b, choice, origin, found, i, never, ask.asked)
                made += 1
    return out.whole[:made].copy(), out.parts[:made].copy(), out.opens[:made].copy(), row


@bare
def needs_chance(ask: Ask) -> bool:
    """Whether a match with the probability 0 is trimmed."""
    return ask.p > 0.0 or (ask.p == 0.0 and ask.strict)


@bare_inlined
def _place(placed: Placed, which: int, offset: float, ends: Floats, lines: Floats, row: int) -> None:
    """Move a segment and its functions to the common axis of time. `offset`: the start of its piece there."""
    segments, functions, offsets = placed
    offsets[which] = offset
    segments[which, 0] = ends[row, 0] + offset
    segments[which, 1] = ends[row, 1] + offset
    segments[which, 2] = ends[row, 2]
    segments[which, 3] = ends[row, 3]
    set_functions(lines, row, offset, functions, which)


@bare_inlined
def _without_chances(
    placed: Placed, half: int, window: float, chosen: Floats, region: Region, found: Floats, row: int
) -> int:
    """As `start_region` and `trim`, where nothing depends on chances."""
    case = clear_case(placed, half, window, region.times, chosen)
    if case == EVERYTHING:
        there_is, low, high, low_open, high_open = whole_interval(placed.segments, half, window, region)
    elif case == UNCLEAR and start_region(placed, half, window, chosen, region):
        there_is, low, high, low_open, high_open = project(region, GIVEN, NOW)
    else:
        return 0
    if there_is:
        put(found, row, low, high, low_open, high_open, 1.0)
    return 1 if there_is else 0


@bare_inlined
def write_found(
    out: Found, row: int, a: int, b: int, choice: int, origin: int, found: Floats, i: int, never: bool, asked: bool
) -> None:
    """Write the interval `found[i]`, in seconds from the origin, to a row of the output."""
    whole, parts, opens = out
    low, low_part = micros(found[i, LOW])
    high, high_part = micros(found[i, HIGH])
    whole[row, LEFT], whole[row, RIGHT], whole[row, CHOICE] = a, b, choice
    whole[row, FROM], whole[row, TO] = origin + low, origin + high
    parts[row, 0], parts[row, 1] = low_part, high_part
    parts[row, 2] = (0.0 if never else found[i, CHANCE]) if asked else np.nan
    opens[row, 0], opens[row, 1] = found[i, LOW_OPEN] > 0.0, found[i, HIGH_OPEN] > 0.0


@bare
def set_times(times: Floats, origin: int, first: int, last: int, period: Period) -> bool:
    """Write the requested times and those of probabilities, in seconds from the origin; False if there are none. What
    is evaluated is visible from `first` on and before `last`."""
    after, until, since, final = period
    if first >= last or after >= until or after >= last or first > until:
        return False
    for which in range(2):
        low = after if which == NOW else since
        times[which, FIRST] = -np.inf if max(low, first) == ALWAYS else (max(low, first) - origin) / 1e6
        times[which, CLOSED] = 1.0 if first > low else 0.0
        high = until if which == NOW or final else FOREVER
        times[which, LAST] = np.inf if min(high, last) == FOREVER else (min(high, last) - origin) / 1e6
        times[which, UNTIL_BEFORE] = 1.0 if last <= high else 0.0
    return True


@bare
def _united(found: Floats) -> bool:
    """Merge the first two rows if they overlap."""
    if found[1, LOW] >= found[0, HIGH] or found[0, LOW] >= found[1, HIGH]:
        return False
    if found[1, LOW] < found[0, LOW]:
        found[0, LOW], found[0, LOW_OPEN] = found[1, LOW], found[1, LOW_OPEN]
    elif found[1, LOW] == found[0, LOW]:
        found[0, LOW_OPEN] = min(found[0, LOW_OPEN], found[1, LOW_OPEN])
    if found[1, HIGH] > found[0, HIGH]:
        found[0, HIGH], found[0, HIGH_OPEN] = found[1, HIGH], found[1, HIGH_OPEN]
    elif found[1, HIGH] == found[0, HIGH]:
        found[0, HIGH_OPEN] = min(found[0, HIGH_OPEN], found[1, HIGH_OPEN])
    found[0, CHANCE] = max(found[0, CHANCE], found[1, CHANCE])
    return True
