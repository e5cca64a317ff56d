"""Six small queries over 50 events, warm: how long until the rows are there. The minimum of seven, in turn.

Run as: python benchmarks/small_queries.py [events]
"""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
from interleaved import minima

import presage

MOST = 0.03
START = 1_700_000_000_000_000
STREAMS = """
CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at;
CREATE STREAM Bid (sym STRING, size INT, at TIMESTAMP) EVENT TIME at;
"""
QUERIES = {
    "filter": "SELECT sym, price * 2 AS double FROM Tick WHERE price > 100",
    "window": "SELECT sym, avg(price) AS mean FROM Tick#time(1 min) GROUP BY sym",
    "join": "SELECT a.sym, a.price, b.size FROM Tick#time(10 sec) a JOIN Bid#time(10 sec) b ON a.sym = b.sym",
    "pattern": """SELECT a.sym, b.size FROM PATTERN [
        EVERY a=Tick(price > 100) -> b=Bid(sym = a.sym AND size > 50) WHERE timer:within(30 sec) ]""",
    "recall": """SELECT e.sym, r.mean FROM Bid(size > 50) e
        RECALL LAST 1 hour ( SELECT avg(h.price) AS mean FROM Tick h WHERE h.sym = e.sym ) AS r""",
    "MATCH_RECOGNIZE": """SELECT * FROM Tick MATCH_RECOGNIZE (
        PARTITION BY sym MEASURES FIRST(A.price) AS top PATTERN ( A B+ ) DEFINE B AS B.price < PREV(B.price) )""",
}


def load(engine: presage.Engine, count: int) -> None:
    dice = np.random.default_rng(7)
    times = pa.array(START + np.arange(count) * 1_000_000, pa.timestamp("us", "UTC"))
    symbols = pa.array([f"S{number}" for number in dice.integers(0, 10, count)])
    engine.load("Tick", pa.table({"sym": symbols, "price": dice.normal(100, 1, count), "at": times}))
    sizes = pa.array(dice.integers(0, 100, count), pa.int32())
    engine.load("Bid", pa.table({"sym": symbols, "size": sizes, "at": times}))


def main(count: int = 50) -> bool:
    with presage.Engine() as engine:
        engine.execute(STREAMS)
        load(engine, count)
        rivals = {name: lambda text=text: engine.query(text).to_arrow() for name, text in QUERIES.items()}
        best = minima(rivals)
    print(f"small queries over {count} events, warm (limit {MOST:g} s each)")
    for name, seconds in best.items():
        print(f"  {name:<16} {seconds:8.4f} s")
    return max(best.values()) <= MOST


if __name__ == "__main__":
    sys.exit(0 if main(*map(int, sys.argv[1:])) else 1)
