"""Which slices of old history say how rare terms are: evenly spread, small, and none where that would not pay."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presage.operators.recall import history_sample as survey
from presage.operators.recall.history_chunks import Chunk
from presage.operators.recall.history_sample import Slice, plan_slices

HOUR = 3_600_000_000


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SAMPLE_EVENTS", 100), ("SLICES", 10), ("MOST_ROWS", 5_000), ("FEWEST_SLICES", 4)):
        monkeypatch.setattr(survey, name, value)


def files(*rows: int) -> list[tuple[int, int, int]]:
    """A file for each hour."""
    return [(hour * HOUR, (hour + 1) * HOUR - 1, count) for hour, count in enumerate(rows)]


def rows_in(known: list[tuple[int, int, int]], each: Slice) -> float:
    """As if rows were spread evenly over a file."""
    return sum(max(0, min(each.high, last + 1) - max(each.low, first)) * n / HOUR for first, last, n in known)


@given(st.lists(st.integers(500, 5_000), min_size=5, max_size=12), st.integers(50, 500))
def test_slices_stand_for_all_that_is_older(rows: list[int], events: int) -> None:
    known, low = files(*rows), (len(rows) - 1) * HOUR
    slices = plan_slices(known, Chunk(low, low + HOUR), events, -(2**60), 0)
    older = sum(rows[:-1])
    if slices is None:
        assert older < 2 * 100 * rows[-1] / events + 1
        return
    assert all(each.low < each.high <= low for each in slices)
    assert all(after.low >= before.high for after, before in pairwise(slices))
    stood_for = sum(rows_in(known, each) * each.weight for each in slices)
    assert stood_for == pytest.approx(older, rel=0.02)
    # As many from each tenth of what is older.
    sizes = [rows_in(known, each) for each in slices]
    assert max(sizes) == pytest.approx(min(sizes), rel=0.02)
    assert sum(sizes) <= 2 * 5_000


def test_what_no_event_looks_back_to_is_not_read() -> None:
    slices = plan_slices(files(*[1_000] * 10), Chunk(9 * HOUR, 10 * HOUR), 500, 4 * HOUR, 0)
    assert slices
    assert min(each.low for each in slices) >= 4 * HOUR


def test_what_is_hardly_more_than_the_sample_may_as_well_be_read() -> None:
    assert plan_slices(files(150, 1_000), Chunk(HOUR, 2 * HOUR), 1_000, 0, 0) is None


def test_contexts_that_look_far_back_are_read_in_fewer_slices_or_not_at_all() -> None:
    known, held = files(*[1_000] * 100), Chunk(99 * HOUR, 100 * HOUR)
    counts = [len(plan_slices(known, held, 1_000, 0, hours * HOUR) or []) for hours in (0, 1, 2)]
    assert counts == [10, 5, 0]


def test_without_older_history_there_is_nothing_to_sample() -> None:
    assert plan_slices([], Chunk(0, HOUR), 0, 0, 0) == []
    assert plan_slices(files(1_000), Chunk(0, HOUR), 10, 0, 0) == []
