"""Speed of the aggregate kernels on one core: events a second of whole steps, and their ratio to a floor.

Events: 2,000,000 ticks of 1,000 STRING keys in one hour, sorted by time. The floor is the least that a grouped sum must
do with these columns: code the keys with Arrow and add the prices up by code (`np.bincount`), one number for each key
instead of one for each event. Interleaved runs, the minimum of seven.
Run as: python benchmarks/window_kernel.py [events]
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from interleaved import minima, report

from presage.operators.windows.kernel.aggregate import AggregateKernel
from presage.operators.windows.kernel.spec import SEQ, TIME, Aggregate, Window

KEYS = 1000
HOUR = 3_600_000_000
MINUTE = 60_000_000
AVG = Aggregate("avg", "price", "mean")
FLOOR = "floor: dictionary_encode + bincount"
WANTED = 5_000_000  # events a second, for avg over a time window

CASES: dict[str, tuple[Window, tuple[str, ...], tuple[Aggregate, ...]]] = {
    "time(1 min) avg": (Window("time", MINUTE), ("sym",), (AVG,)),
    "time(1 min) count, sum, avg, stddev": (
        Window("time", MINUTE),
        ("sym",),
        tuple(Aggregate(f, "price", f) for f in ("count", "sum", "avg", "stddev")),
    ),
    "time(1 min) min, max": (
        Window("time", MINUTE),
        ("sym",),
        tuple(Aggregate(f, "price", f) for f in ("min", "max")),
    ),
    "time(1 min) median": (Window("time", MINUTE), ("sym",), (Aggregate("median", "price", "m"),)),
    "time(1 min) avg, no GROUP BY": (Window("time", MINUTE), (), (AVG,)),
    "length(1000) avg": (Window("length", 1000), ("sym",), (AVG,)),
    "no window avg": (Window("none"), ("sym",), (AVG,)),
    "unique(sym) avg, no GROUP BY": (Window("unique", by=("sym",)), (), (AVG,)),
    "time_batch(1 min) avg": (Window("time_batch", MINUTE), ("sym",), (AVG,)),
    "tumble(1 min) avg": (Window("tumble", MINUTE), ("sym",), (AVG,)),
    "hop(1 min, 10 sec) avg": (Window("hop", MINUTE, slide=MINUTE // 6), ("sym",), (AVG,)),
    "hop(1 hour, 1 min) avg": (Window("hop", HOUR, slide=MINUTE), ("sym",), (AVG,)),
    "session(5 sec, sym) avg": (Window("session", MINUTE // 12, by=("sym",)), ("sym",), (AVG,)),
}


def make_ticks(count: int) -> pa.Table:
    random = np.random.default_rng(1)
    symbols = pa.array([f"SYM{i:04d}" for i in range(KEYS)])
    return pa.table(
        {
            TIME: np.sort(random.integers(0, HOUR, count)),
            SEQ: np.arange(count),
            "sym": symbols.take(pa.array(random.integers(0, KEYS, count))),
            "price": random.random(count) * 100,
        }
    )


def step_of(case: str, ticks: pa.Table) -> Callable[[], object]:
    window, group_by, aggregates = CASES[case]
    kernel = AggregateKernel(window, group_by, bool(group_by), aggregates, ("sym",))
    return lambda: kernel.step(kernel.initial(), ticks, HOUR)


def floor(ticks: pa.Table) -> object:
    coded = ticks["sym"].combine_chunks().dictionary_encode()
    return np.bincount(coded.indices.to_numpy(), weights=ticks["price"].to_numpy())


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    ticks = make_ticks(count)
    best = minima({FLOOR: lambda: floor(ticks)} | {case: step_of(case, ticks) for case in CASES})
    report(f"aggregate kernels, {count:,} events of {KEYS:,} keys, one step, one core", best, FLOOR)
    for case in CASES:
        print(f"  {case:<44} {count / best[case] / 1e6:6.1f} million events/s")
    speed = count / best["time(1 min) avg"]
    print(
        f"  wanted for time(1 min) avg: {WANTED / 1e6:g} million events/s; {'reached' if speed >= WANTED else 'MISSED'}"
    )


if __name__ == "__main__":
    main()
