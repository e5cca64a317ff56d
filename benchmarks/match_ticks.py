"""MATCH_RECOGNIZE over ticks: against Spark's own shuffle of the same columns, against reading old chunks; deployed.

2,000,000 ticks of 1,000 symbols (STRING), `PATTERN (STRT DOWN{3,} UP)`. The floor of the batch query is `repartition`
by symbol of the columns that it needs, from the same files into Spark's noop sink. Over old chunks (bucketed by KEY) it
is PyArrow reading the same columns of the same files. Deployed: ten batches of 200,000 events, each with state, rows
and position committed, against the batch query over recent files. Interleaved, the minimum of seven.
Run as: python benchmarks/match_ticks.py [ticks]
"""

from __future__ import annotations

import sys
import tempfile
import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from interleaved import ROUNDS, minima
from ticks import count_matches, make_ticks

from presage import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = "CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sym)"
MATCH = """Tick MATCH_RECOGNIZE (
    PARTITION BY sym ORDER BY at
    MEASURES STRT.price AS start_price, LAST(DOWN.price) AS bottom, UP.price AS end_price, count(DOWN.*) AS falls
    PATTERN (STRT DOWN{3,} UP)
    DEFINE DOWN AS DOWN.price < PREV(DOWN.price), UP AS UP.price > PREV(UP.price) )"""
QUERY = f"SELECT sym, start_price, bottom, end_price, falls FROM {MATCH}"
DEPLOYED = f"SELECT sym, start_price, bottom, end_price, falls FROM {MATCH} WITHIN [2000-01-01, )"
BATCH = 200_000
SHUFFLES, READS, STANDS = 3.0, 2.0, 0.35


def recent(engine: Engine, matches: int) -> float:
    """Batch over files as they were loaded; the seconds that it took."""
    files = engine.query("SELECT * FROM Tick").df.inputFiles()
    columns = engine.spark.read.parquet(*files).select("sym", "price", "_t", "_seq")
    partitions = int(engine.spark.conf.get("spark.sql.shuffle.partitions") or 1)

    def shuffle() -> None:
        columns.repartition(partitions, "sym").write.format("noop").mode("overwrite").save()

    def match() -> None:
        assert engine.query(QUERY).to_arrow().num_rows == matches

    best = minima({"Spark: repartition of the same columns": shuffle, "Presage: batch, rows in order": match})
    _print("recent files", best, SHUFFLES)
    return best["Presage: batch, rows in order"]


def old(engine: Engine, matches: int) -> None:
    engine.advance("Tick", "2023-11-20T00:00:00Z")  # no event can come into the slices of time that the ticks lie in
    engine.maintain()
    files = engine.query("SELECT * FROM Tick").df.inputFiles()
    paths = [path.removeprefix("file://") for path in files]
    assert all("-old-" in path for path in paths), paths[:3]

    def read() -> None:
        for path in paths:
            pq.read_table(path, columns=["sym", "price", "_t", "_seq"])

    def match() -> None:
        assert engine.query(QUERY).to_arrow().num_rows == matches

    best = minima({"PyArrow: reading the same files": read, "Presage: batch, rows in order": match})
    _print(f"old chunks ({len(paths)} files)", best, READS)


def measure_deployed(engine: Engine, matches: int, batch: float, ticks: int) -> None:
    engine.deployments.job.planner.rows_per_batch = BATCH  # type: ignore[attr-defined]
    best = float("inf")
    for number in range(ROUNDS + 1):
        start = time.perf_counter()
        live = engine.deploy(DEPLOYED, name=f"falls-{number}")
        live.drain()
        seconds = time.perf_counter() - start
        # What only the end of input would settle has not come out.
        assert matches - 1_000 <= live.status.rows_out <= matches
        live.stop()
        best = min(best, seconds) if number else best
    ratio = batch / best
    print(f"deployed, {-(-ticks // BATCH)} batches of {BATCH:,}: {best:.2f} s, {ratio:.2f} x batch (limit {STANDS})")


def _print(title: str, best: dict[str, float], limit: float) -> None:
    floor, ours = best.values()
    print(title)
    for name, seconds in best.items():
        print(f"  {name:<44} {seconds:7.3f} s")
    print(f"  ratio {ours / floor:.2f} (limit {limit:g})")


def main(ticks: int = 2_000_000) -> None:
    table = make_ticks(ticks)
    matches = count_matches(table)
    print(f"{ticks:,} ticks, {matches:,} matches")
    # A job that stands looks for news all the time, so it comes last.
    with tempfile.TemporaryDirectory() as folder, loaded(f"{folder}/old", table) as engine:
        old(engine, matches)
        with loaded(f"{folder}/recent", table, engine.spark) as other:
            measure_deployed(other, matches, recent(other, matches), ticks)


def loaded(home: str, table: pa.Table, spark: SparkSession | None = None) -> Engine:
    engine = Engine(spark, home=home)
    engine.execute(STREAM)
    engine.load("Tick", table)
    return engine


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
