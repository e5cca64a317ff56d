"""Sources through the whole pipe: files come, the engine is closed and opened again, a statement has all rows."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from presage import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TICK = "CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at"
AVERAGE = "SELECT sym, avg(price) AS mean FROM Tick#time(10 sec) GROUP BY sym"
ROWS = [{"sym": "ab"[i % 2], "price": float(i), "at": f"2024-01-01T00:00:{i:02d}Z"} for i in range(12)]


def put(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    (folder / f".{name}").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / f".{name}").rename(folder / name)


def wait_for(engine: Engine, rows: int) -> None:
    end = time.monotonic() + 60
    while engine.sources["Tick"].rows < rows:
        assert time.monotonic() < end, engine.sources["Tick"]
        time.sleep(0.05)


def test_a_statement_over_a_folder_has_the_rows_of_the_bounded_query_over_the_same_rows_loaded(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "incoming"
    folder.mkdir()
    put(folder, "2.json", ROWS[1:5])
    put(folder, "1.json", ROWS[:1])
    with Engine(spark, tmp_path / "home", roots=[tmp_path], live=False) as engine:
        engine.execute(f"{TICK} WITH (source = 'files', path = '{folder}', settle = '0 sec')")
        engine.deploy(AVERAGE, name="mean")
        engine.start_sources()
        wait_for(engine, 5)
    put(folder, "3.json", ROWS[5:9])
    with Engine(spark, tmp_path / "home", roots=[tmp_path]) as engine:
        wait_for(engine, 9)
        put(folder, "4.json", ROWS[9:])
        wait_for(engine, 12)
        live = engine.deployments["mean"]
        live.drain(timeout=60)
        found = live.results().to_arrow().to_pylist()
        assert engine.sources["Tick"].position == "4 files"
        assert engine.query(AVERAGE).to_arrow().to_pylist() == found
    with Engine(spark, tmp_path / "other") as engine:
        engine.execute(TICK)
        engine.load("Tick", ROWS)
        assert engine.query(AVERAGE).to_arrow().to_pylist() == found


def test_a_session_without_the_connector_says_what_to_add_and_the_engine_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    with Engine(spark, tmp_path / "home") as engine:
        engine.execute(f"{TICK} WITH (source = 'kafka', topic = 'ticks')")
        end = time.monotonic() + 60
        while engine.sources["Tick"].state != "failed":
            assert time.monotonic() < end, engine.sources["Tick"]
            time.sleep(0.05)
        said = engine.sources["Tick"].why
        assert "stream 'Tick' with source = 'kafka' needs Spark's connector to Kafka" in said
        assert "'spark.jars.packages': 'org.apache.spark:spark-sql-kafka-0-10_2.13:" in said
        engine.load("Tick", ROWS)
        assert len(engine.query("SELECT sym FROM Tick").to_arrow()) == len(ROWS)
        engine.execute("DROP STREAM Tick CASCADE")
        assert dict(engine.sources) == {}
