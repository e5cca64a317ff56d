"""DataFrames over files of the archive, and the statistics of their events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from presage.model.paths import is_address
from presage.storage import SEQ, TIME, FileSet
from presage.storage.data_files import check_seals, read_data

# Spark's reader verifies the checksums of pages only with this option.
CHECKED = "parquet.page.verify-checksum.enabled"


def read_archive(spark: SparkSession, files: FileSet) -> DataFrame:
    """The events of a file set, by explicit paths: the folder of a Delta table also holds removed files."""
    if any(map(is_address, files.paths)):
        frame = _read_from_bucket(spark, files)
    else:
        check_seals(files.paths)
        frame = spark.read.option(CHECKED, "true").schema(from_arrow_schema(files.schema)).parquet(*files.paths)
    bounds = files.predicates
    if bounds.after is not None:
        frame = frame.where(F.col(SEQ) > bounds.after)
    if bounds.up_to is not None:
        frame = frame.where(F.col(SEQ) <= bounds.up_to)
    if bounds.low is not None:
        frame = frame.where(F.col(TIME) >= F.timestamp_micros(F.lit(bounds.low)))
    if bounds.high is not None:
        frame = frame.where(F.col(TIME) < F.timestamp_micros(F.lit(bounds.high)))
    return frame


def _read_from_bucket(spark: SparkSession, files: FileSet) -> DataFrame:
    """Read by Python tasks, one file each: Spark comes without a connector to object stores."""
    paths, schema = files.paths, files.schema
    from presage.storage.object_store import opened_at  # loads obstore, which a home in a folder does not need

    store, _ = opened_at(paths[0])

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        store.register()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read_data(paths[number], schema).to_batches()

    return spark.range(0, len(paths), 1, len(paths)).mapInArrow(read, from_arrow_schema(schema))


def last_event(session: Callable[[], SparkSession], files: FileSet) -> int | None:
    """The greatest event time; from the statistics, unless a bound cuts through a file."""
    if files.exact or files.max_time is None:
        return files.max_time
    row = read_archive(session(), files).agg(F.max(F.unix_micros(F.col(TIME))).alias("last")).first()
    return None if row is None else row["last"]


def count_events(several: Iterable[FileSet]) -> int:
    """How many events the files hold, at most."""
    return sum(files.rows for files in several)


def time_span(several: Iterable[FileSet]) -> tuple[int, int]:
    """The first and last event time of the files."""
    times = [t for files in several for t in (files.min_time, files.max_time) if t is not None]
    return (min(times), max(times)) if times else (0, 0)
