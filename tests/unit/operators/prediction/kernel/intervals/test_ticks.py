"""The moments of VALIDATE EVERY at which there is something to cut."""

from __future__ import annotations

import numpy as np

from presage.operators.prediction.kernel.intervals.ticks import ticks_within


def test_only_ticks_within_an_interval_are_visited() -> None:
    start, end = np.array([95, 12, 15, 30, 40]), np.array([96, 30, 21, 30, 52])
    # 30 lies at the start of one, which is not cut there, and at the end of another, which is.
    assert list(ticks_within(start, end, range(10, 100, 10))) == [20, 30, 50]


def test_each_tick_comes_once_and_in_order_as_a_plain_search_finds_them() -> None:
    random = np.random.default_rng(1)
    for _ in range(300):
        start = random.integers(0, 80, random.integers(0, 6))
        end = start + random.integers(0, 30, len(start))
        ticks = range(int(random.integers(5, 20)), int(random.integers(20, 90)), int(random.integers(1, 9)))
        expected = [m for m in ticks if ((start < m) & (m <= end)).any()]
        assert list(ticks_within(start, end, ticks)) == expected


def test_a_very_long_silence_is_passed_at_once() -> None:
    century = 10**8 * 3_155_760
    assert next(ticks_within(np.array([century - 5]), np.array([century]), range(1, century))) == century - 4
