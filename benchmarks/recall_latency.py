"""How long do others wait while history is read? A plain statement beside one that recalls a huge archive.

An archive of many rows, one row of which an alert asks all of history about; a filter over another stream stands beside
it. Events of that stream are loaded one by one, and it is noted how long each row takes from `load` to a subscriber:
first alone, then while the alerts read history, once with aggregates that are put together from chunks, once with a
median, which is asked anew over all that is covered. Milliseconds of the wall clock.
Run as: python benchmarks/recall_latency.py [rows] [events]
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time

import numpy as np
import pyarrow as pa

from presage import Engine

CHUNK, SERVERS, SECOND, PATIENCE = 500_000, 10_000, 1_000_000, 600.0
BEGIN = 1_767_225_600 * SECOND
DECLARED = """
    CREATE STREAM Traffic (sid STRING, bw DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sid);
    CREATE STREAM Alert (sid STRING, at TIMESTAMP) EVENT TIME at KEY (sid);
    CREATE STREAM Ping (sid STRING, ms LONG, at TIMESTAMP) EVENT TIME at;
"""
ASKED = {
    "put together": "avg(h.bw) AS x, count(*) AS n",
    "asked anew": "median(h.bw) AS x, count(*) AS n",
}


def load_archive(engine: Engine, rows: int) -> None:
    names = pa.array([f"server-{i}" for i in range(SERVERS)])
    for number in range(rows // CHUNK):
        random = np.random.default_rng(number)
        at = pa.array(BEGIN + (np.arange(CHUNK) + number * CHUNK) * 1_000, pa.timestamp("us", "UTC"))
        sid = names.take(pa.array(random.integers(0, SERVERS, CHUNK)))
        engine.load("Traffic", pa.table({"sid": sid, "bw": random.normal(100, 20, CHUNK), "at": at}))


class Waits:
    """Loads pings, and notes how long the row of each takes."""

    def __init__(self, engine: Engine, begin: int) -> None:
        self._engine, self._begin, self._number = engine, begin, 0
        self._there = threading.Event()
        self._at = 0.0
        engine.deploy("SELECT p.sid, p.ms FROM Ping p WHERE p.ms >= 0", name="plain").subscribe(self._seen)

    def _seen(self, _row: object) -> None:
        self._at = time.perf_counter()
        self._there.set()

    def one(self) -> float:
        at = pa.array([self._begin + self._number * SECOND], pa.timestamp("us", "UTC"))
        start = time.perf_counter()
        self._engine.load("Ping", pa.table({"sid": ["s"], "ms": [self._number], "at": at}))
        if not self._there.wait(PATIENCE):
            raise SystemExit(f"no row within {PATIENCE:g} s")
        self._there.clear()
        self._number += 1
        return (self._at - start) * 1e3


def tell(name: str, waits: list[float], more: str = "") -> None:
    p50, p95 = np.percentile(waits, [50, 95])
    print(f"{name:<36} {len(waits):4} rows   p50 {p50:6.0f}   p95 {p95:6.0f}   max {max(waits):6.0f}{more}", flush=True)


def main(rows: int = 20_000_000, events: int = 60) -> None:
    with tempfile.TemporaryDirectory() as home, Engine(home=home) as engine:
        engine.execute(DECLARED)
        load_archive(engine, rows)
        end = BEGIN + rows * 1_000 + SECOND
        waits = Waits(engine, end)
        for _ in range(10):
            waits.one()
        tell("alone", [waits.one() for _ in range(events)])
        for name, terms in ASKED.items():
            asking = engine.deploy(
                f"SELECT e.sid, r.* FROM Alert e RECALL ( SELECT {terms} FROM Traffic h WHERE h.sid = e.sid ) AS r",
                name=name,
            )
            alerts = [{"sid": f"server-{i}", "at": end + i} for i in range(3)]
            start = time.perf_counter()
            engine.load(
                "Alert",
                pa.Table.from_pylist(alerts).cast(pa.schema([("sid", pa.string()), ("at", pa.timestamp("us", "UTC"))])),
            )
            taken = [waits.one()]
            while asking.status.recalls_ready:
                taken.append(waits.one())
            tell(f"beside a RECALL, {name}", taken, f"   ({time.perf_counter() - start:.1f} s for all of history)")
            asking.stop()


if __name__ == "__main__":
    main(*(int(float(given)) for given in sys.argv[1:]))
