"""An extension in every way of running: bounded in this process and by Spark, as a stream, live on the driver, live on
workers, in RECALL, in MATCH_RECOGNIZE of an engine and on DataFrames."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from extensions.registered import FOLDER, MODULE, registered
from presage import Engine, match_recognize

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TICK = "CREATE STREAM Tick (name STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at;"
QUERY = "SELECT initials(name) AS who, extent(price) AS wide FROM Tick#minute GROUP BY name"
CLAUSE = "MEASURES initials(FIRST(name)) AS who, extent(B.price) AS wide PATTERN (A B B) DEFINE A AS price >= 0"
MATCH = f"SELECT who, wide FROM Tick MATCH_RECOGNIZE (PARTITION BY name {CLAUSE})"


@pytest.fixture(autouse=True)
def extension(spark: SparkSession) -> Iterator[None]:
    with registered():
        spark.addArtifacts(str(FOLDER / f"{MODULE}.py"), pyfile=True)
        yield


def ticks() -> list[dict[str, Any]]:
    return [
        {
            "name": f"ann {chr(97 + i % 3)}",
            "price": float(i * i % 17),
            "at": f"2024-01-01T00:{i // 6:02d}:{i % 6 * 10:02d}Z",
        }
        for i in range(40)
    ]


def expected() -> list[tuple[str, float]]:
    made, seen = [], {}
    for tick in ticks():
        prices = seen.setdefault((tick["name"], tick["at"][:16]), [])
        prices.append(tick["price"])
        made.append(("a" + tick["name"][-1], max(prices) - min(prices)))
    return made


def matched() -> list[tuple[str, float]]:
    prices = {letter: [tick["price"] for tick in ticks() if tick["name"][-1] == letter] for letter in "abc"}
    made = [("a" + letter, abs(p[i] - p[i + 1])) for letter, p in prices.items() for i in range(1, len(p) - 1, 3)]
    return sorted(made)


def pairs(result: Any) -> list[tuple[str, float]]:
    return [(row["who"], row["wide"]) for row in result.to_arrow().to_pylist()]


@pytest.mark.parametrize("placement", ["local", "spark"])
def test_bounded_and_streamed_queries_have_the_rows_of_a_plain_loop(
    spark: SparkSession, tmp_path: Path, placement: str
) -> None:
    with Engine(spark, tmp_path / "home", placement=placement) as engine:
        engine.execute(TICK)
        engine.load("Tick", ticks())
        assert pairs(engine.query(QUERY)) == expected()
        assert pairs(engine.query(QUERY, mode="stream", batches=3)) == expected()
        native = engine.query("SELECT initials(name) AS who, price AS wide FROM Tick WHERE initials(name) = 'ab'")
        assert {who for who, _ in pairs(native)} == {"ab"}
        assert "the events of the current minute" in engine.explain(QUERY)


@pytest.mark.parametrize("rows_on_driver", [100_000, 0])
def test_live_on_the_driver_and_on_workers(spark: SparkSession, tmp_path: Path, rows_on_driver: int) -> None:
    with Engine(spark, tmp_path / "home", rows_on_driver=rows_on_driver) as engine:
        engine.execute(TICK)
        live = [engine.deploy(QUERY, name=f"wide{i}") for i in range(2)]
        for some in (ticks()[:25], ticks()[25:]):
            engine.load("Tick", some)
            for each in live:
                each.drain(timeout=120)
        assert [pairs(each.results()) for each in live] == [expected(), expected()]


@pytest.mark.parametrize("mode", ["local", "batch", "stream", "driver", "workers"])
def test_a_match_measures_them(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    rows_on_driver, placement = 0 if mode == "workers" else 100_000, "local" if mode == "local" else "spark"
    with Engine(spark, tmp_path / "home", rows_on_driver=rows_on_driver, placement=placement) as engine:
        engine.execute(TICK)
        live = engine.deploy(MATCH, name="found") if mode in ("driver", "workers") else None
        engine.load("Tick", ticks())
        if live is not None:
            live.drain(timeout=120)
            assert sorted(pairs(live.results())) == matched()
        elif mode == "batch":
            assert sorted((row.who, row.wide) for row in engine.query(MATCH).df.collect()) == matched()
        else:
            result = engine.query(MATCH, mode="stream", batches=3) if mode == "stream" else engine.query(MATCH)
            assert sorted(pairs(result)) == matched()


def test_a_match_on_a_dataframe_measures_them(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ticks())
    rows = match_recognize(frame, f"PARTITION BY name ORDER BY at {CLAUSE}").collect()
    assert sorted((row.who, row.wide) for row in rows) == matched()


def test_recall_merges_its_parts(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark, tmp_path / "home") as engine:
        engine.execute(TICK)
        engine.load("Tick", ticks())
        text = """SELECT t.price, r.wide FROM Tick t RECALL ( SELECT extent(h.price) AS wide FROM Tick h
                  WHERE h.name = t.name ) AS r WHERE t.price = 16"""
        found = [row["r.wide"] if "r.wide" in row else row["wide"] for row in engine.query(text).to_arrow().to_pylist()]
        assert found
        assert all(wide is not None and 0 <= wide <= 16 for wide in found)
