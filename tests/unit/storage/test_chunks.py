"""Which files are old, and which of the others a compaction takes together."""

from __future__ import annotations

import pytest

from presage.storage.chunks import OLD, PRESENT, RECENT, Shape, age, bucket_of, neighbours_to_merge, slices_to_compact
from presage.storage.delta import LiveFile

SHAPE = Shape(slice=100, least_rows=10, rows_per_file=1_000, bytes_per_file=1_000_000, group_rows=50, fan=4)


def file(name: str, first: int, last: int, rows: int = 10, size: int = 1) -> LiveFile:
    return LiveFile(name, size, rows, first, last, 0, 0)


def names(groups: list[list[LiveFile]]) -> list[list[str]]:
    return [[member.name for member in group] for group in groups]


@pytest.mark.parametrize(("last", "watermark", "expected"), [(5, 6, RECENT), (6, 6, PRESENT), (6, None, PRESENT)])
def test_a_file_is_present_while_events_may_join_its_times(last: int, watermark: int | None, expected: str) -> None:
    assert age(file("00-1-a.parquet", 0, last), watermark) == expected


def test_an_old_file_tells_its_bucket_by_name() -> None:
    old = file("00000000000001-00000-ab-old-3of16.parquet", 0, 5)
    assert age(old, None) == OLD
    assert bucket_of(old.name) == (3, 16)
    assert bucket_of("00000000000001-00000-ab.parquet") is None


def test_only_files_in_slices_that_have_ended_are_compacted() -> None:
    files = [file("a", 0, 99), file("b", 50, 150), file("c", 150, 199), file("d", 190, 200)]
    assert names(slices_to_compact(files, 199, SHAPE)) == [["a"]]
    assert names(slices_to_compact(files, 200, SHAPE)) == [["a", "b", "c"]]
    assert slices_to_compact(files, None, SHAPE) == []


def test_a_group_ends_with_its_slice_when_it_has_rows_enough() -> None:
    files = [file("a", 0, 10), file("b", 20, 30), file("c", 110, 120), file("d", 210, 220, rows=9), file("e", 310, 320)]
    assert names(slices_to_compact(files, 1_000, SHAPE)) == [["a", "b"], ["c"], ["d", "e"]]


def test_too_few_rows_wait_for_more() -> None:
    assert slices_to_compact([file("a", 0, 10, rows=9)], 1_000, SHAPE) == []
    assert names(slices_to_compact([file("a", 0, 10, rows=9), file("b", 5, 6, rows=1)], 1_000, SHAPE)) == [["a", "b"]]


def test_a_group_never_holds_more_rows_than_memory_should() -> None:
    files = [file(f"{i:02d}", i, i, rows=20) for i in range(10)]
    groups = slices_to_compact(files, 1_000, SHAPE)
    assert all(sum(f.rows for f in group) <= SHAPE.group_rows for group in groups)
    assert sorted(name for group in names(groups) for name in group) == [f"{i:02d}" for i in range(10)]


def test_old_files_and_files_without_times_are_left_alone() -> None:
    unknown = LiveFile("x", 1, 50, None, None, None, None)
    assert slices_to_compact([unknown, file("1-old-0of1.parquet", 0, 1, rows=50)], 1_000, SHAPE) == []


def test_neighbours_of_one_size_are_merged_when_there_are_enough() -> None:
    small = [file(str(i), 0, 0, rows=1) for i in range(4)]
    assert names(neighbours_to_merge(small, SHAPE)) == [["0", "1", "2", "3"]]
    assert neighbours_to_merge(small[:3], SHAPE) == []


def test_a_large_file_between_small_ones_is_not_written_again() -> None:
    files = [file(str(i), 0, 0, rows=900 if i == 3 else 1) for i in range(7)]
    assert neighbours_to_merge(files, SHAPE) == []


def test_files_grown_to_one_size_are_merged_again_and_full_ones_are_not() -> None:
    assert names(neighbours_to_merge([file(str(i), 0, 0, rows=20) for i in range(4)], SHAPE)) == [["0", "1", "2", "3"]]
    assert neighbours_to_merge([file(str(i), 0, 0, rows=600) for i in range(4)], SHAPE) == []


def test_a_merged_file_is_not_larger_than_a_file_should_be() -> None:
    groups = neighbours_to_merge([file(f"{i:02d}", 0, 0, rows=200) for i in range(12)], SHAPE)
    assert [sum(f.rows for f in group) for group in groups] == [1_000, 1_000]


def test_bytes_count_as_rows_do() -> None:
    assert neighbours_to_merge([file(str(i), 0, 0, rows=1, size=600_000) for i in range(4)], SHAPE) == []


@pytest.mark.parametrize(("rows", "count"), [(0, 1), (19, 1), (20, 2), (39, 2), (40, 4), (1_000, 4)])
def test_buckets_are_as_many_as_the_rows_fill(rows: int, count: int) -> None:
    assert Shape(buckets=4, rows_per_bucket=10).bucket_count(rows) == count
