"""Ticks in, seconds and matches of Presage out: over files as loaded, over old chunks, and over a CSV file.

All rows of the result are on the driver, in Arrow, when the clock stops; parsing and planning count.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from presage import Engine, match_recognize

STREAM = "CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sym)"
LATER = "2023-11-20T00:00:00Z"  # after all ticks: their slices of time are closed and can become old chunks
CLAUSE = """
  PARTITION BY sym ORDER BY at
  MEASURES STRT.price AS start_price, LAST(DOWN.price) AS bottom, UP.price AS end_price
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (STRT DOWN{3,} UP)
  DEFINE DOWN AS DOWN.price < PREV(DOWN.price), UP AS UP.price > PREV(UP.price)
"""
QUERY = f"SELECT sym, start_price, bottom, end_price FROM Tick MATCH_RECOGNIZE ({CLAUSE})"


def load(engine: Engine, ticks: pa.Table, old: bool) -> None:
    """The ticks in the engine's archive, as they are loaded or compacted by key."""
    engine.execute(STREAM)
    engine.load("Tick", ticks)
    if old:
        engine.advance("Tick", LATER)
        engine.maintain()
    files = engine.query("SELECT * FROM Tick").df.inputFiles()
    assert {"-old-" in Path(file).name for file in files} == {old}, files[:3]


def run_query(engine: Engine) -> tuple[float, int]:
    return _timed(lambda: engine.query(QUERY).to_arrow())


def run_frame(engine: Engine, csv: Path) -> tuple[float, int]:
    """No archive: Spark reads the file that Flink reads."""
    schema = "sym STRING, price DOUBLE, at TIMESTAMP"

    def recognize() -> pa.Table:
        return match_recognize(engine.spark.read.schema(schema).csv(str(csv)), CLAUSE).toArrow()

    return _timed(recognize)


def _timed(work: Callable[[], pa.Table]) -> tuple[float, int]:
    start = time.perf_counter()
    matches = work().num_rows
    return time.perf_counter() - start, matches
