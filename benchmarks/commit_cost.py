"""Ten thousand appends of ten events each to one durable home: what one costs, as the table grows.

The rival, in the same run and between the appends: one file of the size of an append's data file, written and flushed
with `fsync`, which is the least that a durable commit can cost. Maintenance runs beside the appends in a thread of its
own, as it does in a live engine. Run as: python benchmarks/commit_cost.py [commits] [--alone]
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

from presage.model.catalog import Attribute, EventType
from presage.model.types import LONG, STRING, TIMESTAMP
from presage.storage import Log

COMMITS = 10_000
ROWS = 10
MOST = 25.0  # milliseconds, the median of each thousand
EVERY = 500  # appends between two calls of maintenance
SECOND = 1_000_000
TICK = EventType(
    "Tick",
    "stream",
    (Attribute("sym", STRING), Attribute("n", LONG), Attribute("at", TIMESTAMP)),
    event_time="at",
    key=("sym",),
)


def rows(commit: int) -> pa.Table:
    times = [(commit * ROWS + i) * SECOND for i in range(ROWS)]
    return pa.table(
        {
            "sym": pa.array([f"s{i}" for i in range(ROWS)]),
            "n": pa.array(range(ROWS), pa.int64()),
            "at": pa.array(times, pa.timestamp("us", tz="UTC")),
        }
    )


def timed(work: object, *arguments: object) -> float:
    begin = time.perf_counter()
    work(*arguments)  # type: ignore[operator]
    return (time.perf_counter() - begin) * 1e3


def flush(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def run(commits: int, maintained: bool) -> bool:
    well = True
    with tempfile.TemporaryDirectory() as name, Log.open(Path(name) / "home") as log:
        log.create_stream(TICK)
        log.append(TICK, rows(0))
        size = log.archive.snapshot("Tick").bytes
        print(f"{commits:,} appends of {ROWS} events; milliseconds, by thousand; floor: fsync of {size} bytes")
        print(f"{'appends':>8} {'p50':>7} {'p99':>7} {'most':>7} {'floor p50':>10} {'ratio':>6} {'files':>6}")
        ours: list[float] = []
        floor: list[float] = []
        threads: list[threading.Thread] = []
        for commit in range(1, commits + 1):
            ours.append(timed(log.append, TICK, rows(commit)))
            if commit % 10 == 0:
                floor.append(timed(flush, Path(name) / "floor", os.urandom(size)))
            if maintained and commit % EVERY == 0:
                threads = [thread for thread in threads if thread.is_alive()]
                threads.append(threading.Thread(target=log.maintain, args=([TICK],), kwargs={"grace": 0.0}))
                threads[-1].start()
            if commit % 1_000 == 0 or commit == commits:
                p50, p99, most = np.percentile(ours, [50, 99, 100])
                least = float(np.percentile(floor, 50))
                files = len(log.archive.snapshot("Tick").paths)
                ratio = p50 / least
                print(
                    f"{commit:>8} {p50:>7.1f} {p99:>7.1f} {most:>7.1f} {least:>10.2f} {ratio:>6.1f} {files:>6}",
                    flush=True,
                )
                well = well and bool(p50 < MOST)
                ours, floor = [], []
        for thread in threads:
            thread.join()
    print(f"median of each thousand below {MOST} ms: {'yes' if well else 'NO'}")
    return well


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if argument != "--alone"]
    sys.exit(0 if run(int(given[0]) if given else COMMITS, "--alone" not in sys.argv) else 1)
