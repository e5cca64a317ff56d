"""Packed rows: Arrow tables as bytes. Spark gives stateful Python functions pandas rows, which have no null integer
and no nested type, so rows travel packed and nothing is converted."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import types as spark

from presage.arrays.columns import ints
from presage.frames.batch import ARRIVAL, gathered

SHARD, MOMENT, ROWS = "shard", "moment", "rows"
# Time of all packed rows: it only has to be there. Lateness is decided by row, in `stream`.
_LATER = 7_258_118_400_000_000  # the year 2200
_PACKED = pa.schema([(SHARD, pa.int32()), (MOMENT, pa.timestamp("us", tz="UTC")), (ROWS, pa.binary())])


def packed_schema(watermark: dict[str, int]) -> spark.StructType:
    """`watermark` is Spark's note on a column; without it Spark would not let time pass for the packed rows."""
    return spark.StructType(
        [
            spark.StructField(SHARD, spark.IntegerType()),
            spark.StructField(MOMENT, spark.TimestampType(), True, watermark),
            spark.StructField(ROWS, spark.BinaryType()),
        ]
    )


def pack(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows with their shard -> one row for each shard. Rows are numbered in the order in which they come."""
    context = TaskContext.get()
    done = (context.partitionId() if context is not None else 0) << 40
    for table in gathered(batches, schema):
        table = table.append_column(ARRIVAL, pa.array(np.arange(done, done + table.num_rows)))
        done += table.num_rows
        labels = ints(table, SHARD)
        table = table.drop_columns([SHARD])
        for label in np.unique(labels):
            part = to_bytes(table.filter(pa.array(labels == label)))
            yield pa.RecordBatch.from_pylist([{SHARD: int(label), MOMENT: _LATER, ROWS: part}], _PACKED)


def unpack(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for packed in batch.column(0):
            yield from from_bytes(packed.as_py()).select(schema.names).cast(schema).to_batches()


def to_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue().to_pybytes())


def from_bytes(data: bytes) -> pa.Table:
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_all()
