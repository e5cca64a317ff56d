"""A small home with everything in it: late and rejected records, a window with state, a derived stream, a failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from presage.operations.metrics_collector import MetricsCollector
from recovery.living import Living

TICK = "CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sym);"
MEAN = "SELECT sym, avg(price) AS mean FROM Tick#time(1 min) GROUP BY sym"
HOT = "INSERT INTO Hot SELECT sym, price FROM Tick WHERE price > 2"
EVENTS = 12


def tick(second: int, price: float | str | None = None) -> dict[str, Any]:
    at = f"2024-03-01T09:{second // 60:02d}:{second % 60:02d}Z"
    return {"sym": f"s{second % 3}", "price": float(second // 10 % 5) if price is None else price, "at": at}


def fill(home: Path, die: bool = False) -> None:
    """Twelve events in three loads, one that is late, one that is rejected; two statements that have taken them in."""
    living = Living(home)
    living.declare(TICK)
    living.deploy(MEAN, "means")
    living.deploy(HOT, "hot")
    for first in range(0, EVENTS, 4):
        living.load("Tick", [tick(10 * n) for n in range(first, first + 4)])
        living.drain()
    living.load("Tick", [tick(5), tick(200, "dear")])
    living.drain()
    if die:
        living.die()
    else:
        living.close()


def collector(living: Living) -> MetricsCollector:
    return MetricsCollector(living.log, living.deployments, {}, {}, lambda: None)
