"""Open intervals continued by new ones, against the plain merge by groups; the ticks of VALIDATE EVERY."""

from __future__ import annotations

import numpy as np
import pytest

from presage.operators.prediction.kernel.intervals.merge import Intervals, merge
from presage.operators.prediction.kernel.intervals.spans import Spans, continued, ticks_within


@pytest.mark.parametrize("moment", [0, 15, 100])
def test_found_and_carried_intervals_become_one_where_they_touch(moment: int) -> None:
    random = np.random.default_rng(moment)
    objects, count, open_before, evaluated = 6, 120, 20, 10
    codes = random.integers(0, objects, (count, 2))
    start = evaluated + random.integers(0, 20, count)
    end = start + random.integers(0, 4, count)
    # As times after the last evaluated moment are: open where they begin there, and no point.
    opens = random.random((count, 2)) < 0.5
    opens[:, 0] |= start == evaluated
    opens[start == end] = False
    found = Spans(codes, start, end, opens[:, 0], opens[:, 1], random.random(count)).take(end > evaluated)
    pairs = np.unique(random.integers(0, objects, (open_before, 2)), axis=0)
    random.shuffle(pairs)
    n = len(pairs)
    closed, reached = np.zeros(n, np.bool_), np.full(n, evaluated)
    carried = Spans(pairs, random.integers(0, evaluated, n), reached, random.random(n) < 0.5, closed, random.random(n))
    made, made_origin, over = continued(carried, found, moment)

    def both(name: str) -> np.ndarray:
        return np.concatenate([getattr(carried, name), getattr(found, name)])

    zeros = np.zeros(n + len(found))
    group = both("codes")[:, 0] * objects + both("codes")[:, 1]
    columns = both("start"), both("end"), zeros, zeros, both("start_open"), both("end_open"), both("probability")
    expected, row = merge(Intervals(group, *columns))
    origin = np.full(len(expected), -1)
    origin[row[:n]] = np.arange(n)
    order = np.argsort(expected.end >= moment, kind="stable")
    assert over == np.sum(expected.end < moment)
    assert (made.codes[:, 0] * objects + made.codes[:, 1]).tolist() == expected.group[order].tolist()
    for name in ("start", "end", "start_open", "end_open", "probability"):
        assert getattr(made, name).tolist() == getattr(expected, name)[order].tolist()
    assert made_origin.tolist() == origin[order].tolist()
    assert (made_origin >= 0).sum() == n


def test_what_has_ended_comes_before_what_goes_on() -> None:
    opens, codes = np.zeros(4, np.bool_), np.array([[0, 1], [0, 1], [1, 0], [1, 0]])
    found = Spans(codes, np.array([2, 6, 2, 6]), np.array([4, 9, 4, 9]), opens, opens, np.zeros(4))
    made, _, over = continued(found.part(0, 0), found, 9)
    assert (made.end.tolist(), over) == ([4, 4, 9, 9], 2)


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
