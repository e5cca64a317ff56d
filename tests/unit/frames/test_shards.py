"""Shards have labels that Spark spreads evenly over its partitions."""

from __future__ import annotations

from collections import Counter

import pytest

from presage.frames.stream import shard_labels, spark_hash


def test_the_hash_is_that_of_spark() -> None:
    # SELECT hash(0), hash(1), hash(42): 933211791, -559580957, 29417773
    assert [spark_hash(value) for value in (0, 1, 42)] == [933211791, -559580957 + 2**32, 29417773]


@pytest.mark.parametrize("shards", [1, 2, 16, 100])
def test_every_shard_has_a_label_of_its_own(shards: int) -> None:
    assert len(set(shard_labels(shards))) == shards


@pytest.mark.parametrize("partitions", [1, 2, 4, 8, 16])
def test_partitions_get_equally_many_shards(partitions: int) -> None:
    # pmod of the signed hash, as Spark places a group.
    signed = [h - 2**32 if h >= 2**31 else h for h in map(spark_hash, shard_labels(16))]
    assert set(Counter(h % partitions for h in signed).values()) == {16 // partitions}
