"""A join of predicted streams, sought part by part, has the rows that one worker finds."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

import presage.operators.prediction.spark_join as in_parts
from presage import Engine
from presage.execution.spark.batch import BatchContext

START = datetime(2026, 1, 1, tzinfo=UTC)
DECLARED = """
CREATE STREAM Car (id STRING, fleet INT, x DOUBLE, y DOUBLE, at TIMESTAMP) EVENT TIME at KEY (id)
  PREDICTED (x, y) WITH (threshold = 5, period = '20 sec');
CREATE STREAM Truck (number LONG, x DOUBLE, y DOUBLE, at TIMESTAMP) EVENT TIME at KEY (number)
  PREDICTED (x, y) WITH (threshold = 2, period = '10 sec');
"""
QUERIES = {
    "one stream": "SELECT a.id, b.id, a.x FROM PREDICTED Car a JOIN PREDICTED Car b WINDOW 2 sec "
    "ON ABS(a.x - b.x) <= 60 AND ABS(a.y - b.y) <= 60",
    "two streams": "SELECT a.id, b.number, b.y FROM PREDICTED Car a JOIN PREDICTED Truck b "
    "ON ABS(a.x - b.x) < 80 AND ABS(a.y - b.y) > 20",
    "probability": "SELECT a.id, b.id, probability FROM PREDICTED Car a JOIN PREDICTED Car b WINDOW 1 sec "
    "ON MAY (ABS(a.x - b.x) <= 20) AND a.fleet = b.fleet WITH PROBABILITY >= 0.4",
    "crossed": "SELECT a.id, b.id FROM PREDICTED Car(fleet = 1) a JOIN PREDICTED Car b ON ABS(a.x - b.y) = 30 "
    "WHERE b.x > 100",
    "nobody": "SELECT a.id, b.id FROM PREDICTED Car a JOIN PREDICTED Car b ON ABS(a.x - b.x) <= -1",
}


def updates(key: str, names: list[Any], seed: int) -> list[dict[str, Any]]:
    random = Random(seed)
    rows = []
    for name in names:
        for _ in range(random.randint(1, 6)):
            row: dict[str, Any] = {key: name, "at": START + timedelta(seconds=random.randint(0, 120) / 2)}
            for attribute in "xy":
                # One car in ten is lost in space: it reaches into more cells than others.
                far = 1e6 if random.random() < 0.02 else 1.0
                row[f"{attribute}_value"] = random.uniform(0, 500)
                row[f"{attribute}_rate"] = random.choice([0.0, 10.0, -10.0, 3.5]) * far
            rows.append(row)
    return rows


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark=spark) as engine:
        engine.execute(DECLARED)
        cars = updates("id", [f"é{i}" for i in range(25)], 1)
        engine.load("Car", [{**row, "fleet": int(row["id"][1:]) % 3} for row in cars])
        engine.load("Truck", updates("number", list(range(12)), 2))
        yield engine


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
def test_rows_do_not_depend_on_the_parts(engine: Engine, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_parts, "MANY_UPDATES", 10**9)
    whole = engine.query(text).to_arrow()
    monkeypatch.setattr(in_parts, "MANY_UPDATES", 0)
    monkeypatch.setattr(BatchContext, "partitions", property(lambda self: 3))
    taken: list[object] = []
    run = in_parts._run_in_parts
    monkeypatch.setattr(in_parts, "_run_in_parts", lambda *args: taken.append(args) or run(*args))
    parts = engine.query(text).to_arrow()
    assert taken
    assert parts.to_pylist() == whole.to_pylist()
    assert (whole.num_rows == 0) == (text == QUERIES["nobody"])
