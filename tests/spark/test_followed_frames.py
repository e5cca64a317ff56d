"""Streaming DataFrames of Spark as sources: `Engine.follow`, and `source = 'spark'` in a declaration."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.datasource import DataSource, InputPartition, SimpleDataSourceStreamReader

from presage import Engine
from presage.errors import PresageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TICK = "CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at"
SUMS = "SELECT sym, sum(price) AS total FROM Tick#length(2) WITHIN [, )"
COLUMNS = "sym string, price double, at timestamp"


def put(folder: Path, number: int) -> None:
    row = {"sym": "ab"[number % 2], "price": float(number), "at": f"2024-03-01T09:00:{number:02d}Z"}
    (folder / f".{number}.json").write_text(json.dumps(row) + "\n")
    (folder / f".{number}.json").rename(folder / f"{number}.json")


def wait_for(engine: Engine, rows: int, stream: str = "Tick") -> None:
    end = time.monotonic() + 120
    while engine.sources[stream].rows < rows:
        assert time.monotonic() < end, engine.sources[stream]
        time.sleep(0.05)


def totals(engine: Engine) -> list[float]:
    engine.deployments["sums"].drain()
    return [row["total"] for row in engine.deployments["sums"].results()]


def expected(count: int) -> list[float]:
    return [float(sum(range(max(0, n - 1), n + 1))) for n in range(count)]


def frame_of(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(COLUMNS).json(str(folder))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def test_a_declared_source_goes_on_where_it_was(spark: SparkSession, tmp_path: Path, folder: Path) -> None:
    put(folder, 0)
    with Engine(spark, tmp_path / "home") as engine:
        engine.execute(f"{TICK} WITH (source = 'spark', format = 'json', path = '{folder}')")
        engine.deploy(SUMS, name="sums")
        wait_for(engine, 1)
        put(folder, 1)
        wait_for(engine, 2)
        assert totals(engine) == expected(2)
        assert engine.sources["Tick"].position == "micro-batch 1"
    put(folder, 2)
    with Engine(spark, tmp_path / "home") as engine:
        wait_for(engine, 3)
        assert totals(engine) == expected(3)


def test_a_batch_that_spark_did_not_note_is_in_the_archive_once(
    spark: SparkSession, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from presage.sources.spark import SparkSource

    put(folder, 0)
    # The process ends after the log's commit and before Spark's.
    monkeypatch.setattr(SparkSource, "settle", lambda self, delivery: None)
    with Engine(spark, tmp_path / "home") as engine:
        engine.execute(TICK)
        engine.follow("Tick", frame_of(spark, folder))
        engine.deploy(SUMS, name="sums")
        wait_for(engine, 1)
    monkeypatch.undo()
    with Engine(spark, tmp_path / "home") as engine:
        engine.follow("Tick", frame_of(spark, folder))
        put(folder, 1)
        wait_for(engine, 2)
        assert totals(engine) == expected(2)
        engine.unfollow("Tick")
        assert "Tick" not in engine.sources
        assert engine.load("Tick", [{"sym": "a", "price": 2.0, "at": "2024-03-01T09:00:02Z"}]).accepted == 1
        assert totals(engine) == expected(3)


def test_a_lost_checkpoint_is_told_and_reads_nothing_twice(spark: SparkSession, tmp_path: Path, folder: Path) -> None:
    put(folder, 0)
    with Engine(spark, tmp_path / "home") as engine:
        engine.execute(TICK)
        engine.follow("Tick", frame_of(spark, folder), checkpoint=tmp_path / "one")
        wait_for(engine, 1)
    with Engine(spark, tmp_path / "home") as engine:
        engine.follow("Tick", frame_of(spark, folder), checkpoint=tmp_path / "two")
        end = time.monotonic() + 60
        while engine.sources["Tick"].state != "failed":
            assert time.monotonic() < end, engine.sources["Tick"]
            time.sleep(0.05)
        assert engine.sources["Tick"].why.startswith("CHECKPOINT_CHANGED")
        assert engine.query("SELECT sym FROM Tick").to_arrow().num_rows == 1


class Counted(DataSource):
    """A data source of a user, in Python: event n at second n."""

    @classmethod
    def name(cls) -> str:
        return "counted"

    def schema(self) -> str:
        return COLUMNS

    def simpleStreamReader(self, schema: Any) -> SimpleDataSourceStreamReader:
        return CountedReader()


class CountedReader(SimpleDataSourceStreamReader):
    def initialOffset(self) -> dict[str, int]:
        return {"n": 0}

    def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[Any, ...]], dict[str, int]]:
        end = min(start["n"] + 2, 6)
        return self.readBetweenOffsets(start, {"n": end}), {"n": end}

    def readBetweenOffsets(self, start: dict[str, int], end: dict[str, int]) -> Iterator[tuple[Any, ...]]:
        from datetime import UTC, datetime

        return iter([("s", float(n), datetime(2024, 3, 1, 9, 0, n, tzinfo=UTC)) for n in range(start["n"], end["n"])])

    def partitions(self, start: Any, end: Any) -> list[InputPartition]:
        return [InputPartition(0)]


def test_a_data_source_of_a_user_needs_a_permission(spark: SparkSession, tmp_path: Path) -> None:
    spark.dataSource.register(Counted)
    text = f"{TICK} WITH (source = 'spark', format = 'counted')"
    with Engine(spark, tmp_path / "home") as engine, pytest.raises(PresageError, match="FORMAT_NOT_ALLOWED"):
        engine.execute(text)
    with Engine(spark, tmp_path / "home", allow_formats=["counted"]) as engine:
        engine.execute(text)
        engine.deploy(SUMS, name="sums")
        wait_for(engine, 6)
        assert totals(engine) == expected(6)


def test_generated_rows_with_options_of_the_reader(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark, tmp_path / "home") as engine:
        engine.execute("""
            CREATE STREAM Pulse (value LONG, timestamp TIMESTAMP) EVENT TIME timestamp
              WITH (source = 'spark', format = 'rate', option.rowsPerSecond = '50');
        """)
        wait_for(engine, 50, "Pulse")
        engine.execute("DROP STREAM Pulse CASCADE")
        assert "Pulse" not in engine.sources


def test_what_does_not_fit_is_refused(spark: SparkSession, tmp_path: Path, folder: Path) -> None:
    with Engine(spark, tmp_path / "home", roots=[tmp_path]) as engine:
        engine.execute(TICK)
        for frame, why in (
            (spark.range(3), "a DataFrame that is not streaming"),
            ([1], "list, not a DataFrame"),
            (spark.readStream.schema("sym string").json(str(folder)), "no column 'at', the event time of 'Tick'"),
            (spark.readStream.schema("price string, at timestamp").json(str(folder)), "needs DOUBLE"),
        ):
            with pytest.raises(PresageError) as refused:
                engine.follow("Tick", frame)
            assert why in refused.value.message
        with pytest.raises(PresageError, match="files outside of the roots"):
            engine.execute(
                f"{TICK.replace('Tick', 'Other')} WITH (source = 'spark', format = 'csv', path = '{folder}')"
            )
        with pytest.raises(PresageError, match="use source = 'kafka'"):
            engine.execute(f"{TICK.replace('Tick', 'Other')} WITH (source = 'spark', format = 'kafka')")
