"""Clear cases: pairs that match all the time or never, decided without a region. Called from loops.

Most pairs are near each other, or apart, for as long as both are in force. A region is convex: if all terms hold at its
first and last moment, they hold in between, and its ends are those of the segments and of the window. If one term fails
at both moments, however near the window lets the two come, nothing matches. An end of a strip that is out of reach
needs no line. The margin is far wider than the tolerance of `regions`, so the result is that of all lines, to the last
bit.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats
from presage.operators.prediction.kernel.jit import bare_inlined
from presage.operators.prediction.kernel.regions.ends import (
    HIGH,
    HIGH_OPEN,
    LOW,
    LOW_OPEN,
    bound_above,
    bound_below,
    interval,
    no_ends,
)
from presage.operators.prediction.kernel.regions.halves import Placed
from presage.operators.prediction.kernel.regions.regions import CLOSED, FIRST, GIVEN, LAST, NOW, UNTIL_BEFORE, Region

UNCLEAR, NOTHING, EVERYTHING = 0, 1, 2
# Seconds by which a term must hold, or fail: a thousand times `ends.NEAR`.
MARGIN = 1e-6
# The greatest rounding error, relative to the numbers that a difference is made of.
ROUNDING = 1e-12
# Seconds from the origin; farther away nearly parallel lines differ by too much.
FAR = 1e6


@bare_inlined
def clear_case(placed: Placed, half: int, window: float, times: Floats, chosen: Floats) -> int:
    """Whether everything within segments and window matches, or nothing, as `start_region` and `project` would find.
    `half`: 0 where a is the later one. Removes the ends of `chosen` that are out of reach."""
    segments, functions, other = placed.segments, placed.functions, 1 - half
    end = segments[other, 1]
    first = max(segments[half, 0], segments[other, 0], times[NOW, FIRST])
    last = min(segments[half, 1], end + window, times[NOW, LAST])
    if not (first > -FAR and last < FAR):
        return UNCLEAR
    if last - first <= MARGIN:
        return NOTHING if last - first < -MARGIN else UNCLEAR
    # The earlier object at its latest possible time.
    first_other, last_other = min(first, end), min(last, end)
    all_hold = True
    for k in range(len(chosen)):
        low, high = chosen[k, 0], chosen[k, 1]
        z = functions[half, k, 0] - functions[other, k, 0]
        p, q = functions[half, k, 1], -functions[other, k, 1]
        scale = max(abs(p), abs(q))
        if scale == 0.0:
            scale = 1.0
        # No strip is empty: one of its ends is finite, or it is unbounded.
        size = abs(z) + (abs(p) + abs(q)) * (max(abs(first), abs(last)) + window)
        size += abs(low) if low > -np.inf else 0.0
        size += abs(high) if high < np.inf else 0.0
        margin = MARGIN * scale + ROUNDING * size
        at_first, at_last = z + p * first + q * first_other, z + p * last + q * last_other
        least, most = min(at_first, at_last), max(at_first, at_last)
        all_hold = all_hold and least - low > margin and high - most > margin
        # With the window alone: u is anywhere from t - window to t.
        at_first, at_last = z + (p + q) * first, z + (p + q) * last
        least = min(at_first, at_last) - max(0.0, q * window)
        most = max(at_first, at_last) + max(0.0, -q * window)
        if low - most > margin or least - high > margin:
            return NOTHING
        if least - low > margin:
            chosen[k, 0] = -np.inf
        if high - most > margin:
            chosen[k, 1] = np.inf
    return EVERYTHING if all_hold else UNCLEAR


@bare_inlined
def whole_interval(segments: Floats, half: int, window: float, region: Region) -> tuple[bool, float, float, bool, bool]:
    """The interval that segments and window allow."""
    times, ends, other = region.times, region.ends, 1 - half
    no_ends(ends, GIVEN)
    bound_below(ends, GIVEN, segments[half, 0], segments[half, 2] > 0.0)
    bound_below(ends, GIVEN, segments[other, 0], segments[other, 2] > 0.0)
    bound_above(ends, GIVEN, segments[half, 1], segments[half, 3] > 0.0)
    bound_above(ends, GIVEN, segments[other, 1] + window, segments[other, 3] > 0.0)
    bound_below(ends, GIVEN, times[NOW, FIRST], times[NOW, CLOSED] == 0.0)
    bound_above(ends, GIVEN, times[NOW, LAST], times[NOW, UNTIL_BEFORE] > 0.0)
    return interval(ends[GIVEN, LOW], ends[GIVEN, LOW_OPEN], ends[GIVEN, HIGH], ends[GIVEN, HIGH_OPEN])
