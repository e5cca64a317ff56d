"""Regions of (t_a, t_b), bounded by lines, and their times. Called from loops.

The region of allowed (t_a, t_b) is cut along its diagonal: in each half one object is the later, at t, the other the
earlier, at u, and a moment t is valid when some u is allowed. All constraints are lines p·t + q·u <= c, scaled to
max(|p|, |q|) = 1, so that c is in seconds. Eliminating u (Fourier and Motzkin) pairs every lower bound of u with every
upper one, and each pair bounds t by itself: a bound depends on two lines alone, never on the order of clipping or on
where the other constraints end. O(m²) for m lines, in fact 4 + 2 per term.
"""

from __future__ import annotations

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

# Lines are `lines[at, side, row]`: of several regions, the lower bounds of u (q < 0), then the upper ones (q > 0); and
# `counts[at, side]` says how many there are. Whole arrays go from call to call, for a slice costs more than a bound.
LOWER, UPPER = 0, 1
P, Q, C, OPEN, TAG = 0, 1, 2, 3, 4
# Lines of one tag never contradict each other and are not paired.
OWN, WINDOW, TERMS = 0, 1, 2
# The line u <= end of the earlier segment, among the upper ones.
END_LINE = 0
# Lines whose directions differ by less are parallel.
PARALLEL = 1e-14
# Columns of a row of times: the first, the last, whether the first belongs to them, whether the last does not.
FIRST, LAST, CLOSED, UNTIL_BEFORE = 0, 1, 2, 3


@bare
def most_lines(terms: int) -> int:
    """Of each side."""
    return 2 + terms


@bare
def add_line(
    lines: Floats, counts: Ints, at: int, ends: Floats, p: float, q: float, c: float, is_open: bool, tag: int
) -> bool:
    """False when nothing can satisfy it. What bounds t alone goes to `ends[at]`. max(|p|, |q|) is 1, or both are 0."""
    if q > 0.0:
        if c < np.inf:
            _set_line(lines, at, UPPER, counts[at, UPPER], p, q, c, 1.0 if is_open else 0.0, tag)
            counts[at, UPPER] += 1
    elif q < 0.0:
        if c < np.inf:
            _set_line(lines, at, LOWER, counts[at, LOWER], p, q, c, 1.0 if is_open else 0.0, tag)
            counts[at, LOWER] += 1
    elif p > 0.0:
        bound_above(ends, at, c, is_open)
    elif p < 0.0:
        bound_below(ends, at, -c, is_open)
    else:
        return c > 0.0 or (c == 0.0 and not is_open)
    return c > -np.inf


@bare
def add_between(
    lines: Floats,
    counts: Ints,
    at: int,
    ends: Floats,
    z0: float,
    p: float,
    q: float,
    low: float,
    high: float,
    low_open: bool,
    high_open: bool,
    tag: int,
) -> bool:
    """low <= z0 + p·t + q·u <= high. False when nothing can satisfy it."""
    scale = max(abs(p), abs(q))
    if not np.isfinite(z0):
        return False
    if scale == 0.0:
        scale = 1.0
    p, q = p / scale, q / scale
    above = high == np.inf or add_line(lines, counts, at, ends, p, q, (high - z0) / scale, high_open, tag)
    below = low == -np.inf or add_line(lines, counts, at, ends, -p, -q, (z0 - low) / scale, low_open, tag)
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
def start_alone(lines: Floats, counts: Ints, at: int, ends: Floats, segments: Floats, row: int) -> None:
    """One object alone: there is no earlier time, and u is 0. `segments`: low, high, opens."""
    no_ends(ends, at)
    bound_below(ends, at, segments[row, 0], segments[row, 2] > 0.0)
    bound_above(ends, at, segments[row, 1], segments[row, 3] > 0.0)
    _set_line(lines, at, LOWER, 0, 0.0, -1.0, 0.0, 0.0, OWN)
    _set_line(lines, at, UPPER, END_LINE, 0.0, 1.0, 0.0, 0.0, OWN)
    counts[at, LOWER] = 1
    counts[at, UPPER] = 1


@bare
def start_half(lines: Floats, counts: Ints, at: int, ends: Floats, segments: Floats, half: int, window: float) -> None:
    """The lines that hold whatever the terms say. `segments`: of a and b; `half`: 0 where a is later, 1 where b is."""
    start_alone(lines, counts, at, ends, segments, half)
    other = 1 - half
    lines[at, LOWER, 0, C] = -segments[other, 0]
    lines[at, LOWER, 0, OPEN] = segments[other, 2]
    lines[at, UPPER, END_LINE, C] = segments[other, 1]
    lines[at, UPPER, END_LINE, OPEN] = segments[other, 3]
    _set_line(lines, at, LOWER, 1, 1.0, -1.0, window, 0.0, WINDOW)
    _set_line(lines, at, UPPER, 1, -1.0, 1.0, 0.0, 0.0, WINDOW)
    counts[at, LOWER] = 2
    counts[at, UPPER] = 2


@bare
def project(
    lines: Floats, counts: Ints, at: int, ends: Floats, times: Floats, which: int
) -> tuple[bool, float, float, bool, bool]:
    """The interval of t for which some u satisfies all lines, within `times[which]`."""
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
                    # u <= t holds anyway: an end matters only after itself. So nothing up to t depends on later ends.
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
def slice_at(lines: Floats, counts: Ints, at: int, t: float) -> tuple[float, float, float, float]:
    """The earlier times that are allowed with t: the first, the last, and how fast each of them changes with t."""
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
