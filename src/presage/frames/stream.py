"""A stage over a streaming DataFrame: rows leave once they are final; one state for each shard of the keys.

A Spark group for each key would cost a call of Python for each (10,000 keys: twenty times as long as 8 shards of them).
Spark keeps the states with its own checkpoint and lets time pass: an event-time timeout calls shards without rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from presage.frames.batch import ARRIVAL
from presage.frames.columns import WATERMARK
from presage.frames.packing import ROWS, SHARD, from_bytes, pack, packed_schema, to_bytes, unpack
from presage.frames.planning import FramePlan
from presage.frames.rows import NO_TIME, arrow_schema, kernel_rows, made_schema, result_rows
from presage.frames.shard_step import ShardStep
from presage.model.operator_state import State
from presage.plan.expr import ColumnRef
from presage.plan.nodes import TIME

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql.streaming.state import GroupState

MILLI = 1_000
# Of Spark's hash().
_MASK = 0xFFFFFFFF
_SEED = 42


def run_stream(frame: DataFrame, plan: FramePlan, shards: int) -> DataFrame:
    # A row without a time has no place in a stream.
    rows = kernel_rows(frame, plan).where(F.col(TIME) > NO_TIME).select("*", _shard_of(plan, shards).alias(SHARD))
    given = arrow_schema(rows.schema)
    schema = made_schema(plan)
    made = arrow_schema(schema)
    kept = pa.schema([*(f for f in given if f.name != SHARD), (ARRIVAL, pa.int64())])
    shard = ShardStep(plan.kernel, kept, plan.order, plan.waits, checkpoint_number(plan, given, shards))

    def packing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return pack(batches, given)

    def unpacking(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return unpack(batches, made)

    def step(key: Any, chunks: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        return _step(shard, chunks, state)

    watermark = {WATERMARK: plan.columns.watermarks[_time_column(plan)]}
    packed = rows.mapInArrow(packing, packed_schema(watermark))
    found = packed.groupBy(SHARD).applyInPandasWithState(
        step, f"{ROWS} binary", "state binary", "append", "EventTimeTimeout"
    )
    return result_rows(found.mapInArrow(unpacking, schema), plan)


def checkpoint_number(plan: FramePlan, given: pa.Schema, shards: int) -> int:
    """The hash that a checkpoint keeps, so that another query does not go on with its states."""
    return zlib.crc32(repr((*plan.identity, str(given), shards)).encode())


def _step(shard: ShardStep, chunks: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    """One call of Spark's for one shard."""
    import pandas as pd

    arrived = [from_bytes(bytes(packed)) for chunk in chunks for packed in chunk[ROWS]]
    # Until the first batch is over Spark's watermark is 0.
    millis = state.getCurrentWatermarkMs()
    watermark = millis * MILLI if millis > 0 else None
    held = State.from_bytes(bytes(state.get[0]), "the checkpoint") if state.exists else None
    after, rows = shard.step(held, arrived, watermark)
    if after is None:
        state.remove()
    else:
        state.update((after.to_bytes(),))
        due = shard.due(after, watermark)
        if due is not None:
            # Spark calls when its watermark has passed this.
            state.setTimeoutTimestamp(max(due // MILLI, millis, 1))
    if rows.num_rows:
        yield pd.DataFrame({ROWS: [to_bytes(rows)]})


def _shard_of(plan: FramePlan, shards: int) -> Column:
    """The label of a row's shard, by its key; without a key there is one shard."""
    if not plan.stage.keys:
        return F.lit(shard_labels(1)[0])
    labels = F.array(*(F.lit(label) for label in shard_labels(shards)))
    return F.get(labels, F.pmod(F.xxhash64(*(F.col(key) for key in plan.stage.keys)), F.lit(shards)).cast("int"))


def _time_column(plan: FramePlan) -> str:
    """The user's name of the column that rows are ordered by."""
    first = next(n.expr for n in plan.input.prepared if n.name == plan.order[0][0])
    assert isinstance(first, ColumnRef)
    return plan.columns.schema[plan.columns.places[first.name]].name


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
