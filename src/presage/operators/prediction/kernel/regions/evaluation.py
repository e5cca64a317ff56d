"""The evaluation step, one loop: the intervals of time at which pairs of segments match.

For each pair: the strips of values that each term allows, every choice of one strip per term (a convex region), both
halves of that region. Cost per pair: 2 · (4 + 2m)² / 4 bounds for m terms, and a search where chances must be found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled
from presage.operators.prediction.kernel.chances.ascent import SEARCH
from presage.operators.prediction.kernel.chances.factors import COLUMNS
from presage.operators.prediction.kernel.chances.likely_times import PARTS, WAITING
from presage.operators.prediction.kernel.chances.peaks import SEARCHES
from presage.operators.prediction.kernel.chances.summits import CELL, CELLS
from presage.operators.prediction.kernel.chances.threshold import (
    CHANCE,
    GIVEN,
    HIGH,
    HIGH_OPEN,
    LOW,
    LOW_OPEN,
    NOW,
    REGIONS,
    Ask,
    Factors,
    Region,
    Scratch,
    find_levels,
    put,
    trim,
)
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.regions.clear_cases import (
    EVERYTHING,
    NOTHING,
    UNCLEAR,
    clear_case,
    whole_interval,
)
from presage.operators.prediction.kernel.regions.ends import NEAR, micros
from presage.operators.prediction.kernel.regions.halves import aim_factors, set_factors, set_functions, start_region
from presage.operators.prediction.kernel.regions.regions import CLOSED, FIRST, LAST, UNTIL_BEFORE, most_lines, project
from presage.operators.prediction.kernel.regions.solutions import MOST
from presage.operators.prediction.kernel.regions.strips import choose_strips, find_strips, most_choices

# No bound on the times asked for.
ALWAYS, FOREVER = -(2**63), 2**63 - 1
# Columns of whole numbers found: the segments, microseconds from and to, and which choice of strips it was.
LEFT, RIGHT, FROM, TO, CHOICE = 0, 1, 2, 3, 4


def times_asked(piece: Ints, after: int | None, until: int | None, known: Ints | None = None) -> Ints:
    """Of each segment, by its piece, from when and until before when it may be asked for, or beyond: `after`, which is
    no part of it, and `until`, which is, may do for an index. `known`: bounds of each piece."""
    asked = np.empty((len(piece), 2), np.int64)
    asked[:, 0], asked[:, 1] = ALWAYS if after is None else after, FOREVER if until is None else until
    if known is not None:
        asked[:, 0] = np.maximum(asked[:, 0], known[piece, 0])
        asked[:, 1] = np.minimum(asked[:, 1], known[piece, 1])
    return asked


class SideArrays(NamedTuple):
    """Of each segment of a side, see `sides.Side`; `known`: the times that it may be asked for."""

    start: Ints
    ends: Floats
    lines: Floats
    margins: Floats
    never: Bools
    known: Ints


class Terms(NamedTuple):
    """The terms of a join, their constants, and which of them share errors."""

    rows: Ints
    constants: Floats
    group_of: Ints
    groups: Floats


class Period(NamedTuple):
    """What is asked for: times t with after < t <= until. A probability is that of all such times after `since`, and 0
    while what it is about goes on, unless `until` is `final`."""

    after: int
    until: int
    since: int
    final: bool


@compiled
def evaluate(
    pair_a: Ints,
    pair_b: Ints,
    begin: int,
    left: SideArrays,
    right: SideArrays,
    terms: Terms,
    window: float,
    period: Period,
    ask: Ask,
) -> tuple[Ints, Floats, Bools, int]:
    """Pairs from `begin` on, and up to where there was room. Whole numbers (see LEFT … CHOICE); what is left of from
    and to below a microsecond, and the probability (NaN unless `asked`); whether from and to are open; where to go on.
    Only times of `period`, and from the first until before the second of what is known of both segments."""
    start_a, ends_a, lines_a, margins_a, never_a, known_a = left
    start_b, ends_b, lines_b, margins_b, never_b, known_b = right
    comparisons, constants, group_of, groups = terms
    after, until, since, final = period
    p, strict, asked = ask.p, ask.strict, ask.asked
    count = len(comparisons)
    most = count + margins_a.shape[1] + margins_b.shape[1]
    # Not grown when they are full: arrays that change in a loop are counted references at every turn.
    chancy = asked or p >= 0.0
    per_pair = (2 * PARTS if chancy else 2) * most_choices(comparisons, chancy)
    room = len(pair_a) - begin + per_pair
    whole, parts, opens = np.empty((room, 5), np.int64), np.empty((room, 3)), np.empty((room, 2), np.bool_)
    slacks = np.full(count, np.nan)
    strips, numbers, chosen = np.empty((count, MOST, 4)), np.zeros(count, np.int64), np.empty((count, 4))
    # Of a and b, placed on one axis of time.
    functions, segments, offsets, times = np.empty((2, count, 2)), np.empty((2, 4)), np.empty(2), np.empty((2, 4))
    lines, counts = np.empty((REGIONS, 2, most_lines(count + most), 5)), np.zeros((REGIONS, 2), np.int64)
    ends = np.empty((REGIONS, 4))
    factors, before = np.empty((most, COLUMNS)), np.full((most, COLUMNS), np.nan)
    reaches, can_be_sure, most_likely, factors_before = False, False, 1.0, -1
    found, table = np.empty((2 * PARTS, 5)), Factors(factors, np.empty(most), np.empty(most))
    region = Region(lines, counts, ends, times, count)
    scratch = Scratch(
        np.empty((SEARCHES, SEARCH)), np.empty((CELLS, CELL)), np.empty((WAITING, 3)), np.empty((PARTS, 4))
    )
    made = 0
    row = begin - 1
    while row + 1 < len(pair_a) and made + per_pair <= room:
        row += 1
        a, b = pair_a[row], pair_b[row]
        origin = max(start_a[a], start_b[b])
        offsets[0], offsets[1] = (start_a[a] - origin) / 1e6, (start_b[b] - origin) / 1e6
        _place(ends_a, a, offsets, segments, 0)
        _place(ends_b, b, offsets, segments, 1)
        # No farther apart than the window.
        if max(segments[0, 0], segments[1, 0]) - window > min(segments[0, 1], segments[1, 1]) + NEAR:
            continue
        first_known, last_known = max(known_a[a, 0], known_b[b, 0]), min(known_a[a, 1], known_b[b, 1])
        if not set_times(times, origin, first_known, last_known, after, until, since, final):
            continue
        pending = np.inf if final else float(until - origin)
        never = find_strips(comparisons, constants, lines_a, a, lines_b, b, chancy, slacks, strips, numbers)
        never = never or never_a[a] or never_b[b]
        choices = 1
        for k in range(count):
            choices *= numbers[k]
        if choices == 0 or (never and (p > 0.0 or (p == 0.0 and strict))):
            continue
        set_functions(lines_a, a, offsets[0], functions, 0)
        set_functions(lines_b, b, offsets[1], functions, 1)
        number = 0
        if chancy and not never:
            number = set_factors(
                comparisons, constants, lines_a, a, lines_b, b, margins_a, margins_b, group_of, groups, factors
            )
            # Thresholds are mostly the same from pair to pair, and so are the levels.
            if number != factors_before or not _same(factors, before, number):
                before[:], factors_before = factors, number
                reaches, can_be_sure, most_likely = find_levels(table, number, ask)
            if not reaches:
                continue
        for choice in range(choices):
            first, total = 0, 0
            for half in range(2):
                # One call for both halves: a call is compiled where it stands.
                choose_strips(choice, strips, numbers, half == 1, chosen)
                case = UNCLEAR
                if number == 0:
                    case = clear_case(segments, functions, half, window, times, chosen)
                if case == NOTHING:
                    pass
                elif case == EVERYTHING:
                    there_is, low, high, low_open, high_open = whole_interval(segments, half, window, times, ends)
                    if there_is:
                        put(found, total, low, high, low_open, high_open, 1.0)
                        total += 1
                elif not start_region(segments, functions, half, window, chosen, lines, counts, ends):
                    pass
                elif number == 0:
                    there_is, low, high, low_open, high_open = project(lines, counts, GIVEN, ends, times, NOW)
                    if there_is:
                        put(found, total, low, high, low_open, high_open, 1.0)
                        total += 1
                else:
                    curved = aim_factors(
                        functions, margins_a, a, margins_b, b, offsets, half, chosen, groups, factors, number
                    )
                    total += trim(
                        region, table, number, curved, can_be_sure, most_likely, pending, ask, scratch, found, total
                    )
                first = total if half == 0 else first
            if first == 1 and total == 2 and _united(found):
                total = 1
            for i in range(total):
                low, low_part = micros(found[i, LOW])
                high, high_part = micros(found[i, HIGH])
                whole[made, LEFT], whole[made, RIGHT], whole[made, CHOICE] = a, b, choice
                whole[made, FROM], whole[made, TO] = origin + low, origin + high
                parts[made, 0], parts[made, 1] = low_part, high_part
                parts[made, 2] = (0.0 if never else found[i, CHANCE]) if asked else np.nan
                opens[made, 0], opens[made, 1] = found[i, LOW_OPEN] > 0.0, found[i, HIGH_OPEN] > 0.0
                made += 1
    return whole[:made].copy(), parts[:made].copy(), opens[:made].copy(), row + 1


@bare
def set_times(
    times: Floats, origin: int, first_known: int, last_known: int, after: int, until: int, since: int, final: bool
) -> bool:
    """Seconds from the origin: what is asked for, and what probabilities are about. Whether anything is asked for."""
    if first_known >= last_known or after >= until or after >= last_known or first_known > until:
        return False
    for which in range(2):
        low = after if which == NOW else since
        times[which, FIRST] = -np.inf if max(low, first_known) == ALWAYS else (max(low, first_known) - origin) / 1e6
        times[which, CLOSED] = 1.0 if first_known > low else 0.0
        high = until if which == NOW or final else FOREVER
        times[which, LAST] = np.inf if min(high, last_known) == FOREVER else (min(high, last_known) - origin) / 1e6
        times[which, UNTIL_BEFORE] = 1.0 if last_known <= high else 0.0
    return True


@bare
def _place(ends: Floats, row: int, offsets: Floats, segments: Floats, side: int) -> None:
    segments[side, 0] = ends[row, 0] + offsets[side]
    segments[side, 1] = ends[row, 1] + offsets[side]
    segments[side, 2] = ends[row, 2]
    segments[side, 3] = ends[row, 3]


@bare
def _same(factors: Floats, before: Floats, number: int) -> bool:
    """Kind, limit, thresholds and role are in columns 0, 4, 5, 6 and 10."""
    for i in range(number):
        for column in (0, 4, 5, 6, 10):
            if factors[i, column] != before[i, column]:
                return False
    return True


@bare
def _united(found: Floats) -> bool:
    """Make one interval of the two rows, if they overlap."""
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
