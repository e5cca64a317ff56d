"""A deployed statement that catches up in batches against one bounded query over the same events.

The sliding average of `sliding_average.py`. The statement runs from the first event on (`WITHIN [2000-01-01, )`) in
batches of a given size, each with its state, rows and position committed to a durable home; the clock runs from
`deploy` to `drain`. The curve shows what a batch costs beside its events.
Run as: python benchmarks/live_throughput.py [events]
"""

from __future__ import annotations

import sys
import tempfile
import time

from interleaved import ROUNDS
from sliding_average import QUERY, ticks

from presage import Engine

SIZES = (20_000, 50_000, 100_000, 200_000, 500_000)
TARGET, LIMIT = 200_000, 0.35
DEPLOYED = "SELECT sym, avg(price) FROM Tick#time(1 min) WITHIN [2000-01-01, ) GROUP BY sym"


def catch_up(engine: Engine, name: str) -> float:
    start = time.perf_counter()
    live = engine.deploy(DEPLOYED, name=name)
    live.drain()
    seconds = time.perf_counter() - start
    live.stop()
    return seconds


def main(events: int = 2_000_000) -> None:
    best = {"batch": float("inf"), **{size: float("inf") for size in SIZES}}
    with tempfile.TemporaryDirectory() as folder, Engine(home=f"{folder}/home") as engine:
        engine.execute("CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at")
        engine.load("Tick", ticks(events))
        for number in range(ROUNDS + 1):
            start = time.perf_counter()
            rows = engine.query(QUERY).to_arrow().num_rows
            taken: dict[object, float] = {"batch": time.perf_counter() - start}
            for size in SIZES if number else (TARGET,):
                engine.deployments.job.planner.rows_per_batch = size  # type: ignore[attr-defined]
                name = f"average-{size}-{number}"
                taken[size] = catch_up(engine, name)
                assert engine.deployments[name].status.rows_out == rows
            if number:
                best = {key: min(best[key], taken.get(key, best[key])) for key in best}
    print(f"sliding average, {events:,} events; batch query {best['batch']:.2f} s")
    for size in SIZES:
        batches = -(-events // size)
        ratio = best["batch"] / best[size]
        verdict = f"   (limit {LIMIT})" if size == TARGET else ""
        rate = events / best[size] / 1e6
        print(
            f"  {batches:4d} batches of {size:>7,}  {best[size]:7.2f} s  {rate:5.2f} M/s  {ratio:5.2f} x batch{verdict}"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
