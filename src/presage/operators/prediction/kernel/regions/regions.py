"""Regions of (t_a, t_b), bounded by lines, and the times at which they match. Called from loops.

A region is cut along its diagonal. In each half one object is the later, at t, the other the earlier, at u; a moment t
is valid if some u is allowed. All constraints are lines p·t + q·u <= c, scaled to max(|p|, |q|) = 1, so that c is in
seconds. Eliminating u (Fourier and Motzkin) pairs every lower bound of u with every upper one, and each pair bounds t:
a bound depends on two lines alone, not on the order of clipping or on where other constraints end. O(m²) for m lines;
there are 4 lines and 2 for each term.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.regions.ends import (
    HIGH,
    HIGH_OPEN,
    LOW,
    LOW_OPEN,
    NEAR,
    bound_above,
    bound_below,
    interval,
    no_ends,
)

# Sides of `lines`: lower bounds of u (q < 0) and upper ones (q > 0).
LOWER, UPPER = 0, 1
P, Q, C, OPEN, TAG = 0, 1, 2, 3, 4
# Lines with the same tag never contradict each other and are not paired.
OWN, WINDOW, TERMS = 0, 1, 2
# The line u <= end of the earlier segment, among the upper ones.
END_LINE = 0
# Lines whose directions differ by less are parallel.
PARALLEL = 1e-14
# Forms of a region: as given, cut at the levels of p, cut at the levels of 1.
GIVEN, CUT, SURE = 0, 1, 2
FORMS = 3
# Rows of times: the requested times, and those that a probability is taken over.
NOW, ALL = 0, 1
# Columns of times: first, last, whether the first is included, whether the last is excluded.
FIRST, LAST, CLOSED, UNTIL_BEFORE = 0, 1, 2, 3


class Region(NamedTuple):
    """A region in several forms: `lines[form, side, row]`, their number `counts[form, side]`, bounds of t alone
    `ends[form]`; rows of `times`; the number of join terms. Arrays are not sliced: a slice costs more than a bound."""

    lines: Floats
    counts: Ints
    ends: Floats
    times: Floats
    terms: int


class Linear(NamedTuple):
    """z = at_zero + by_t·t + by_u·u."""

    at_zero: float
    by_t: float
    by_u: float


class Strip(NamedTuple):
    low: float
    high: float
    low_open: bool
    high_open: bool


@bare
def most_lines(terms: int) -> int:
    """The number of lines of each side, at most."""
    return 2 + terms


@bare
def add_line(region: Region, at: int, p: float, q: float, c: float, is_open: bool, tag: int) -> bool:
    """Add p·t + q·u <= c; False if nothing can satisfy it. max(|p|, |q|) is 1, or both are 0."""
    lines, counts, ends, _, _ = region
    if q != 0.0:
        if c < np.inf:
            side = UPPER if q > 0.0 else LOWER
            _set_line(lines, at, side, counts[at, side], p, q, c, 1.0 if is_open else 0.0, tag)
            counts[at, side] += 1
    elif p > 0.0:
        bound_above(ends, at, c, is_open)
    elif p < 0.0:
        bound_below(ends, at, -c, is_open)
    else:
        return c > 0.0 or (c == 0.0 and not is_open)
    return c > -np.inf


@bare
def add_strip(region: Region, at: int, z: Linear, strip: Strip, tag: int) -> bool:
    """Require that z lies in a strip; False if nothing can satisfy it."""
    at_zero, p, q = z
    low, high, low_open, high_open = strip
    if not np.isfinite(at_zero):
        return False
    scale = max(abs(p), abs(q))
    if scale == 0.0:
        scale = 1.0
    p, q = p / scale, q / scale
    above = high == np.inf or add_line(region, at, p, q, (high - at_zero) / scale, high_open, tag)
    below = low == -np.inf or add_line(region, at, -p, -q, (at_zero - low) / scale, low_open, tag)
    return above and below


@bare
def _set_line(
    lines: Floats, at: int, side: int, row: int, p: float, q: float, c: float, is_open: float, tag: int
) -> None:
    lines[at, side, row, P] = p
    lines[at, side, row, Q] = q
    lines[at, side, row, C] = c
    lines[at, side, row, OPEN] = is_open
    lines[at, side, row, TAG] = tag


@bare
def start_alone(region: Region, segments: Floats, row: int) -> None:
    """The region of one object: there is no earlier time, and u is 0. `segments`: low, high, opens."""
    lines, counts, ends, _, _ = region
    no_ends(ends, GIVEN)
    bound_below(ends, GIVEN, segments[row, 0], segments[row, 2] > 0.0)
    bound_above(ends, GIVEN, segments[row, 1], segments[row, 3] > 0.0)
    _set_line(lines, GIVEN, LOWER, 0, 0.0, -1.0, 0.0, 0.0, OWN)
    _set_line(lines, GIVEN, UPPER, END_LINE, 0.0, 1.0, 0.0, 0.0, OWN)
    counts[GIVEN, LOWER] = 1
    counts[GIVEN, UPPER] = 1


@bare
def start_half(region: Region, segments: Floats, half: int, window: float) -> None:
    """The lines of segments and window, without terms. `half`: 0 where a is the later one, 1 where b is."""
    start_alone(region, segments, half)
    lines, counts, _, _, _ = region
    other = 1 - half
    lines[GIVEN, LOWER, 0, C] = -segments[other, 0]
    lines[GIVEN, LOWER, 0, OPEN] = segments[other, 2]
    lines[GIVEN, UPPER, END_LINE, C] = segments[other, 1]
    lines[GIVEN, UPPER, END_LINE, OPEN] = segments[other, 3]
    _set_line(lines, GIVEN, LOWER, 1, 1.0, -1.0, window, 0.0, WINDOW)
    _set_line(lines, GIVEN, UPPER, 1, -1.0, 1.0, 0.0, 0.0, WINDOW)
    counts[GIVEN, LOWER] = 2
    counts[GIVEN, UPPER] = 2


@bare
def project(region: Region, at: int, which: int) -> tuple[bool, float, float, bool, bool]:
    """The interval of t for which some u satisfies all lines, within `times[which]`."""
    lines, counts, ends, times, _ = region
    low, low_open, high, high_open = ends[at, LOW], ends[at, LOW_OPEN], ends[at, HIGH], ends[at, HIGH_OPEN]
    if times[which, CLOSED] > 0.0:
        low = max(low, times[which, FIRST])
    else:
        low_open = max(low_open, times[which, FIRST])
    if times[which, UNTIL_BEFORE] > 0.0:
        high_open = min(high_open, times[which, LAST])
    else:
        high = min(high, times[which, LAST])
    end = lines[at, UPPER, END_LINE, C]
    for i in range(counts[at, LOWER]):
        pi, qi, ci = lines[at, LOWER, i, P], lines[at, LOWER, i, Q], lines[at, LOWER, i, C]
        open_i, tag = lines[at, LOWER, i, OPEN], lines[at, LOWER, i, TAG]
        for j in range(counts[at, UPPER]):
            if lines[at, UPPER, j, TAG] == tag:
                continue
            qj = lines[at, UPPER, j, Q]
            slope = qj * pi - qi * lines[at, UPPER, j, P]
            rest = qj * ci - qi * lines[at, UPPER, j, C]
            weight = qj - qi
            is_open = open_i + lines[at, UPPER, j, OPEN] > 0.0
            if abs(slope) <= PARALLEL * weight:
                if rest < -NEAR * weight or (is_open and rest <= NEAR * weight):
                    return False, 0.0, 0.0, False, False
                continue
            where = rest / slope
            if slope > 0.0:
                if j == END_LINE and where < end:
                    # u <= t holds anyway, so an end matters only after itself: nothing up to t depends on later ends.
                    where, is_open = end, False
                if is_open:
                    high_open = min(high_open, where)
                else:
                    high = min(high, where)
            elif j != END_LINE or where > end or (is_open and where >= end - NEAR):
                if is_open:
                    low_open = max(low_open, where)
                else:
                    low = max(low, where)
    return interval(low, low_open, high, high_open)


@bare
def slice_at(region: Region, at: int, t: float) -> tuple[float, float, float, float]:
    """The earlier times that are allowed with t: the first, the last, and how fast each of them changes with t."""
    lines, counts = region.lines, region.counts
    low, high, low_moves, high_moves = -np.inf, np.inf, 0.0, 0.0
    for i in range(counts[at, LOWER]):
        p, q = lines[at, LOWER, i, P], lines[at, LOWER, i, Q]
        bound = (lines[at, LOWER, i, C] - p * t) / q
        if bound > low:
            low, low_moves = bound, -p / q
    for i in range(counts[at, UPPER]):
        p, q = lines[at, UPPER, i, P], lines[at, UPPER, i, Q]
        bound = (lines[at, UPPER, i, C] - p * t) / q
        if bound < high:
            high, high_moves = bound, -p / q
    if low > high:
        low = high = 0.5 * (low + high)
    return low, high, low_moves, high_moves
