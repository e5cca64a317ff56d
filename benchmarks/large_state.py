"""A deployed window whose state is gigabytes: what a batch costs and writes, and coming back after a process ended.

Each event of a day's window over 100,000 keys holds a text of 200 characters. The state grows in batches of 250,000
events; then batches of 10,000 follow, the process ends without closing anything, and another one goes on. Memory is the
greatest resident size of the process. Run as: python benchmarks/large_state.py [gigabytes]
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from airflow import without_driver

from presage import Engine

DECLARATION = "CREATE STREAM Tick (sym LONG, note STRING, at TIMESTAMP) EVENT TIME at KEY (sym)"
# No row comes out: what is measured is the state.
TEXT = "SELECT sym, max(note) AS last FROM Tick#time(1 day) GROUP BY sym HAVING count(*) > 1000000"
KEYS, GROW, SMALL, BATCHES = 100_000, 250_000, 10_000, 8
START, STEP = 1_704_067_200_000_000, 1_000
ROW = 240  # bytes of state for an event, nearly
_NOTES = pa.array([f"{number:04d}" * 50 for number in range(1_000)])


def ticks(first: int, count: int) -> pa.Table:
    numbers = np.arange(first, first + count)
    times = pa.array(START + STEP * numbers, pa.timestamp("us", "UTC"))
    return pa.table({"sym": numbers * 7_919 % KEYS, "note": _NOTES.take(pa.array(numbers % len(_NOTES))), "at": times})


def batch(engine: Engine, first: int, count: int) -> float:
    engine.load("Tick", ticks(first, count))
    start = time.process_time()
    while engine.deployments.job.advance():  # type: ignore[attr-defined]
        pass
    return time.process_time() - start


def written(home: Path, before: set[str]) -> int:
    return sum(path.stat().st_size for path in (home / "states").iterdir() if path.name not in before)


def small_batches(engine: Engine, home: Path, first: int, title: str) -> None:
    seconds, sizes = [], []
    for number in range(BATCHES):
        before = {path.name for path in (home / "states").iterdir()}
        seconds.append(batch(engine, first + number * SMALL, SMALL))
        sizes.append(written(home, before))
    events = SMALL * ROW
    print(
        f"  {title}: {BATCHES} batches of {SMALL:,} events: {np.median(seconds):.2f} s of processor each (the most "
        f"{max(seconds):.2f}); states written {np.median(sizes) / 1e6:.1f} MB each (the most {max(sizes) / 1e6:.1f}), "
        f"the events themselves {events / 1e6:.1f} MB",
        flush=True,
    )


def peak() -> str:
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB"


def grow(home: Path, events: int) -> None:
    with without_driver(home) as engine:
        engine.execute(DECLARATION)
        live = engine.deploy(TEXT, name="window")
        start = time.process_time()
        for first in range(0, events, GROW):
            batch(engine, first, GROW)
        spent, size = time.process_time() - start, live.status.state_size
        print(
            f"  grown to {size / 1e9:.2f} GB by {events:,} events: {spent:.0f} s of processor, peak {peak()}",
            flush=True,
        )
        small_batches(engine, home, events, "before the end")
        print(f"  peak {peak()}", flush=True)
        os._exit(0)  # as if it were killed


def go_on(home: Path, events: int) -> None:
    with without_driver(home) as engine:
        first = events + BATCHES * SMALL
        print(f"  the first batch of the next process: {batch(engine, first, SMALL):.1f} s of processor", flush=True)
        small_batches(engine, home, first + SMALL, "after it")
        status = engine.deployments["window"].status
        taken = first + (BATCHES + 1) * SMALL
        assert status.last_error is None
        assert status.rows_in == taken, (status.rows_in, taken)
        print(
            f"  state {status.state_size / 1e9:.2f} GB, {status.rows_in:,} events taken in, peak {peak()}", flush=True
        )


def main(gigabytes: float = 2.0) -> None:
    events = -(-int(gigabytes * 1e9) // ROW // GROW) * GROW
    print(f"a window of {gigabytes:g} GB")
    with tempfile.TemporaryDirectory() as name:
        for step in ("grow", "go_on"):
            subprocess.run([sys.executable, __file__, step, str(Path(name) / "home"), str(events)], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["grow"]:
        grow(Path(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["go_on"]:
        go_on(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main(*map(float, sys.argv[1:]))
