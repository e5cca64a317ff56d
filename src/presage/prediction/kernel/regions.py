"""Two pieces and a strip of values for each term come in; the times at which they match go out. Called from loops.

The region of allowed (t_a, t_b) is cut along its diagonal: in each half one object is the later, at t, the other the
earlier, at u, and a moment t is valid when some u is allowed. All constraints are lines p·t + q·u <= c, scaled to
max(|p|, |q|) = 1, so that c is in seconds. Eliminating u (Fourier and Motzkin) pairs every lower bound of u with every
upper one, and each pair bounds t by itself: a bound depends on two lines alone, never on the order of clipping or on
where the other constraints end. O(m²) for m lines, in fact 4 + 2 per term.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, inlined
from presage.prediction.kernel.ends import NEAR, bound_above, bound_below, interval, no_ends

# Columns of a line. Lines of one tag never contradict each other and are not paired.
P, Q, C, OPEN, TAG = 0, 1, 2, 3, 4
OWN, WINDOW, TERMS = 0, 1, 2
# The line u <= end of the earlier segment.
END_LINE = 1
# Lines whose directions differ by less are parallel.
PARALLEL = 1e-14


@inlined
def most_lines(terms: int) -> int:
    return 4 + 2 * terms


@inlined
def add_line(lines: Floats, count: int, bounds: Floats, p: float, q: float, c: float, is_open: bool, tag: int) -> int:
    """How many lines there are now; -1 when nothing can satisfy this one."""
    if count < 0 or c == np.inf:
        return count
    scale = max(abs(p), abs(q))
    if scale == 0.0:
        return count if c > 0.0 or (c == 0.0 and not is_open) else -1
    p, q, c = p / scale, q / scale, c / scale
    if not np.isfinite(c):
        return count if c > 0.0 else -1
    if q == 0.0:
        if p > 0.0:
            bound_above(bounds, c, is_open)
        else:
            bound_below(bounds, -c, is_open)
        return count
    lines[count, P] = p
    lines[count, Q] = q
    lines[count, C] = c
    lines[count, OPEN] = 1.0 if is_open else 0.0
    lines[count, TAG] = tag
    return count + 1


@inlined
def add_strip(
    lines: Floats, count: int, bounds: Floats, later: Floats, earlier: Floats, strip: Floats, tag: int
) -> int:
    """`later`, `earlier`: value at the origin and rate. Their difference must lie in the strip (low, high, opens)."""
    apart = later[0] - earlier[0]
    if not np.isfinite(apart):
        return -1
    count = add_line(lines, count, bounds, later[1], -earlier[1], strip[1] - apart, strip[3] > 0.0, tag)
    return add_line(lines, count, bounds, -later[1], earlier[1], apart - strip[0], strip[2] > 0.0, tag)


@inlined
def start_alone(lines: Floats, bounds: Floats, segment: Floats, asked: Floats) -> int:
    """One object alone: there is no earlier time, and u is 0. `segment`: low, high, opens; `asked`: only times after the
    first and up to the second."""
    no_ends(bounds)
    bound_below(bounds, segment[0], segment[2] > 0.0)
    bound_above(bounds, segment[1], segment[3] > 0.0)
    if asked[0] > -np.inf:
        bound_below(bounds, asked[0], True)
    if asked[1] < np.inf:
        bound_above(bounds, asked[1], False)
    count = add_line(lines, 0, bounds, 0.0, -1.0, 0.0, False, OWN)
    return add_line(lines, count, bounds, 0.0, 1.0, 0.0, False, OWN)


@inlined
def start_half(lines: Floats, bounds: Floats, later: Floats, earlier: Floats, window: float, asked: Floats) -> int:
    """The lines that hold whatever the terms say, for the segments of the later and of the earlier object."""
    count = start_alone(lines, bounds, later, asked)
    lines[0, C], lines[0, OPEN] = -earlier[0], earlier[2]
    lines[END_LINE, C], lines[END_LINE, OPEN] = earlier[1], earlier[3]
    count = add_line(lines, count, bounds, 1.0, -1.0, window, False, WINDOW)
    return add_line(lines, count, bounds, -1.0, 1.0, 0.0, False, WINDOW)


@inlined
def project(lines: Floats, count: int, given: Floats, bounds: Floats) -> tuple[bool, float, float, bool, bool]:
    """The interval of t for which some u satisfies all lines. `given`: bounds of t itself; `bounds` is scratch."""
    if count < 0:
        return False, 0.0, 0.0, False, False
    bounds[:] = given
    end = lines[END_LINE, C]
    for i in range(count):
        qi = lines[i, Q]
        if qi > 0.0:
            continue
        for j in range(count):
            qj = lines[j, Q]
            if qj < 0.0 or lines[i, TAG] == lines[j, TAG]:
                continue
            slope = qj * lines[i, P] - qi * lines[j, P]
            rest = qj * lines[i, C] - qi * lines[j, C]
            weight = qj - qi
            is_open = lines[i, OPEN] > 0.0 or lines[j, OPEN] > 0.0
            if abs(slope) <= PARALLEL * weight:
                if rest < -NEAR * weight or (is_open and rest <= NEAR * weight):
                    return False, 0.0, 0.0, False, False
                continue
            at = rest / slope
            if j == END_LINE:
                # u <= t holds anyway: the end matters only after itself. So no moment up to t depends on later ends.
                if slope < 0.0 and at <= end:
                    continue
                if slope > 0.0 and at < end:
                    at, is_open = end, False
            if slope > 0.0:
                bound_above(bounds, at, is_open)
            else:
                bound_below(bounds, at, is_open)
    return interval(bounds)


@inlined
def slice_at(lines: Floats, count: int, t: float) -> tuple[float, float]:
    """The earlier times that are allowed with t."""
    low, high = -np.inf, np.inf
    for i in range(count):
        at = (lines[i, C] - lines[i, P] * t) / lines[i, Q]
        if lines[i, Q] > 0.0:
            high = min(high, at)
        else:
            low = max(low, at)
    if low > high:
        middle = 0.5 * (low + high)
        return middle, middle
    return low, high
