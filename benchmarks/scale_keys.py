"""From 1,000 to 1,000,000 keys through a deployed window and a deployed pattern, and keys of which one has half of all
events: processor time, and bytes of state written.

Each key has four events, one in each of four loads. Batches of at most 500,000 take them in and are committed with
their states and rows; no session, the batch is called directly. Then one more batch of 10,000 events meets the state
that has grown: it should cost what the keys of its events cost.
Run as: python benchmarks/scale_keys.py [most keys]
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from airflow import without_driver

from presage import Engine

DECLARATION = "CREATE STREAM Tick (sym LONG, price DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sym)"
STATEMENTS = {
    "window": "SELECT sym, avg(price) AS mean, count(*) AS n FROM Tick#groupwin(sym)#length(3) GROUP BY sym",
    "pattern": "SELECT a.sym, b.price FROM PATTERN [ EVERY a=Tick(price < 20) -> b=Tick(sym = a.sym AND price > 80) "
    "WHERE timer:within(1 hour) ]",
}
EVENTS_PER_KEY, SMALL = 4, 10_000
START, STEP = 1_704_067_200_000_000, 100


@dataclass
class Measured:
    seconds: float
    small: float  # of one more batch of SMALL events
    written: int  # bytes of its states
    state: int  # bytes of the state
    rows: int


def ticks(keys: int, first: int, count: int, skewed: bool) -> pa.Table:
    """Events from number `first` on. All keys take turns; where they are skewed, every other event is of key 0."""
    numbers = np.arange(first, first + count)
    symbols = numbers * 7_919 % keys
    if skewed:
        symbols = np.where(numbers % 2 == 0, 0, symbols)
    prices = np.random.default_rng(first).integers(0, 10_000, count) / 100.0
    times = pa.array(START + STEP * numbers, pa.timestamp("us", "UTC"))
    return pa.table({"sym": symbols, "price": prices, "at": times})


def advance(engine: Engine) -> float:
    """Processor seconds of all batches that are to be done."""
    job = engine.deployments.job  # type: ignore[attr-defined]
    start = time.process_time()
    while job.advance():
        pass
    return time.process_time() - start


def state_files(home: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in (home / "states").iterdir()}


def measure(text: str, keys: int, events: int, skewed: bool = False) -> Measured:
    with tempfile.TemporaryDirectory() as name, without_driver(Path(name) / "home") as engine:
        home = Path(name) / "home"
        engine.execute(DECLARATION)
        live = engine.deploy(text, name="deployed")
        seconds = 0.0
        load = events // EVENTS_PER_KEY
        for first in range(0, events, load):
            engine.load("Tick", ticks(keys, first, load, skewed))
            seconds += advance(engine)
        before = state_files(home)
        engine.load("Tick", ticks(keys, events, SMALL, skewed))
        small = advance(engine)
        written = sum(size for file, size in state_files(home).items() if file not in before)
        status = live.status
        return Measured(seconds, small, written, status.state_size, status.rows_out)


def main(most: int = 1_000_000) -> None:
    counts = [count for count in (1_000, 10_000, 100_000, 1_000_000) if count <= most]
    for name, text in STATEMENTS.items():
        measure(text, 1_000, 4_000)  # kernels are compiled, or loaded
        print(f"{name}: {text}")
        print(
            f"  {'keys':>9} {'seconds':>9} {'us a key':>9} {'us an event':>12} {SMALL:>9,} on"
            f" {'written':>10} {'state':>10}"
        )
        for keys in counts:
            m = measure(text, keys, EVENTS_PER_KEY * keys)
            each = m.seconds / keys * 1e6
            print(
                f"  {keys:>9,} {m.seconds:>9.3f} {each:>9.2f} {each / EVENTS_PER_KEY:>12.2f} {m.small:>12.3f} s "
                f"{m.written / 1e6:>7.1f} MB {m.state / 1e6:>7.1f} MB",
                flush=True,
            )
        even, skewed = (measure(text, 10_000, 1_000_000, uneven) for uneven in (False, True))
        ratio = skewed.seconds / even.seconds
        print(
            f"  1,000,000 events of 10,000 keys: {even.seconds:.2f} s; one key has half: {skewed.seconds:.2f} s, "
            f"{ratio:.2f} times; {even.rows:,} and {skewed.rows:,} rows"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
