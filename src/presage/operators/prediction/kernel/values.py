"""Value terms over one stream: when all of them hold of each object."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled
from presage.operators.prediction.kernel.chances.ascent import SEARCH
from presage.operators.prediction.kernel.chances.factors import (
    A0,
    A_LATER,
    A_RATE,
    B0,
    B_RATE,
    COLUMNS,
    ERROR_A,
    ERROR_B,
    OF_A,
    TERM,
    Z0,
    ZT,
    ZU,
)
from presage.operators.prediction.kernel.chances.peaks import SEARCHES
from presage.operators.prediction.kernel.chances.shared_errors import groups_of
from presage.operators.prediction.kernel.chances.threshold import (
    CHANCE,
    GIVEN,
    HIGH,
    HIGH_OPEN,
    LOW,
    LOW_OPEN,
    REGIONS,
    Ask,
    Factors,
    Region,
    Scratch,
    ask_of,
    find_levels,
    trim,
)
from presage.operators.prediction.kernel.intervals.merge import Intervals, merge
from presage.operators.prediction.kernel.pieces import Pieces
from presage.operators.prediction.kernel.regions.ends import micros
from presage.operators.prediction.kernel.regions.evaluation import ALWAYS, FOREVER, set_times, times_asked
from presage.operators.prediction.kernel.regions.halves import add_margins, give_roles
from presage.operators.prediction.kernel.regions.regions import most_lines, start_alone
from presage.operators.prediction.kernel.regions.sides import build_side
from presage.operators.prediction.kernel.spec import ValueSpec


@dataclass(frozen=True)
class Validity:
    """By key, then time. `valid_from`, `valid_to`: microseconds; `probability`: NaN unless asked for."""

    key: Ints
    valid_from: Ints
    valid_to: Ints
    from_open: Bools
    to_open: Bools
    probability: Floats

    def __len__(self) -> int:
        return len(self.key)


def validity(
    pieces: Pieces,
    spec: ValueSpec,
    after: int | None = None,
    until: int | None = None,
    since: int | None = None,
    final: bool = True,
    known: Ints | None = None,
) -> Validity:
    """When the terms hold of each object, at times t with after < t <= until. The rest: see `join.join`. O(n log n)."""
    side = build_side(pieces, (), spec.terms)
    whole, parts, opens = hold(
        side.start,
        side.ends,
        side.margins,
        side.never,
        *groups_of((), spec.terms),
        times_asked(side.piece, None, None, known),
        ALWAYS if after is None else after,
        FOREVER if until is None else until,
        ALWAYS if since is None else since,
        final or until is None,
        ask_of(spec),
    )
    found, _ = merge(
        Intervals(
            side.key[whole[:, 0]],
            whole[:, 1].copy(),
            whole[:, 2].copy(),
            parts[:, 0].copy(),
            parts[:, 1].copy(),
            opens[:, 0].copy(),
            opens[:, 1].copy(),
            parts[:, 2].copy(),
        )
    )
    return Validity(side.keys[found.group], found.start, found.end, found.start_open, found.end_open, found.probability)


@compiled
def hold(
    start: Ints,
    ends: Floats,
    margins: Floats,
    never: Bools,
    group_of: Ints,
    groups: Floats,
    known: Ints,
    after: int,
    until: int,
    since: int,
    final: bool,
    ask: Ask,
) -> tuple[Ints, Floats, Bools]:
    """Of each segment what was asked for and is likely enough: segment, microseconds from and to; parts of them and the
    probability; opens. Value terms have one peak in time each, and so has their product: one interval at most."""
    most = margins.shape[1]
    whole, parts, opens = (
        np.empty((len(start), 3), np.int64),
        np.empty((len(start), 3)),
        np.empty((len(start), 2), np.bool_),
    )
    lines, counts = np.empty((REGIONS, 2, most_lines(most), 5)), np.zeros((REGIONS, 2), np.int64)
    bounds, times = np.empty((REGIONS, 4)), np.empty((2, 4))
    factors, found, none = np.empty((most, COLUMNS)), np.empty((1, 5)), np.empty((0, 0))
    region, table = Region(lines, counts, bounds, times, 0), Factors(factors, np.empty(most), np.empty(most))
    scratch = Scratch(np.empty((SEARCHES, SEARCH)), none, none, none)
    p, strict, asked = ask.p, ask.strict, ask.asked
    chancy = asked or p >= 0.0
    made = 0
    for i in range(len(start)):
        if p > 1.0 or (never[i] and (p > 0.0 or (p == 0.0 and strict))):
            continue
        if not set_times(times, start[i], known[i, 0], known[i, 1], after, until, since, final):
            continue
        pending = np.inf if final else float(until - start[i])
        number = add_margins(margins, i, 0, OF_A, factors, 0) if chancy and not never[i] else 0
        give_roles(factors, number, group_of, groups, 0)
        for k in range(number):
            m = int(factors[k, TERM])
            factors[k, Z0], factors[k, ZT], factors[k, ZU] = margins[i, m, 0], margins[i, m, 1], 0.0
            factors[k, A0], factors[k, A_RATE], factors[k, A_LATER] = margins[i, m, 3], margins[i, m, 4], 1.0
            factors[k, B0], factors[k, B_RATE] = 0.0, 0.0
            factors[k, ERROR_A], factors[k, ERROR_B] = margins[i, m, 2], 0.0
        reaches, can_be_sure, most_likely = find_levels(table, number, ask)
        if not reaches:
            continue
        start_alone(lines, counts, GIVEN, bounds, ends, i)
        if not trim(region, table, number, False, can_be_sure, most_likely, pending, ask, scratch, found, 0):
            continue
        low, low_part = micros(found[0, LOW])
        high, high_part = micros(found[0, HIGH])
        whole[made, 0], whole[made, 1], whole[made, 2] = i, start[i] + low, start[i] + high
        parts[made, 0], parts[made, 1] = low_part, high_part
        parts[made, 2] = (0.0 if never[i] else found[0, CHANCE]) if asked else np.nan
        opens[made, 0], opens[made, 1] = found[0, LOW_OPEN] > 0.0, found[0, HIGH_OPEN] > 0.0
        made += 1
    return whole[:made].copy(), parts[:made].copy(), opens[:made].copy()
