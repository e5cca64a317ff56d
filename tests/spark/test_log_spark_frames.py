"""Loading a Spark DataFrame: the same archive as from rows, with the user's session as it is."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from presage.errors import DataError
from presage.model.catalog import Attribute, EventType
from presage.model.types import DOUBLE, INT, LONG, STRING, TIMESTAMP, ArrayOf
from presage.storage import Log, spark_ingest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ATTRIBUTES = (
    Attribute("sym", STRING),
    Attribute("n", LONG),
    Attribute("tags", ArrayOf(STRING)),
    Attribute("at", TIMESTAMP),
)
TICK = EventType("Tick", "stream", ATTRIBUTES, event_time="at")
FIRST = {"sym": "first", "n": 0, "tags": None, "at": "2024-01-01T00:00:05"}


def test_a_frame_and_its_rows_make_the_same_archive(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_ingest, "ROWS_PER_TASK", 20)
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        settings = dict(spark.conf.getAll)
        # Times without a zone are UTC whatever the session's zone is; they come in reverse, with ties and nulls.
        frame = spark.range(0, 60, 1, 3).selectExpr(
            "'s' || id AS sym",
            "CAST(id AS INT) AS n",
            "array('t', NULL) AS tags",
            "TIMESTAMP_NTZ '2024-01-01 00:01' - IF(id % 20 = 7, NULL, make_dt_interval(0, 0, 0, 3 * (id div 3))) AS at",
            "IF(id < 5, id, NULL) AS more",
        )
        rows = [{k: v for k, v in row.asDict().items() if v is not None} for row in frame.collect()]
        with Log.open(tmp_path / "frame") as by_frame, Log.open(tmp_path / "rows") as by_rows:
            for log in (by_frame, by_rows):
                log.create_stream(TICK)
                log.append(TICK, [FIRST])
            report = by_frame.append(TICK, frame, once="k")
            assert report == by_rows.append(TICK, rows)
            assert (report.accepted + report.late, report.rejected, report.ignored) == (57, 3, {"more": 5})
            assert report.late == 3
            assert by_frame.append(TICK, frame, once="k").duplicate
            read = [log.archive.read_arrow(log.archive.snapshot("Tick")) for log in (by_frame, by_rows)]
            assert read[0].to_pylist() == read[1].to_pylist()
            assert by_frame.archive.read_late("Tick").equals(by_rows.archive.read_late("Tick"))
            assert by_frame.archive.read_rejected("Tick").num_rows == 3
            assert by_frame.archive.describe("Tick").watermark == by_rows.archive.describe("Tick").watermark
            files = by_frame.archive.snapshot("Tick")
            assert len(files.paths) > 2
            assert pq.ParquetFile(files.paths[-1]).schema.column(1).physical_type == "INT64"
            assert by_frame.append(TICK, [{**FIRST, "at": datetime(2025, 1, 1)}]).first_seq == 59
        assert dict(spark.conf.getAll) == settings
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_a_column_that_would_lose_something_is_refused_before_any_job(spark: SparkSession) -> None:
    wanted = (Attribute("i", INT), Attribute("d", DOUBLE), Attribute("at", TIMESTAMP))
    stream = EventType("S", "stream", wanted, event_time="at")
    with Log.open() as log:
        log.create_stream(stream)
        for columns, found in (("1L AS i", "bigint"), ("1L AS d", "bigint"), ("'2024-01-01' AS at", "string")):
            with pytest.raises(DataError, match=found) as refused:
                log.append(stream, spark.sql(f"SELECT {columns}"))
            assert refused.value.code == "DATA_SHAPE"
        empty = spark.sql("SELECT 1 AS i, current_timestamp() AS at WHERE false")
        assert log.append(stream, empty).accepted == 0
        assert log.append(stream, spark.sql("SELECT 1 AS i, DATE '2024-01-01' AS at")).first_seq == 1
