"""Which spans of time a recall reads: newest first, small ones before large ones, cut between files where possible."""

from __future__ import annotations

import pytest

from presage.errors import PresageError
from presage.operators.recall.history_chunks import Chunk, history_chunks

HOUR = 3_600_000_000


def hourly(hours: int, rows: int) -> list[tuple[int, int, int]]:
    return [(hour * HOUR, (hour + 1) * HOUR - 1, rows) for hour in range(hours)]


def test_no_events_no_units():
    assert history_chunks([]) == []
    assert history_chunks([(5, 9, 0)]) == []


def test_little_history_is_one_unit_that_ends_after_the_last_event():
    assert history_chunks([(10, 20, 100), (30, 30, 1)]) == [Chunk(10, 31)]


def test_five_small_units_come_first_and_then_each_is_twice_the_one_before():
    units = history_chunks(hourly(100, 500_000))
    hours = [(unit.high - unit.low) // HOUR for unit in units]
    assert hours == [1, 1, 1, 1, 1, 2, 4, 8, 16, 32, 33]


def test_number_and_growth_of_units_can_be_set():
    units = history_chunks(hourly(20, 10), chunk_rows=10, small_chunks=2, growth=3)
    assert [(unit.high - unit.low) // HOUR for unit in units] == [1, 1, 3, 9, 6]


def test_units_stop_growing_where_others_wait_for_them():
    units = history_chunks(hourly(40, 10), chunk_rows=10, small_chunks=2, growth=3, most_rows=80)
    assert [(unit.high - unit.low) // HOUR for unit in units] == [1, 1, 3, 8, 8, 8, 11]


def test_a_cut_lies_between_files_where_that_is_near_enough():
    # 500 000 rows would end within the older file.
    units = history_chunks([(0, 999, 350_000), (1000, 1999, 350_000), (2000, 2999, 350_000)])
    assert units == [Chunk(2000, 3000), Chunk(0, 2000)]
    assert history_chunks([(0, 999, 400_000), (1000, 1999, 400_000), (2000, 2999, 400_000)])[0] == Chunk(2000, 3000)


def test_a_file_much_larger_than_a_unit_is_cut_evenly():
    assert history_chunks([(0, 3999, 2_000_000)]) == [
        Chunk(3000, 4000),
        Chunk(2000, 3000),
        Chunk(1000, 2000),
        Chunk(0, 1000),
    ]


def test_buckets_of_one_slice_share_their_span_and_are_cut_together():
    slices = [(low, low + 999, 125_000) for low in (0, 1000, 2000) for _bucket in range(4)]
    assert history_chunks(slices) == [Chunk(2000, 3000), Chunk(1000, 2000), Chunk(0, 1000)]
    # Buckets do not begin and end at the very same event.
    ragged = [(low + bucket, low + 999 - bucket, 125_000) for low in (0, 1000, 2000) for bucket in range(4)]
    assert history_chunks(ragged) == [Chunk(2000, 3000), Chunk(1000, 2000), Chunk(0, 1000)]


def test_a_cut_divides_the_files_with_the_fewest_rows():
    # A long thin file lies below two thick ones: it is divided, and they are not.
    files = [(0, 1999, 10_000), (0, 999, 600_000), (1000, 1999, 600_000)]
    assert history_chunks(files) == [Chunk(1000, 2000), Chunk(0, 1000)]


def test_an_empty_stretch_belongs_to_the_newer_unit():
    # It is known that nothing lies there, so it counts as read.
    assert history_chunks([(0, 9, 500_000), (1000, 1009, 500_000)]) == [Chunk(10, 1010), Chunk(0, 10)]


def test_events_of_one_microsecond_are_never_divided():
    assert history_chunks([(7, 7, 5_000_000)]) == [Chunk(7, 8)]
    assert history_chunks([(0, 99, 500_000), (50, 50, 5_000_000)], small_chunks=99) == [
        Chunk(51, 100),
        Chunk(50, 51),
        Chunk(0, 50),
    ]


def test_files_of_several_streams_count_together():
    a, b = hourly(8, 250_000), hourly(8, 250_000)
    assert history_chunks([*a, *b])[:2] == [Chunk(7 * HOUR, 8 * HOUR), Chunk(6 * HOUR, 7 * HOUR)]


def test_times_before_1970_are_times_too():
    assert history_chunks([(-2000, -1, 1_000_000)]) == [Chunk(-1000, 0), Chunk(-2000, -1000)]


def test_years_of_history_in_thousands_of_files_leave_no_remainder():
    # Thick instants beside thin years: what rounding left behind would move the cuts by whole files.
    year = 365 * 24 * HOUR
    files = [(i * year // 100, (i + 1) * year // 100 - 1, 3) for i in range(3000)]
    files += [(i * year // 100, i * year // 100, 500_000) for i in range(3000)]
    units = history_chunks(files, growth=1)
    assert len(units) == 3000
    assert all(unit.low * 100 % year < 100 for unit in units)


@pytest.mark.parametrize("wrong", [{"chunk_rows": 0}, {"small_chunks": 0}, {"growth": 0}])
def test_sizes_below_one_are_refused(wrong: dict[str, int]):
    with pytest.raises(PresageError, match="at least 1"):
        history_chunks([(0, 1, 1)], **wrong)
