"""A burst of events in a folder that a source watches, worked off by a deployed window: memory must not grow with it.

The events lie there, 250,000 to a file, when the engine starts: one million of them, then ten. A second series gives
every batch to Spark's workers. Memory is the resident size, looked at ten times a second: the driver's, and that of
all Python processes of Spark's together; the JVM has the limit that it was given, 1 GB. The speed is that from the
first batch on: until then Spark starts its query. Run as: python benchmarks/burst.py [events] [picture.svg]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from charts import Panel, Series, Style, draw

from presage import Engine

PER_FILE, KEYS, STEP = 250_000, 10_000, 100
START = 1_704_067_200_000_000
CURVE = "curve.json"
COLOURS = {"driver": "#1b6ca8", "workers": "#c0392b"}
# The window holds a million events, however many have gone by.
WINDOW = (
    "SELECT sym, avg(price) AS mean FROM Tick#time(100 sec) WITHIN [2024-01-01, ) GROUP BY sym HAVING count(*) > 1000"
)


def write_burst(folder: Path, events: int) -> None:
    folder.mkdir()
    for number, first in enumerate(range(0, events, PER_FILE)):
        numbers = np.arange(first, min(first + PER_FILE, events))
        prices = np.random.default_rng(first).integers(0, 10_000, len(numbers)) / 100.0
        times = pa.array(START + STEP * numbers, pa.timestamp("us", "UTC"))
        pq.write_table(
            pa.table({"sym": numbers * 7_919 % KEYS, "price": prices, "at": times}), folder / f"{number:05}.parquet"
        )


class Memory(threading.Thread):
    """Looks at this process and those that come from it, and at how many events are done."""

    def __init__(self, done: Callable[[], int]) -> None:
        super().__init__(daemon=True)
        self.curve: list[tuple[float, int, int, int]] = []  # seconds, the driver's, the workers', events
        self._done = done
        self._ended = threading.Event()

    def run(self) -> None:
        start = time.perf_counter()
        while not self._ended.wait(0.1):
            self.curve.append((time.perf_counter() - start, *_memory(), self._done()))

    def end(self) -> None:
        self._ended.set()
        self.join()


def _memory() -> tuple[int, int]:
    listed = subprocess.run(["ps", "-wweo", "pid=,ppid=,rss=,args="], capture_output=True, text=True, check=True).stdout
    rows = {int(line.split()[0]): line.split(None, 3) for line in listed.splitlines()}
    ours, grown = {os.getpid()}, True
    while grown:
        found = {pid for pid, row in rows.items() if int(row[1]) in ours}
        grown = not found <= ours
        ours |= found
    workers = [pid for pid in ours if pid in rows and "pyspark" in rows[pid][3] and "python" in rows[pid][3].split()[0]]
    own = rows.get(os.getpid(), ["0", "0", "0", ""])
    return int(own[2]) * 1024, sum(int(rows[pid][2]) for pid in workers) * 1024


def work_off(home: Path, folder: Path, events: int, on_workers: bool) -> None:
    settings = {"spark.driver.memory": "1g", "spark.master": "local[2]"}
    with Engine(
        home=home, roots=[folder], settings=settings, rows_on_driver=100_000 if on_workers else 1_000_000
    ) as engine:
        engine.spark  # noqa: B018 (started before time is taken)
        engine.execute(
            "CREATE STREAM Tick (sym LONG, price DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sym) "
            f"WITH (source = 'files', path = '{folder}', settle = '0 sec')"
        )
        live = engine.deploy(WINDOW, name="window")
        memory = Memory(lambda: live.status.rows_in)
        memory.start()
        ahead = 0
        while live.status.rows_in < events:
            assert live.status.last_error is None, live.status.last_error
            ahead = max(ahead, live.status.lag)
            time.sleep(0.1)
        memory.end()
    times, driver, workers, done = zip(*memory.curve, strict=True)
    (home.parent / CURVE).write_text(json.dumps(memory.curve))
    begun = next(i for i, count in enumerate(done) if count)
    seconds, taken = times[-1] - times[begun], done[-1] - done[begun]
    where = "workers" if on_workers else "driver"
    print(
        f"  {events:>12,} events on the {where:<7}: begun after {times[begun]:.0f} s, then {seconds:6.1f} s, "
        f"{taken / max(seconds, 0.1) / 1e6:.2f} million a second; driver {max(driver) / 1e9:.2f} GB, workers "
        f"{max(workers) / 1e9:.2f} GB; never more than {ahead:,} ahead",
        flush=True,
    )


def picture(curves: dict[str, list[list[float]]], events: int) -> str:
    """The greatest of each second."""
    memory, done = [], []
    for where, curve in curves.items():
        seconds = sorted({int(line[0]) for line in curve})
        cut = {second: [line for line in curve if int(line[0]) == second] for second in seconds}
        parts = (("the driver", 1, False), ("Python workers", 2, True))
        for part, column, dashed in parts if where == "workers" else parts[:1]:
            points = [(float(s), max(line[column] for line in cut[s]) / 1e9) for s in seconds]
            memory.append(Series(f"{part}, batches on the {where}", points, Style(COLOURS[where], dashed)))
        done.append(Series("", [(float(s), cut[s][-1][3] / 1e6) for s in seconds], Style(COLOURS[where])))
    longest = max(line[0] for curve in curves.values() for line in curve)
    step = max(10, int(longest / 6) // 10 * 10)
    panels = [Panel("Memory", "GB", memory, even=True), Panel("Events worked off", "millions", done, even=True)]
    ticks = list(range(0, int(longest) + step, step))
    return draw(f"A burst of {events:,} events", panels, "seconds since the statement stands", ticks)


def main(most: int = 10_000_000, svg: str | None = None) -> None:
    print("a burst, worked off")
    curves = {}
    for where in ("driver", "workers"):
        for events in (most // 10, most):
            with tempfile.TemporaryDirectory() as name:
                write_burst(Path(name) / "burst", events)
                command = [sys.executable, __file__, name, str(events), where]
                subprocess.run(command, check=True)
                curves[where] = json.loads((Path(name) / CURVE).read_text())  # in the end, those of most events
    if svg is not None:
        Path(svg).write_text(picture(curves, most))


if __name__ == "__main__":
    if len(sys.argv) == 4:
        place = Path(sys.argv[1])
        work_off(place / "home", place / "burst", int(sys.argv[2]), sys.argv[3] == "workers")
    else:
        main(*map(int, sys.argv[1:2]), *sys.argv[2:])
