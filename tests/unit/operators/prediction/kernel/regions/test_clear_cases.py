"""Shortcuts for pairs that are clearly near or clearly apart, against the lines that they spare."""

from __future__ import annotations

import numpy as np
from numba import njit

from presage.arrays.jit import Floats, Ints
from presage.operators.prediction.kernel.regions.clear_cases import (
    EVERYTHING,
    NOTHING,
    UNCLEAR,
    clear_case,
    whole_interval,
)
from presage.operators.prediction.kernel.regions.halves import Placed, start_region
from presage.operators.prediction.kernel.regions.regions import FORMS, GIVEN, NOW, Region, most_lines, project

TERMS = 2


@njit
def put(into: Floats, i: int, half: int, found: tuple[bool, float, float, bool, bool]) -> None:
    there_is, low, high, low_open, high_open = found
    into[i, half, 0], into[i, half, 1], into[i, half, 2] = there_is, low, high
    into[i, half, 3], into[i, half, 4] = low_open, high_open


@njit
def both_ways(
    segments: Floats, functions: Floats, window: Floats, times: Floats, strips: Floats, room: int
) -> tuple[Ints, Floats, Floats]:
    """Of each case and half: which kind it is; what the shortcut finds; what all lines find."""
    n = len(segments)
    kinds, quick, slow = np.zeros((n, 2), np.int64), np.zeros((n, 2, 5)), np.zeros((n, 2, 5))
    lines, counts, ends = np.empty((FORMS, 2, room, 5)), np.zeros((FORMS, 2), np.int64), np.empty((FORMS, 4))
    for i in range(n):
        asked = times[i : i + 1]
        placed, region = Placed(segments[i], functions[i], np.zeros(2)), Region(lines, counts, ends, asked, TERMS)
        for half in range(2):
            chosen = strips[i].copy()
            if start_region(placed, half, window[i], chosen, region):
                put(slow, i, half, project(region, GIVEN, NOW))
            kind = clear_case(placed, half, window[i], asked, chosen)
            kinds[i, half] = kind
            if kind == EVERYTHING:
                put(quick, i, half, whole_interval(segments[i], half, window[i], region))
            elif kind == UNCLEAR and start_region(placed, half, window[i], chosen, region):
                put(quick, i, half, project(region, GIVEN, NOW))
    return kinds, quick, slow


def test_what_a_shortcut_finds_is_what_all_lines_would_find_to_the_last_bit() -> None:
    random = np.random.default_rng(5)
    n = 100_000
    # Small whole numbers: ends, windows and strips often touch, rates are often equal or zero.
    start = random.integers(-8, 8, (n, 2)).astype(float)
    long = random.integers(0, 12, (n, 2))
    opens = random.integers(0, 2, (n, 2, 2)).astype(float)
    segments = np.concatenate([start[:, :, None], (start + long)[:, :, None], opens], axis=2)
    functions = random.integers(-6, 7, (n, 2, TERMS, 2)).astype(float)
    functions[::2] += random.normal(0, 1, (n // 2, 2, TERMS, 2))
    window = random.integers(0, 5, n).astype(float)
    times = np.sort(random.integers(-10, 14, (n, 2)).astype(float), axis=1)
    times[random.random((n, 2)) < 0.2] = np.inf
    times[:, 0] = np.where(np.isinf(times[:, 0]), -np.inf, times[:, 0])
    # Whether the first belongs to them, and whether the last does not.
    times = np.concatenate([times, random.integers(0, 2, (n, 2)).astype(float)], axis=1)
    low = random.integers(-30, 20, (n, TERMS)).astype(float)
    high = low + random.integers(0, 40, (n, TERMS))
    low[random.random((n, TERMS)) < 0.1] = -np.inf
    high[random.random((n, TERMS)) < 0.1] = np.inf
    strips = np.stack([low, high, *random.integers(0, 2, (2, n, TERMS)).astype(float)], axis=2)
    kinds, quick, slow = both_ways(segments, functions, window, times, strips, most_lines(TERMS))
    there_is = slow[:, :, 0] > 0
    assert not there_is[kinds == NOTHING].any()
    assert (quick[:, :, 0] > 0).tolist() == there_is.tolist()
    assert np.array_equal(quick[there_is], slow[there_is])
    # Each kind is met often.
    assert min(np.sum(kinds == kind) for kind in (UNCLEAR, NOTHING, EVERYTHING)) > n // 50
