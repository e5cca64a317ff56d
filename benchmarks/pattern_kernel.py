"""The kernel of `EVERY a -> b WHERE timer:within(…)` with a key: events a second, and how the cost grows.

Events are in memory, in order; one core, no Spark. The curves vary the number of events, of keys, and of partial
matches that are open at a time (by the width of the guard). The floor is one pass of the same columns through Arrow's
own group-by, which looks at each event once. Run as: python benchmarks/pattern_kernel.py [events]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
from interleaved import minima

from presage.columnar.evaluate import Evaluator
from presage.lang import parse_statement
from presage.lang import syntax as s
from presage.operators.epl.compile import pattern_kernel
from presage.operators.epl.kernel.pattern import PatternKernel
from presage.operators.epl.kernel.spec import SOURCE
from presage.operators.epl.nodes import PatternMatch
from presage.plan.nodes import SEQ, TIME
from presage.workspace import Workspace

LEAST = 1_000_000  # events a second
DECLARED = "CREATE STREAM Tick (k LONG, kind INT, at TIMESTAMP) EVENT TIME at"
QUERY = (
    "SELECT a.k, a.at AS began FROM PATTERN "
    "[ EVERY a=Tick(kind = 0) -> b=Tick(kind = 1 AND k = a.k) WHERE timer:within({width}) ]"
)


def kernel_of(width: str) -> tuple[PatternKernel, PatternMatch]:
    workspace = Workspace([], ".")
    workspace.check(DECLARED)
    statement = parse_statement(QUERY.format(width=width))
    assert isinstance(statement, s.Query)
    plan = workspace.optimize(workspace.bind(statement)).plan
    node = next(n for n in plan.walk() if isinstance(n, PatternMatch))
    assert node.partition, "the pattern is divided by k"
    return pattern_kernel(node, {}), node


def events_of(node: PatternMatch, events: int, keys: int) -> pa.Table:
    """One event a millisecond; two of three open a match, one of three ends those of its key."""
    random = np.random.default_rng(1)
    times = 1_700_000_000_000_000 + 1_000 * np.arange(events)
    source = pa.table(
        {
            "Tick.k": pa.array(random.integers(0, keys, events)),
            "Tick.kind": pa.array((random.random(events) < 1 / 3).astype(np.int32)),
            "Tick.at": pa.array(times, pa.timestamp("us", "UTC")),
        }
    )
    prepared = node.prepared[0]
    made = dict(zip([p.name for p in prepared], Evaluator().columns([p.expr for p in prepared], source), strict=True))
    own = {TIME: pa.array(times), SEQ: pa.array(np.arange(events)), SOURCE: pa.array(np.zeros(events, np.int8))}
    return pa.table({**own, "_key0": made[node.partition[0][0]], **made})


def measure(title: str, settings: list[tuple[int, int, str]]) -> list[float]:
    """Events a second of each setting (events, keys, width), interleaved with its floor."""
    work: dict[tuple[int, bool], Callable[[], object]] = {}
    for number, (events, keys, width) in enumerate(settings):
        kernel, node = kernel_of(width)
        table = events_of(node, events, keys)
        clock = int(table[TIME][-1].as_py())
        work[number, True] = partial(kernel.step, kernel.initial(), table, clock)
        work[number, False] = partial(table.group_by("_key0").aggregate, [(TIME, "max")])
    best = minima(work)  # type: ignore[arg-type]
    print(title)
    rates = []
    for number, (events, keys, width) in enumerate(settings):
        seconds, floor = best[number, True], best[number, False]  # type: ignore[index]
        rates.append(events / seconds)
        print(
            f"  {events:>9,} events {keys:>7,} keys within {width:<8} {seconds:7.3f} s  {rates[-1] / 1e6:6.2f} M/s"
            f"  {seconds / floor:5.1f} x Arrow's group-by"
        )
    return rates


def main(events: int = 2_000_000) -> None:
    rates = measure("headline", [(events, 1_000, "10 sec"), (events, 100_000, "10 sec")])
    print(f"  at least {LEAST / 1e6:g} M/s: {'reached' if min(rates) >= LEAST else 'MISSED'}")
    measure("events", [(events // n, 1_000, "10 sec") for n in (8, 4, 2, 1)])
    measure("keys", [(events, keys, "10 sec") for keys in (10, 1_000, 100_000)])
    measure("partial matches", [(events, 100_000, width) for width in ("1 sec", "10 sec", "100 sec")])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
