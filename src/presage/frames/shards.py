"""Labels of shards, chosen so that Spark spreads them evenly over its partitions."""

from __future__ import annotations

from functools import cache

_MASK = 0xFFFFFFFF
_SEED = 42


@cache
def shard_labels(shards: int) -> tuple[int, ...]:
    """One label for each shard. Spark puts a group at hash(label) modulo the number of partitions: the hashes of these
    are 0, 1, 2 … modulo the number of shards, so that partitions of a number that divides it get as many of them."""
    found: dict[int, int] = {}
    label = 0
    while len(found) < shards:
        found.setdefault(spark_hash(label) % shards, label)
        label += 1
    return tuple(found[i] for i in range(shards))


def spark_hash(value: int) -> int:
    """What Spark's hash() gives for an INT: Murmur3 of its four bytes, without sign."""
    mixed = value * 0xCC9E2D51 & _MASK
    mixed = _rotated(mixed, 15) * 0x1B873593 & _MASK
    state = (_rotated(_SEED ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    state ^= 4
    state = (state ^ state >> 16) * 0x85EBCA6B & _MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & _MASK
    return state ^ state >> 16


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & _MASK
