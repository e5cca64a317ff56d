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
# Windows with bounds, and rows at the end.
BOUNDED = {
    "spans": "SELECT sym, count_if(price > 2) AS n, percentile(price, 0.9) AS p, window_start AS w "
    "FROM Tick#hop(4 sec, 2 sec) GROUP BY sym",
    "visits": "SELECT sym, sum(price) AS s, window_start AS w FROM Tick#session(4 sec, sym) "
    "WITHIN [2024-01-01, 2024-01-01T00:00:22) GROUP BY sym",
    "means": "SELECT sym, avg(price) AS m, corr(price, price) AS c FROM Tick "
    "WITHIN [2024-01-01, 2024-01-01T00:00:22) GROUP BY sym HAVING count(*) > 1 OUTPUT LAST",
    "holds": "SELECT sym, count(*) AS n FROM Tick#time(4 sec) WITHIN [2024-01-01, 2024-01-01T00:00:22) GROUP BY sym "
    "OUTPUT SNAPSHOT",
}
# What the other capabilities keep in their states.
UNCERTAIN_STREAMS = """
CREATE STREAM Seen (person STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (person) PROBABILISTIC (place)
  WITH (max_delay = '2 sec');
CREATE STREAM Car (car STRING, x DOUBLE, at TIMESTAMP) EVENT TIME at KEY (car)
  PREDICTED (x) WITH (threshold = 25, period = '30 sec', max_delay = '2 sec');
"""
CAPABILITIES = MATCHING | {
    "sequence": "SELECT p FROM SEQUENCE [ Seen(p, 'office') ; Seen(p, 'hall')+{p} ; Seen(p, 'coffee') ]",
    "near": "SELECT a.car, b.car AS other FROM PREDICTED Car a JOIN PREDICTED Car b ON ABS(a.x - b.x) <= 100 "
    "WHERE a.car = 'c1' AND b.car = 'c2'",
    "recall": "SELECT t.sym, r.n, r.s FROM Tick t RECALL LAST 10 sec "
    "( SELECT count(*) AS n, sum(q.bid) AS s FROM Quote q WHERE q.sym = t.sym ) AS r",
    "similar": "SELECT t.sym, s.rank, s.sym AS other FROM Tick t "
    "RECALL SIMILAR 2 ( CONTEXT SELECT q.sym FROM Quote q WINDOW 3 sec ) AS s",
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


def sightings(first: int, count: int) -> list[dict[str, Any]]:
    """A person a second, who is in one of two places."""
    return [
        {"person": "ab"[i % 2], "place": place, "probability": chance, "at": at(first + i)}
        for i in range(count)
        for place, chance in zip(("office", "hall", "coffee")[i % 3 : i % 3 + 2], (0.5, 0.25), strict=False)
    ]


def cars(first: int, count: int) -> list[dict[str, Any]]:
    """Two cars that meet again and again."""
    return [{"car": f"c{1 + i % 2}", "at": at(first + i), "x_value": 40.0 * i, "x_rate": 9.0 - i} for i in range(count)]
