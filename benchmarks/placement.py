"""Where bounded queries should run: a window, a pattern and a join in this process and on Spark, from 1,000 events on.

Both engines are open in one process and read copies of one home in turn. Locally the rows become an Arrow table; on
Spark, in the engine's own local session, warm, they go into its noop sink, because the JVM's default memory holds no
result of four million rows. Run as: python benchmarks/placement.py [most events] [svg]
"""

from __future__ import annotations

import math
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from charts import Panel, Series, Style, draw
from interleaved import minima

import presage

START = 1_700_000_000_000_000
KEYS = 1_000
SIZES = (1_000, 10_000, 100_000, 1_000_000, 4_000_000, 10_000_000, 20_000_000)
# Rounds of the small sizes; a large query is less noisy, and takes long.
ROUNDS, FEW = 7, 2
STREAMS = """
CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sym);
CREATE STREAM Bid (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sym);
"""
QUERIES = {
    "window": "SELECT sym, avg(price) AS mean FROM Tick#time(1 min) GROUP BY sym",
    "pattern": "SELECT a.sym, b.price FROM PATTERN [ EVERY a=Tick(price > 101) -> b=Tick(sym = a.sym AND price < 99) ]",
    "join": "SELECT a.sym, a.price, b.price AS bid FROM Tick#time(1 sec) a JOIN Bid#time(1 sec) b ON a.sym = b.sym",
}


def events(count: int, seed: int) -> pa.Table:
    """Of all keys in turn at random, a thousand a second."""
    dice = np.random.default_rng(seed)
    names = pa.array([f"S{number:03d}" for number in range(KEYS)])
    symbols = pa.DictionaryArray.from_arrays(pa.array(dice.integers(0, KEYS, count), pa.int32()), names)
    times = pa.array(START + np.arange(count) * 1_000, pa.timestamp("us", "UTC"))
    return pa.table({"sym": symbols.cast(pa.string()), "price": dice.normal(100, 1, count), "at": times})


def compare(count: int) -> dict[str, tuple[float, float]]:
    """Seconds of each query in this process and on Spark. The join has half of the events in each stream."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with presage.Engine(home=folder / "local", placement="local") as local:
            local.execute(STREAMS)
            local.load("Tick", events(count, 1))
            local.load("Bid", events(count // 2, 2))
        shutil.copytree(folder / "local", folder / "spark")
        with (
            presage.Engine(home=folder / "local", placement="local") as local,
            presage.Engine(home=folder / "spark", placement="spark") as spark,
        ):
            taken = {}
            for query, text in QUERIES.items():
                rivals = {
                    "local": lambda text=text: local.query(text).to_arrow(),
                    "spark": lambda text=text: spark.query(text).df.write.format("noop").mode("overwrite").save(),
                }
                best = minima(rivals, ROUNDS if count <= 1_000_000 else FEW)
                taken[query] = best["local"], best["spark"]
            return taken


def main(most: int = SIZES[-1], svg: str = "") -> None:
    curves: dict[str, list[tuple[int, float, float]]] = {query: [] for query in QUERIES}
    print("seconds in this process and on Spark; the ratio of local to Spark")
    print(f"{'events':>12}" + "".join(f"{query:>28}" for query in QUERIES))
    for count in (size for size in SIZES if size <= most):
        taken = compare(count)
        cells = (f"{a:10.3f} {b:8.3f} {a / b:6.2f} x" for a, b in taken.values())
        print(f"{count:>12,}" + "".join(cells), flush=True)
        for query, (a, b) in taken.items():
            curves[query].append((count, a, b))
    if svg:
        Path(svg).write_text(picture(curves))


def picture(curves: dict[str, list[tuple[int, float, float]]]) -> str:
    local, spark = Style("#1b6ca8"), Style("#c4541b", dashed=True)
    panels = [
        Panel(
            query,
            "s",
            [
                Series("in this process", [(math.log10(n), a) for n, a, _ in points], local),
                Series("on Spark, local[*]", [(math.log10(n), b) for n, _, b in points], spark),
            ],
        )
        for query, points in curves.items()
    ]
    return draw("Bounded queries in this process and on Spark", panels, "events, as a power of ten", range(3, 8))


if __name__ == "__main__":
    main(*(int(sys.argv[1]),) if len(sys.argv) > 1 else (), *sys.argv[2:3])
