"""Two time windows joined on a STRING key: the join kernel against pandas.merge + filter and Arrow's join + filter.

1,000,000 events, half of each side, 10,000 keys, #time(10 sec) on both sides over 1,000 seconds. The rivals make all
pairs of a key and keep those at most 10 seconds apart: the floor of anything that has no window. Interleaved runs, the
minimum of seven of each. Run as: python benchmarks/join_kernel.py [events]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from presage.operators.windows.kernel.join import JoinKernel, JoinSource, Link
from presage.operators.windows.kernel.spec import SEQ, SOURCE, TIME, Window
from presage.operators.windows.kernel.warm import warm_joins

KEYS = 10_000
SPAN = 1_000_000_000
WIDTH = 10_000_000
RUNS = 7


def make_events(rows: int) -> pa.Table:
    random = np.random.default_rng(7)
    side = random.integers(0, 2, rows).astype(np.int8)
    keys = pa.array([f"sensor-{k:05d}" for k in range(KEYS)]).take(pa.array(random.integers(0, KEYS, rows)))
    none, values = pa.scalar(None, pa.string()), pa.array(random.random(rows))
    left = pa.array(side == 0)
    return pa.table(
        {
            TIME: np.sort(random.integers(0, SPAN, rows)),
            SEQ: np.arange(rows),
            SOURCE: side,
            "a_key": pc.if_else(left, keys, none),
            "a_value": pc.if_else(left, values, pa.scalar(None, pa.float64())),
            "b_key": pc.if_else(left, none, keys),
            "b_value": pc.if_else(left, pa.scalar(None, pa.float64()), values),
        }
    )


def by_kernel(events: pa.Table) -> int:
    window = Window("time", WIDTH)
    sources = (JoinSource(window, ("a_key", "a_value")), JoinSource(window, ("b_key", "b_value")))
    kernel = JoinKernel(sources, (Link(0, ("a_key",), 1, ("b_key",)),), changelog=False)
    clock = int(events[TIME][-1].as_py())
    rows: pa.Table = kernel.step(kernel.initial(), events, clock)[1]
    return rows.num_rows


def sides(events: pa.Table) -> tuple[pa.Table, pa.Table]:
    """What the rivals get for nothing: each side as a table of its own."""
    left = events.filter(pc.equal(events[SOURCE], 0)).select(["a_key", "a_value", TIME, SEQ])
    right = events.filter(pc.equal(events[SOURCE], 1)).select(["b_key", "b_value", TIME, SEQ])
    return (
        left.rename_columns(["key", "a_value", "a_t", "a_seq"]).combine_chunks(),
        right.rename_columns(["key", "b_value", "b_t", "b_seq"]).combine_chunks(),
    )


def by_pandas(left: pd.DataFrame, right: pd.DataFrame) -> int:
    pairs = left.merge(right, on="key")
    return len(pairs[(pairs.a_t - pairs.b_t).abs() < WIDTH])


def by_arrow(left: pa.Table, right: pa.Table) -> int:
    pairs = left.join(right, "key", join_type="inner", use_threads=False)
    return int(pairs.filter(pc.less(pc.abs(pc.subtract(pairs["a_t"], pairs["b_t"])), WIDTH)).num_rows)


def main(rows: int) -> None:
    events = make_events(rows)
    left, right = sides(events)
    left_frame, right_frame = left.to_pandas(), right.to_pandas()
    warm_joins()
    runners: dict[str, Callable[[], int]] = {
        "join kernel": lambda: by_kernel(events),
        "pandas.merge + filter": lambda: by_pandas(left_frame, right_frame),
        "Arrow join + filter": lambda: by_arrow(left, right),
    }
    best = dict.fromkeys(runners, float("inf"))
    made = {}
    for _ in range(RUNS):
        for name, run in runners.items():
            start = time.perf_counter()
            made[name] = run()
            best[name] = min(best[name], time.perf_counter() - start)
    if len(set(made.values())) != 1:
        raise SystemExit(f"the results differ: {made}")
    kernel = best["join kernel"]
    print(f"{rows:,} events, {made['join kernel']:,} pairs, minimum of {RUNS}")
    for name, seconds in best.items():
        rate = rows / seconds / 1e6
        print(f"{name:24} {seconds:7.3f} s   {seconds / kernel:6.2f} × the kernel   {rate:6.2f} M events/s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
