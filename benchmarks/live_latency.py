"""From an event to its row: a deployed statement against Spark's own stateful micro-batch, event by event in turn.

Ours: `load` of one event into a durable home, until a subscriber has the row of a sliding average. The rival: a file
with one event written and renamed into the folder of a streaming query with `groupBy("sym").agg(avg("price"))` in
update mode, until `foreachBatch` has collected the rows. Both run all the time, with the default trigger, in one
session with the engine's settings, which serve the rival too: as many partitions for its state as there are cores, no
process for each file of a checkpoint.
Run as: python benchmarks/live_latency.py [events] [warm-up]
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from presage import Engine

LIMIT = 1.0
PATIENCE = 60.0  # seconds
SYMBOLS = 10
BEGIN = 1_700_000_000_000_000
STATEMENT = "SELECT sym, avg(price) AS mean FROM Tick#time(10 sec) GROUP BY sym"


class Rows:
    """Notes when the rows of an event are there."""

    def __init__(self) -> None:
        self._there = threading.Event()
        self._at = 0.0

    def seen(self, row: object) -> None:
        self._at = time.perf_counter()
        self._there.set()

    def wait(self, since: float) -> float:
        """Milliseconds from `since` to the rows."""
        if not self._there.wait(PATIENCE):
            raise SystemExit(f"no row within {PATIENCE:g} s")
        self._there.clear()
        return (self._at - since) * 1e3


def tick(number: int) -> pa.Table:
    return pa.table(
        {
            "sym": [f"SYM{number % SYMBOLS}"],
            "price": [100.0 + number],
            "at": pa.array([BEGIN + number * 1_000_000], pa.timestamp("us", "UTC")),
        }
    )


def start_rival(spark: SparkSession, folder: Path, rows: Rows) -> StreamingQuery:
    arriving = folder / "arriving"
    arriving.mkdir()
    frame = spark.readStream.schema("sym STRING, price DOUBLE, at TIMESTAMP").parquet(str(arriving))

    def collect(batch: DataFrame, number: int) -> None:
        found = batch.collect()
        if found:
            rows.seen(found)

    writer = frame.groupBy("sym").agg(F.avg("price")).writeStream.outputMode("update")
    return writer.option("checkpointLocation", str(folder / "checkpoint")).foreachBatch(collect).start()


def write_file(folder: Path, number: int) -> None:
    pq.write_table(tick(number), folder / f".{number}.parquet")
    os.replace(folder / f".{number}.parquet", folder / "arriving" / f"{number}.parquet")


def measure(folder: Path, events: int, warm_up: int) -> dict[str, np.ndarray]:
    taken: dict[str, list[float]] = {"ours": [], "rival": []}
    with Engine(home=folder / "home") as engine:
        engine.execute("CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at")
        ours, rivals = Rows(), Rows()
        engine.deploy(STATEMENT, name="average").subscribe(ours.seen)
        query = start_rival(engine.spark, folder, rivals)
        for number in range(warm_up + events):
            start = time.perf_counter()
            engine.load("Tick", tick(number))
            taken["ours"].append(ours.wait(start))
            start = time.perf_counter()
            write_file(folder, number)
            taken["rival"].append(rivals.wait(start))
        query.stop()
    return {name: np.array(times[warm_up:]) for name, times in taken.items()}


def main(events: int = 60, warm_up: int = 10) -> None:
    with tempfile.TemporaryDirectory() as folder:
        taken = measure(Path(folder), events, warm_up)
    print(f"from an event to its row, {events} events each, in turn, after {warm_up} to warm up; milliseconds")
    names = {"ours": "deployed statement, load to row", "rival": "Spark's stateful micro-batch, file to row"}
    for key, name in names.items():
        p50, p99 = np.percentile(taken[key], [50, 99])
        print(f"  {name:<44} p50 {p50:7.0f}   p99 {p99:7.0f}")
    ratio = np.median(taken["ours"]) / np.median(taken["rival"])
    print(f"  ratio of the medians {ratio:.2f}   (limit {LIMIT:g})")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
