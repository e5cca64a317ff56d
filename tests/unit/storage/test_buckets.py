"""Bucket numbers, which are part of the format, and what they and the statistics exclude."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from presage.storage.buckets import MOST_KEYS, KeyFilter, buckets, hashes
from presage.storage.delta import LiveFile

SCHEMA = pa.schema([("room", pa.string()), ("n", pa.int64()), ("d", pa.float64()), ("at", pa.timestamp("us", "UTC"))])


def file(name: str = "x.parquet", low: dict[str, Any] | None = None, high: dict[str, Any] | None = None) -> LiveFile:
    return LiveFile(name, 1, 1, None, None, None, None, low or {}, high or {})


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (["a", "b", None], pa.string(), [0x7F7E6904, 0xE67738BE, 0]),
        ([1, -1], pa.int64(), [0xA438C22B, 0xC9B37368]),
        ([True, False], pa.bool_(), [0x47CC1BE0, 0x30CB2B76]),
    ],
)
def test_the_hash_of_a_value_is_what_it_was_when_files_were_written(
    values: list[Any], kind: pa.DataType, expected: list[int]
) -> None:
    assert hashes([pa.array(values, kind)]).tolist() == expected


def test_values_that_a_query_takes_for_equal_share_a_bucket() -> None:
    column = pa.array([0.0, -0.0, float("nan"), -float("nan")])
    first, second, third, fourth = hashes([column]).tolist()
    assert first == second
    assert third == fourth
    assert hashes([pa.array([7], pa.int32())]).tolist() == hashes([pa.array([7], pa.int64())]).tolist()


def test_the_hash_does_not_depend_on_how_a_column_is_cut_into_chunks() -> None:
    values = [["a", None, "b"], [], ["b", "a", "c"]]
    whole = pa.array([v for chunk in values for v in chunk])
    assert hashes([pa.chunked_array(values, pa.string())]).tolist() == hashes([whole]).tolist()


def test_all_columns_of_a_key_count() -> None:
    one, two = pa.array(["a", "a", "b"]), pa.array([1, 2, 1])
    assert len(set(hashes([one, two]).tolist())) == 3


def test_many_keys_spread_over_all_buckets() -> None:
    counts = [0] * 16
    for bucket in buckets([pa.array([f"room {i}" for i in range(16_000)])], 16).tolist():
        counts[bucket] += 1
    assert min(counts) > 800
    assert max(counts) < 1_200


@pytest.mark.parametrize(
    ("values", "excluded"),
    [
        ({"n": [4]}, True),
        ({"n": [5]}, False),
        ({"n": [9]}, False),
        ({"n": [10]}, True),
        ({"n": [4, 10]}, True),
        ({"n": [4, 7]}, False),
        ({"n": []}, True),
        ({"n": [None]}, False),
        ({"n": ["no number"]}, False),
        ({"room": ["a"]}, True),
        ({"room": ["c"]}, False),
        ({"room": ["c"], "n": [1]}, True),
        ({"d": [1.0]}, False),
        ({"at": [datetime(2024, 1, 1, tzinfo=UTC)]}, False),
        ({"at": [datetime(2024, 1, 3, tzinfo=UTC)]}, True),
        ({}, False),
    ],
)
def test_a_file_is_excluded_when_its_least_and_greatest_values_say_so(
    values: dict[str, list[Any]], excluded: bool
) -> None:
    low = {"n": 5, "room": "b", "at": "2024-01-01T00:00:00.000000Z"}
    high = {"n": 9, "at": "2024-01-02T00:00:00.000000Z"}
    assert KeyFilter(values, (), SCHEMA).excludes(file(low=low, high=high)) == excluded


def old(bucket: int, count: int) -> LiveFile:
    return file(f"00000000000001-00000-ab-old-{bucket}of{count}.parquet")


def test_an_old_file_is_excluded_when_its_bucket_cannot_hold_the_key() -> None:
    mine = int(buckets([pa.array(["a"])], 4)[0])
    only_a = KeyFilter({"room": ["a"]}, ("room",), SCHEMA)
    assert [only_a.excludes(old(b, 4)) for b in range(4)] == [b != mine for b in range(4)]
    assert not only_a.excludes(old(0, 1))
    assert not only_a.excludes(file())


def test_a_bucket_excludes_nothing_unless_all_columns_of_the_key_are_given() -> None:
    part = KeyFilter({"room": ["a"]}, ("room", "n"), SCHEMA)
    assert not any(part.excludes(old(b, 4)) for b in range(4))
    whole = KeyFilter({"room": ["a"], "n": [1]}, ("room", "n"), SCHEMA)
    assert sum(not whole.excludes(old(b, 4)) for b in range(4)) == 1


def test_very_many_keys_are_not_looked_for_by_bucket() -> None:
    many = KeyFilter({"n": range(MOST_KEYS + 1)}, ("n",), SCHEMA)
    assert not any(many.excludes(old(b, 1 << 16)) for b in range(100))
