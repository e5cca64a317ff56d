"""Two streams, statements of every kind over them, and events to load."""

from __future__ import annotations

from typing import Any

STREAMS = """
CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at WITH (max_delay = '2 sec');
CREATE STREAM Quote (sym STRING, bid DOUBLE, at TIMESTAMP) EVENT TIME at;
"""
STATEMENTS = {
    "filter": "SELECT sym, price FROM Tick WHERE price > 2",
    "window": "SELECT sym, avg(price) AS p, count(*) AS n FROM Tick#time(4 sec) GROUP BY sym",
    "join": "SELECT t.sym, price, bid FROM Tick#length(2) AS t JOIN Quote#time(5 sec) AS q ON t.sym = q.sym",
    "batch": "SELECT sym, sum(price) AS s FROM Tick#time_batch(3 sec) GROUP BY sym",
    "rated": "SELECT sym, sum(bid) AS s FROM Quote GROUP BY sym OUTPUT LAST EVERY 2 sec",
    "hot": "INSERT INTO Hot SELECT sym, price FROM Tick WHERE price > 3",
    "over": "SELECT sym, count(*) AS n FROM Hot#time(5 sec) GROUP BY sym",
    "past": "SELECT sym, max(price) AS m FROM Tick#length(3) WITHIN [2024-01-01T00:00:02, ) GROUP BY sym",
    "ends": "SELECT sym, sum(price) AS s FROM Tick#time_batch(3 sec) WITHIN [2024-01-01, 2024-01-01T00:00:22) "
    "GROUP BY sym",
}
MATCHING = {
    "falls": "SELECT sym, top, n FROM Tick MATCH_RECOGNIZE ( PARTITION BY sym "
    "MEASURES FIRST(price) AS top, count(*) AS n PATTERN (A B*) WITHIN 6 sec DEFINE B AS B.price <= PREV(B.price) )",
    "silent": "SELECT a.sym, a.price FROM PATTERN "
    "[ EVERY a=Tick -> (timer:interval(3 sec) AND NOT Quote(sym = a.sym)) ]",
}
OTHER_WINDOW = "SELECT sym, min(price) AS p FROM Tick#length(2) GROUP BY sym"


def at(second: float) -> str:
    return f"2024-01-01T00:00:{second:04.1f}"


def ticks(first: int, count: int) -> list[dict[str, Any]]:
    """Events a second and a half apart, neighbours in the wrong order, the last one too late where there are many."""
    order = [i ^ 1 for i in range(count & ~1)]
    rows = [{"sym": "abc"[i % 3], "price": float(i % 5 + 1), "at": at(first + 1.5 * i)} for i in order]
    return rows + ([{"sym": "late", "price": 9.0, "at": at(first - 5)}] if first > 5 else [])


def quotes(first: int, count: int) -> list[dict[str, Any]]:
    return [{"sym": "abc"[i % 3], "bid": i / 4, "at": at(first + i)} for i in range(count)]
