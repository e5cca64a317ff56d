"""Steps of each key: one for each time of a reading, or every multiple of the model's step (a grid).

On a grid a reading belongs to the first multiple of the step that is not before it, so a step is complete when the
watermark passes it. Between two readings of a key lie steps without readings. A key that is silent for longer than
`forget` restarts: no steps between, and no memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Ints, compiled
from presage.errors import error
from presage.operators.sequence.kernel.hidden_markov.spec import HiddenMarkov

NONE = -(2**62)  # no time
MOST_STEPS = 100_000_000


class Steps(NamedTuple):
    """Steps of key k: `bounds[k]` to `bounds[k + 1]`. Step s has the time `time[s]` and the readings `low[s]` to
    `high[s]`; `fresh[s]`: it does not follow from the step before. `at`, `seen` by key: its last step and the last
    one with readings."""

    bounds: Ints
    time: Ints
    low: Ints
    high: Ints
    fresh: Ints
    at: Ints
    seen: Ints


def step_times(model: HiddenMarkov, times: Ints) -> Ints:
    return times if not model.step else -(-times // model.step) * model.step


def steps_of(model: HiddenMarkov, rows: Ints, times: Ints, at: Ints, seen: Ints, until: int = NONE) -> Steps:
    """`rows[k]` to `rows[k + 1]` are the readings of key k, `times` the times of their steps, rising for each key.

    `at` and `seen` are a key's last step and last step with readings in earlier batches (NONE: none). With `until`, the
    steps of a key continue to that time or until it is forgotten; without, they end with its last reading.
    """
    bounds = _count(rows, times, at, seen, model.step, model.forget, until)
    if bounds[-1] > MOST_STEPS:
        what = f"the inference of {bounds[-1]:,} steps at once"
        fix = 'make "step" of the model longer, or let it "forget" keys that are silent'
        raise error("LIMIT", what=what, limit_name="inferred steps", limit=f"{MOST_STEPS:,}", fix=fix)
    return Steps(bounds, *_fill(bounds, rows, times, at, seen, model.step, model.forget, until))


@compiled
def _count(rows: Ints, times: Ints, at: Ints, seen: Ints, grid: int, forget: int, until: int) -> Ints:
    bounds = np.zeros(rows.size, np.int64)
    for k in range(rows.size - 1):
        now = at[k]
        last = seen[k]
        count = 0
        for r in range(rows[k], rows[k + 1]):
            t = times[r]
            if r > rows[k] and t == times[r - 1]:
                continue
            if last != NONE and grid > 0:
                if forget < 0 or t - last <= forget:
                    count += (t - now) // grid - 1
                elif until != NONE:
                    count += max((last + forget - now) // grid, 0)
            count += 1
            now = t
            last = t
        if until != NONE and last != NONE and grid > 0:
            end = until if forget < 0 else min(until, last + forget)
            count += max((end - now) // grid, 0)
        bounds[k + 1] = bounds[k] + count
    return bounds


@compiled
def _fill(
    bounds: Ints, rows: Ints, times: Ints, at: Ints, seen: Ints, grid: int, forget: int, until: int
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
    time = np.empty(bounds[-1], np.int64)
    low = np.zeros(bounds[-1], np.int64)
    high = np.zeros(bounds[-1], np.int64)
    fresh = np.zeros(bounds[-1], np.int64)
    at_end = at.copy()
    seen_end = seen.copy()
    for k in range(rows.size - 1):
        now = at[k]
        last = seen[k]
        s = bounds[k]
        r = rows[k]
        while r < rows[k + 1]:
            t = times[r]
            known = last != NONE
            follows = known and (forget < 0 or t - last <= forget)
            # The steps without readings before this one.
            if known and grid > 0:
                end = now
                if follows:
                    end = t - grid
                elif until != NONE:
                    end = last + forget
                while now + grid <= end:
                    now += grid
                    time[s] = now
                    s += 1
            time[s] = t
            low[s] = r
            while r < rows[k + 1] and times[r] == t:
                r += 1
            high[s] = r
            fresh[s] = 0 if follows else 1
            s += 1
            now = t
            last = t
        if until != NONE and last != NONE and grid > 0:
            end = until if forget < 0 else min(until, last + forget)
            while now + grid <= end:
                now += grid
                time[s] = now
                s += 1
        at_end[k] = now
        seen_end[k] = last
    return time, low, high, fresh, at_end, seen_end
