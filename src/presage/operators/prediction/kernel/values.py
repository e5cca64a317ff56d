"""Value terms over one stream: the times at which all of them hold, for each object."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled
from presage.operators.prediction.kernel.chances.factors import (
    A0,
    A_LATER,
    A_RATE,
    B0,
    B_RATE,
    ERROR_A,
    ERROR_B,
    OF_A,
    TERM,
    Z0,
    ZT,
    ZU,
    Factors,
)
from presage.operators.prediction.kernel.chances.shared_errors import groups_of
from presage.operators.prediction.kernel.chances.threshold import Ask, ask_of, find_levels, trim
from presage.operators.prediction.kernel.intervals.merge import intervals_of, merge
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.pieces import Pieces
from presage.operators.prediction.kernel.regions.evaluation import (
    ANY_TIME,
    LEFT,
    Found,
    Period,
    Times,
    Work,
    needs_chance,
    room_for,
    set_times,
    work_for,
    write_found,
)
from presage.operators.prediction.kernel.regions.halves import add_margins, give_roles
from presage.operators.prediction.kernel.regions.regions import start_alone
from presage.operators.prediction.kernel.regions.sides import SideArrays, build_side
from presage.operators.prediction.kernel.spec import ValueSpec


class Validity(NamedTuple):
    """By key, then time. `valid_from`, `valid_to`: microseconds; `probability`: NaN if there is none."""

    key: Ints
    valid_from: Ints
    valid_to: Ints
    from_open: Bools
    to_open: Bools
    probability: Floats

    def __len__(self) -> int:
        return len(self.key)


def validity(pieces: Pieces, spec: ValueSpec, times: Times = ANY_TIME, visible: Ints | None = None) -> Validity:
    """The intervals in which the terms hold, for each object. `times`, `visible`: see `join.join`. O(n log n)."""
    side = build_side(pieces, (), spec.terms, visible)
    group_of, groups = groups_of((), spec.terms)
    found = Found(*hold(side.arrays, group_of, groups, times.period, ask_of(spec)))
    merged, _ = merge(intervals_of(side.key[found.whole[:, LEFT]], found))
    return Validity(
        side.keys[merged.group], merged.start, merged.end, merged.start_open, merged.end_open, merged.probability
    )


@compiled
def hold(side: SideArrays, group_of: Ints, groups: Floats, period: Period, ask: Ask) -> tuple[Ints, Floats, Bools]:
    """The interval of each segment, as columns of `Found`."""
    count = len(side.start)
    out, work = room_for(count), work_for(0, side.margins.shape[1], 0)
    made = 0
    for i in range(count):
        made = _hold_segment(i, side, group_of, groups, period, ask, work, out, made)
    return out.whole[:made].copy(), out.parts[:made].copy(), out.opens[:made].copy()


@bare
def _hold_segment(
    i: int,
    side: SideArrays,
    group_of: Ints,
    groups: Floats,
    period: Period,
    ask: Ask,
    work: Work,
    out: Found,
    made: int,
) -> int:
    """Write the interval of a segment to `out`, return how many it holds. The chance of value terms has one peak in
    time, and so has their product: one interval at most."""
    start, margins, never, rows = side.start[i], side.margins, side.never[i], work.factors
    if ask.p > 1.0 or (never and needs_chance(ask)):
        return made
    if not set_times(work.region.times, start, side.visible[i, 0], side.visible[i, 1], period):
        return made
    number = 0
    if (ask.asked or ask.p >= 0.0) and not never:
        number = add_margins(margins, i, 0, OF_A, rows, 0)
    give_roles(rows, number, group_of, groups, 0)
    for k in range(number):
        m = int(rows[k, TERM])
        rows[k, Z0], rows[k, ZT], rows[k, ZU] = margins[i, m, 0], margins[i, m, 1], 0.0
        rows[k, A0], rows[k, A_RATE], rows[k, A_LATER] = margins[i, m, 3], margins[i, m, 4], 1.0
        rows[k, B0], rows[k, B_RATE] = 0.0, 0.0
        rows[k, ERROR_A], rows[k, ERROR_B] = margins[i, m, 2], 0.0
    factors = Factors(rows, number, ask.errors)
    if not find_levels(factors, work.levels, ask):
        return made
    start_alone(work.region, side.ends, i)
    pending = np.inf if period.final else float(period.until - start)
    if trim(work.region, factors, work.levels, False, pending, ask, work.scratch, work.found, 0):
        write_found(out, made, i, 0, 0, start, work.found, 0, never, ask.asked)
        made += 1
    return made
