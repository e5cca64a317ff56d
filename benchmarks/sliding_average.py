"""avg(price) over the last minute of each symbol: Presage against Spark's own window function, on the same files.

2,000,000 ticks of 1,000 symbols (STRING), one tick a millisecond. Both read the stream's archive; both results go to
Spark's noop sink, and once more to Arrow on the driver. Presage's rows are in order of event time, Spark's are not.
Run as: python benchmarks/sliding_average.py [ticks]
"""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
from interleaved import minima, report
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from presage import Engine

SYMBOLS = 1_000
QUERY = "SELECT sym, avg(price) FROM Tick#time(1 min) GROUP BY sym"


def ticks(count: int) -> pa.Table:
    random = np.random.default_rng(1)
    names = pa.array([f"SYM{i:04d}" for i in range(SYMBOLS)])
    return pa.table(
        {
            "sym": names.take(pa.array(random.integers(0, SYMBOLS, count))),
            "price": 100 + random.standard_normal(count).cumsum() / 100,
            "at": pa.array(1_700_000_000_000_000 + 1_000 * np.arange(count), pa.timestamp("us", "UTC")),
        }
    )


def spark_average(frame: DataFrame) -> DataFrame:
    time = F.unix_micros("at")
    window = Window.partitionBy("sym").orderBy(time).rangeBetween(-59_999_999, 0)
    return frame.select("sym", F.avg("price").over(window).alias("avg"), "at")


def noop(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def main(count: int = 2_000_000) -> None:
    with Engine() as engine:
        engine.execute("CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at")
        engine.load("Tick", ticks(count))
        files = engine.query("SELECT * FROM Tick").df.inputFiles()
        plain = engine.spark.read.parquet(*files)
        best = minima(
            {
                "Spark avg() OVER (RANGE), noop": lambda: noop(spark_average(plain)),
                "Presage, noop, rows in order": lambda: noop(engine.query(QUERY).df),
                "Presage, to Arrow, rows in order": lambda: engine.query(QUERY).to_arrow(),
                "Spark avg() OVER (RANGE), to Arrow": lambda: spark_average(plain).toArrow(),
            }
        )
        report(f"sliding average, {count:,} ticks", best, "Spark avg() OVER (RANGE), noop", limit=2)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
