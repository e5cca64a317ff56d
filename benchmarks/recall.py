"""An alert asks its history: when does the first answer come, and what does the whole one cost?

Rows of many servers in an archive of 200 chunks of equal size; an event asks for the mean, the deviation and the count
of its server over all of it. Rivals, on the same session: one scan of all files with the same aggregates, and one of
the files of the first five chunks. Then a thousand events at once, of as many servers, beside one. Everything in turn,
the minimum of seven. Run as: python benchmarks/recall.py [rows] [repetitions]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

import presage
from presage.columnar.evaluate import Evaluator
from presage.execution.spark.archive import read_archive
from presage.operators.recall import spark_history as recall_spark
from presage.operators.recall.nodes import Recall
from presage.operators.recall.progress import Progress
from presage.operators.recall.spark_history import SparkHistory
from presage.plan.nodes import SEQ, TIME, Node

CHUNKS, SERVERS, SECOND = 200, 10_000, 1_000_000
BEGIN = 1_767_225_600 * SECOND
ASKED = """
SELECT e.sid, r.mean, r.sd, r.n FROM Alert e
RECALL ( SELECT avg(h.bw) AS mean, stddev(h.bw) AS sd, count(*) AS n FROM Traffic h WHERE h.sid = e.sid ) AS r
"""


def chunk(number: int, rows: int) -> pa.Table:
    random = np.random.default_rng(number)
    at = BEGIN + (np.arange(rows) + number * rows) * 1_000
    servers = pa.array([f"server-{i}" for i in range(SERVERS)])
    return pa.table(
        {
            "sid": servers.take(pa.array(random.integers(0, SERVERS, rows))),
            "bw": random.normal(100, 20, rows),
            "at": pa.array(at, pa.timestamp("us", "UTC")),
        }
    )


def events(count: int, rows: int) -> pa.Table:
    at = np.full(count, BEGIN + rows * 1_000 + SECOND)
    names = pa.array([f"server-{i}" for i in range(count)])
    bw = np.full(count, 500.0)
    arrived = np.full(count, rows + 10) + np.arange(count)
    return pa.table(
        {TIME: at, SEQ: arrived, "e.sid": names, "e.bw": bw, "e.at": pa.array(at, pa.timestamp("us", "UTC"))}
    )


def recall_of(node: Node) -> Recall:
    return next(found for found in node.walk() if isinstance(found, Recall))


class Trial:
    """One archive, and the ways to ask it."""

    def __init__(self, engine: presage.Engine, rows: int) -> None:
        self.rows, self.spark = rows, engine.spark
        statement = engine._workspace.parse(ASKED).statements[0]
        bound = engine._workspace.bind(statement)
        self.node = recall_of(engine._workspace.optimize(bound).plan)
        scans = [s for h in self.node.histories for s in recall_spark._scans(h)]
        context = engine._bounded._context_of(self.node.histories)
        self.history = SparkHistory(self.node, context, rows // CHUNKS)
        assert context.files is not None
        self.files = context.files(scans[0])
        self.units = self.history.chunks()

    def recall(self, count: int, units: int | None = None) -> None:
        progress = Progress(self.node, events(count, self.rows), Evaluator({}), self.history.history())
        for unit in self.units[:units]:
            progress.read(unit, unit is self.units[-1])

    def scan(self, units: int | None = None) -> None:
        """The same aggregates for one server, over all files or those of the first units."""
        files = self.files if units is None else self.files.between(self.units[units - 1].low, 2**62)
        frame = read_archive(self.spark, files).where(F.col("sid") == "server-0")
        frame.agg(F.avg("bw"), F.stddev("bw"), F.count(F.lit(1))).collect()


def fastest(ways: dict[str, Callable[[], None]], times: int) -> dict[str, float]:
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(times):
        for name, way in ways.items():
            begin = time.perf_counter()
            way()
            best[name] = min(best[name], time.perf_counter() - begin)
    return best


def main() -> None:
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 20_000_000
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    with tempfile.TemporaryDirectory() as home, presage.Engine(home=home) as engine:
        columns = "(sid STRING, bw DOUBLE, at TIMESTAMP) EVENT TIME at"
        engine.execute(f"CREATE STREAM Traffic {columns}; CREATE STREAM Alert {columns};")
        begin = time.perf_counter()
        for number in range(CHUNKS):
            engine.load("Traffic", chunk(number, rows // CHUNKS))
        print(f"{rows:,} rows in {CHUNKS} chunks, loaded in {time.perf_counter() - begin:.0f} s")
        trial = Trial(engine, rows)
        ways: dict[str, Callable[[], None]] = {
            "full scan": trial.scan,
            "first answer": lambda: trial.recall(1, 1),
            "scan of five": lambda: trial.scan(5),
            "first five": lambda: trial.recall(1, 5),
            "all of history": lambda: trial.recall(1),
            "1,000 events": lambda: trial.recall(1_000),
        }
        for way in ways.values():
            way()
        took = fastest(ways, times)
    print(f"units read: {len(trial.units)}")
    for name, seconds in took.items():
        print(f"{name:>15}: {seconds:8.3f} s")
    print(f"first answer sooner than the full scan by  {took['full scan'] / took['first answer']:.1f} (at least 20)")
    print(f"first five chunks over their own scan      {took['first five'] / took['scan of five']:.2f} (at most 2)")
    print(f"complete answer over the full scan         {took['all of history'] / took['full scan']:.2f} (at most 2)")
    print(f"1,000 events over one                      {took['1,000 events'] / took['all of history']:.2f} (at most 3)")


if __name__ == "__main__":
    main()
