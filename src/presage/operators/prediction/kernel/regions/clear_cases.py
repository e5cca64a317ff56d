"""Clear cases: pairs whose strips hold all the time or never, without a region. Called from loops.

Most pairs are near each other, or apart, for as long as they are looked at. A region is convex: where all terms hold at
its first and at its last moment they hold at all moments between, and its ends are those of the segments and of the
window. Where one term fails at the nearest that the window lets the two come, at both moments, there is nothing. An end
of a strip that is out of reach draws no line. All is judged with a margin far wider than what `regions` takes as equal,
so that the outcome is the one that all lines would give, to the last bit.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats
from presage.operators.prediction.kernel.chances.threshold import GIVEN, NOW
from presage.operators.prediction.kernel.jit import bare
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
from presage.operators.prediction.kernel.regions.regions import CLOSED, FIRST, LAST, UNTIL_BEFORE

UNCLEAR, NOTHING, EVERYTHING = 0, 1, 2
# Seconds by which a term must hold, or fail: a thousand times `ends.NEAR`.
MARGIN = 1e-6
# Of the numbers that a difference is made of: what rounding may take away.
ROUNDING = 1e-12
# Seconds from the origin; farther away a direction that passes as parallel counts for too much.
FAR = 1e6


@bare
def clear_case(segments: Floats, functions: Floats, half: int, window: float, times: Floats, chosen: Floats) -> int:
    """Whether all of what segments and window allow matches, or nothing, as `start_region` and `project` would find.
    `half`: 0 where a is the later one. Of `chosen` what cannot be reached is taken away."""
    other = 1 - half
    end = segments[other, 1]
    first = max(segments[half, 0], segments[other, 0], times[NOW, FIRST])
    last = min(segments[half, 1], end + window, times[NOW, LAST])
    if not (first > -FAR and last < FAR):
        return UNCLEAR
    if last - first <= MARGIN:
        return NOTHING if last - first < -MARGIN else UNCLEAR
    # The earlier one is as late as it may be.
    first_other, last_other = min(first, end), min(last, end)
    all_hold = True
    for k in range(len(chosen)):
        low, high = chosen[k, 0], chosen[k, 1]
        z = functions[half, k, 0] - functions[other, k, 0]
        p, q = functions[half, k, 1], -functions[other, k, 1]
        scale = max(abs(p), abs(q))
        if scale == 0.0:
            scale = 1.0
        # No strip is empty: one of its ends is finite, or it allows all.
        size = abs(z) + (abs(p) + abs(q)) * (max(abs(first), abs(last)) + window)
        size += abs(low) if low > -np.inf else 0.0
        size += abs(high) if high < np.inf else 0.0
        margin = MARGIN * scale + ROUNDING * size
        at_first, at_last = z + p * first + q * first_other, z + p * last + q * last_other
        least, most = min(at_first, at_last), max(at_first, at_last)
        all_hold = all_hold and least - low > margin and high - most > margin
        # With the window: u may be any of t - window … t, whatever else bounds it.
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


@bare
def whole_interval(
    segments: Floats, half: int, window: float, times: Floats, ends: Floats
) -> tuple[bool, float, float, bool, bool]:
    """All that segments and window allow."""
    other = 1 - half
    no_ends(ends, GIVEN)
    bound_below(ends, GIVEN, segments[half, 0], segments[half, 2] > 0.0)
    bound_below(ends, GIVEN, segments[other, 0], segments[other, 2] > 0.0)
    bound_above(ends, GIVEN, segments[half, 1], segments[half, 3] > 0.0)
    bound_above(ends, GIVEN, segments[other, 1] + window, segments[other, 3] > 0.0)
    bound_below(ends, GIVEN, times[NOW, FIRST], times[NOW, CLOSED] == 0.0)
    bound_above(ends, GIVEN, times[NOW, LAST], times[NOW, UNTIL_BEFORE] > 0.0)
    return interval(ends[GIVEN, LOW], ends[GIVEN, LOW_OPEN], ends[GIVEN, HIGH], ends[GIVEN, HIGH_OPEN])
