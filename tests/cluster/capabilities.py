"""A home with streams for every capability, and a query of each: a cluster must answer as one process does."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from presage import Engine

EVENTS = 120_000
KEYS = 200
STEP = 10_000  # microseconds between two ticks

DECLARATIONS = """
CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sym);
CREATE STREAM Quote (sym STRING, bid DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sym);
"""
QUERIES = {
    "window": "SELECT sym, avg(price) AS mean, count(*) AS n FROM Tick#time(20 sec) GROUP BY sym",
    "join": "SELECT t.sym, t.price, q.bid FROM Tick#time(1 sec) AS t, Quote#time(1 sec) AS q "
    "WHERE t.sym = q.sym AND t.price > q.bid",
    "pattern": "SELECT a.sym, a.price AS low, b.price AS high FROM PATTERN [ EVERY a=Tick(price < 2) -> "
    "b=Tick(sym = a.sym AND price > 98) WHERE timer:within(20 sec) ]",
    "match": "SELECT sym, top, n FROM Tick MATCH_RECOGNIZE ( PARTITION BY sym MEASURES FIRST(price) AS top, "
    "count(*) AS n PATTERN (A B{3,}) DEFINE B AS B.price < PREV(B.price) )",
    "recall": "SELECT q.sym, q.bid, r.n, r.high FROM Quote AS q FINAL RECALL "
    "( SELECT count(*) AS n, max(t.price) AS high FROM Tick AS t WHERE t.sym = q.sym ) AS r",
}


def ticks(events: int = EVENTS, keys: int = KEYS, first: int = 0, seed: int = 7) -> pa.Table:
    """Ticks in the order of time. Prices are whole cents, so that sums do not depend on their order."""
    dice = np.random.default_rng(seed + first)
    symbols = pa.array([f"s{i:05}" for i in range(keys)])
    times = 1_704_067_200_000_000 + STEP * np.arange(first, first + events)
    return pa.table(
        {
            "sym": symbols.take(pa.array(dice.integers(0, keys, events))),
            "price": dice.integers(0, 10_000, events) / 100.0,
            "at": pa.array(times, pa.timestamp("us", "UTC")),
        }
    )


def quotes(count: int, events: int = EVENTS, keys: int = KEYS) -> pa.Table:
    table = ticks(events, keys, seed=8).take(pa.array(np.arange(0, events, max(1, events // count))))
    return table.rename_columns(["sym", "bid", "at"])


def fill(engine: Engine, events: int = EVENTS, keys: int = KEYS) -> None:
    engine.execute(DECLARATIONS)
    engine.load("Tick", ticks(events, keys))
    engine.load("Quote", quotes(500, events, keys))


def rows(table: pa.Table) -> list[dict[str, Any]]:
    """Sorted, as rows of equal time have no order in a DataFrame."""
    return sorted(table.to_pylist(), key=lambda row: tuple((k, _sortable(v)) for k, v in row.items()))


def _sortable(value: Any) -> Any:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else str(value)
