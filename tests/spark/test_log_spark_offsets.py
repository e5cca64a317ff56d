"""Spark DataFrames at the log: source offsets, and the limit on times ahead of the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from presage.errors import PresageError
from presage.model.catalog import Attribute, EventType
from presage.model.types import LONG, TIMESTAMP
from presage.storage import Log, SourceOffsets, spark_ingest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TICK = EventType("Tick", "stream", (Attribute("x", LONG), Attribute("at", TIMESTAMP)), event_time="at")
SOURCE = SourceOffsets("kafka", "offset", "partition")


def test_a_history_frame_and_a_live_feed_share_one_numbering(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = spark.range(100).selectExpr(
        "id AS x", "timestamp_seconds(1704067200 + id) AS at", "id AS offset", "0 AS partition"
    )
    with Log.open() as log:
        log.create_stream(TICK)
        live = [{"x": x, "at": 1704067200 + x, "offset": x, "partition": 0} for x in range(90, 120)]
        live = [{**row, "at": f"2024-01-01T00:{row['x'] // 60:02d}:{row['x'] % 60:02d}"} for row in live]
        assert log.append(TICK, history, source=SOURCE).accepted == 100
        report = log.append(TICK, live, source=SOURCE)
        assert (report.accepted, report.duplicates) == (20, 10)
        assert log.append(TICK, history, source=SOURCE).duplicates == 100
        assert log.archive.read_arrow(log.archive.snapshot("Tick"), ["x"])["x"].to_pylist() == list(range(120))
        with pytest.raises(PresageError, match="no column 'offset'"):
            log.append(TICK, history.drop("offset"), source=SOURCE)
        monkeypatch.setattr(spark_ingest, "MOST_COLLECTED", 99)
        with pytest.raises(PresageError, match="more than 99 rows") as refused:
            log.append(TICK, history, source=SOURCE)
        assert refused.value.code == "UNSUPPORTED"


def test_a_row_of_a_frame_from_the_far_future_is_rejected(spark: SparkSession) -> None:
    frame = spark.sql("SELECT 1L AS x, TIMESTAMP '2024-01-01' AS at UNION ALL SELECT 2L, TIMESTAMP '9999-01-01'")
    with Log.open() as log:
        log.create_stream(TICK)
        report = log.append(TICK, frame)
        assert (report.accepted, report.rejected, report.last_seq) == (1, 1, 1)
        assert "max_ahead" in log.archive.read_rejected("Tick")["reason"][0].as_py()
        assert log.append(TICK, [{"x": 3, "at": "2024-01-02"}]).accepted == 1
