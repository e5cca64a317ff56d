"""Small history is read in this process, large history by Spark: the same rows either way."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from presage import Engine
from presage.execution import placement
from reference.aggregates_in_parts import of_values

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
STREAMS = """
CREATE STREAM Traffic (sid STRING, port INT, bytes LONG, bw DOUBLE, at TIMESTAMP) EVENT TIME at;
CREATE RELATION Server (sid STRING, name STRING) VALUES ('s0', 'zero'), ('s1', 'one'), ('s1', 'uno'), (NULL, 'none');
CREATE STREAM Alert (sid STRING, port INT, bw DOUBLE, at TIMESTAMP) EVENT TIME at;
"""
SELECTS = [
    "SELECT count(*) AS n, count(h.bw) AS m, sum(h.bytes) AS b, avg(h.bw) AS a, avg(h.bytes) AS c FROM Traffic h "
    "WHERE h.sid = e.sid",
    "SELECT min(h.bw) AS lo, max(h.bw) AS hi, stddev(h.bw) AS sd, first(h.bw) AS f, last(h.port) AS l FROM Traffic h "
    "WHERE h.sid = e.sid AND h.port = e.port",
    "SELECT h.port AS p, h.sid AS s, count(*) AS n FROM Traffic h WHERE h.bw < e.bw GROUP BY h.port, h.sid",
    "SELECT h.bw * 2 AS twice, h.sid || '!' AS s FROM Traffic h WHERE h.port = e.port AND h.bw > 3 ORDER BY twice DESC",
    "SELECT h.port AS p, sum(h.bw) AS b FROM Traffic h WHERE e.sid = h.sid GROUP BY h.port HAVING count(*) > 1",
    "SELECT DISTINCT h.sid AS s FROM Traffic h WHERE h.bytes > 100",
    "SELECT count(DISTINCT h.sid) AS n, count(DISTINCT h.bw) AS m, avg(DISTINCT h.port) AS a, median(h.bw) AS d, "
    "percentile(h.bytes, 0.9) AS p, corr(h.bw, h.bytes) AS c, sum(h.bw) AS s, stddev(h.bw) AS t, avg(h.bytes) AS b "
    "FROM Traffic h WHERE h.bytes < 1000",
    "SELECT h.sid AS s, window(h.port) AS w, stddev(h.bytes) AS d, sum(h.bw / 3) AS b, avg(h.bytes) AS a, "
    "min(h.sid) AS lo, first(h.bw) AS f FROM Traffic h GROUP BY h.sid ORDER BY a DESC NULLS LAST",
    "SELECT h.port AS p, x.name AS n, count(k.bw) AS c, sum(h.bytes % 999) AS b, max(k.bw) AS m FROM Traffic h "
    "LEFT JOIN Traffic k ON k.sid = h.sid AND k.bw < h.bw LEFT JOIN Server x ON x.sid = h.sid "
    "WHERE h.sid = e.sid OR e.port = 1 GROUP BY h.port, x.name ORDER BY n NULLS LAST, c DESC LIMIT 3",
    "SELECT x.name AS n, last(h.bw) AS l, first(h.bytes) AS f, count(*) AS c FROM Server x "
    "LEFT JOIN Traffic h ON h.sid = x.sid AND h.port = e.port GROUP BY x.name",
    "SELECT x.name AS n, h.bw FROM Server x LEFT JOIN Traffic h ON h.sid = x.sid AND h.bw > e.bw ORDER BY n, h.bw",
    "SELECT h.bw, h.bw > (SELECT avg(k.bw) AS a FROM Traffic k WHERE k.bw < 9) AS above, "
    "h.port IN (SELECT k.port FROM Traffic k WHERE k.sid = e.sid) AS inside, "
    "EXISTS (SELECT x.name FROM Server x WHERE x.sid = e.sid) AS known FROM Traffic h ORDER BY h.at",
    "SELECT max(s.b) AS b, count(*) AS n, sum(s.k) AS k FROM (SELECT h.sid AS sid, sum(h.bytes) AS b, "
    "rank_of.k AS k FROM Traffic h JOIN (SELECT DISTINCT i.port, dense_rank() OVER (ORDER BY i.port) AS k "
    "FROM Traffic i) AS rank_of ON rank_of.port = h.port GROUP BY h.sid, rank_of.k) AS s",
    "SELECT h.sid AS s, rank() OVER (PARTITION BY h.sid ORDER BY h.bw) AS r, ntile(4) OVER (ORDER BY h.at) AS t, "
    "lag(h.bw, 2, 0.5) OVER (PARTITION BY h.sid ORDER BY h.at DESC) AS l, cume_dist() OVER (ORDER BY h.bytes) AS c, "
    "stddev(h.bw) OVER (PARTITION BY h.port ORDER BY h.at) AS d, avg(h.bw / 3) OVER (ORDER BY h.at) AS a, "
    "max(h.sid) OVER (PARTITION BY h.port) AS m FROM Traffic h WHERE h.bytes < 1000 ORDER BY h.at",
]


def traffic() -> list[dict[str, Any]]:
    values = [1.5, None, 4.0, float("nan"), 0.0, -0.0, 7.25]
    return [
        {
            "sid": None if i % 11 == 0 else f"s{i % 3}",
            "port": None if i % 13 == 0 else i % 2,
            "bytes": None if i % 5 == 0 else (2**62 if i == 7 else i * 10),
            "bw": values[i % len(values)],
            "at": BEGIN + timedelta(minutes=i),
        }
        for i in range(60)
    ]


def alerts() -> list[dict[str, Any]]:
    told = [("s0", 0, 5.0), ("s1", 1, 5.0), (None, 1, None), ("nobody", None, 2.0), ("s2", 0, float("nan"))]
    return [
        {"sid": sid, "port": port, "bw": bw, "at": BEGIN + timedelta(minutes=9 * i + 12)}
        for i, (sid, port, bw) in enumerate(told)
    ]


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark) as engine:
        engine.execute(STREAMS)
        engine.load("Traffic", traffic())
        engine.load("Alert", alerts())
        yield engine


@pytest.mark.parametrize("select", SELECTS)
@pytest.mark.parametrize("last", ["", "LAST 20 min"])
def test_answers_found_here_are_those_of_spark(
    engine: Engine, select: str, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = f"SELECT e.sid, r.* FROM Alert e RECALL {last} ( {select} ) AS r"
    by_spark = engine.query(asked).to_arrow()
    monkeypatch.setattr(placement, "MOST_ROWS", 1_000)
    found = engine.query(asked).to_arrow()
    assert repr(found.to_pylist()) == repr(by_spark.to_pylist())
    assert found.num_rows >= 5


CONTEXTS = [
    "SELECT h.port, h.bw FROM Traffic h WINDOW 9 min WHERE h.sid = e.sid",
    "SELECT h.sid FROM Traffic h WINDOW 4 min ORDER BY h.bw DESC LIMIT 2",
    "SELECT h.sid, count(*) AS n, max(h.bw) AS most FROM Traffic h WINDOW 30 min WHERE h.bw <> e.bw GROUP BY h.sid",
    "SELECT count(*) AS n, count(DISTINCT h.sid) AS m FROM Traffic h WINDOW 10 min",
    "SELECT e.port, e.bw * 2 AS bw WHERE e.port = 1",
    "SELECT x.name, h.port FROM Traffic h WINDOW 9 min JOIN Server x ON x.sid = h.sid JOIN Traffic k WINDOW 5 min "
    "ON k.port = h.port WHERE h.sid IN (SELECT a.sid FROM Alert a WINDOW 1 hour)",
]


def test_events_around_past_ones_found_here_are_those_of_spark(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = """SELECT e.sid, s.* FROM PATTERN [ every e=Alert ] RECALL SIMILAR 2 (
      CONTEXT SELECT h.sid FROM Traffic h WINDOW 6 min BEFORE 3 min AFTER 30 min ) AS s"""
    by_spark = engine.query(asked).to_arrow()
    monkeypatch.setattr(placement, "MOST_ROWS", 1_000)
    found = engine.query(asked).to_arrow()
    assert repr(found.to_pylist()) == repr(by_spark.to_pylist())
    assert any(row["around"] for row in found.to_pylist())


@pytest.mark.parametrize("select", CONTEXTS)
def test_contexts_found_here_are_those_of_spark(engine: Engine, select: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = f"SELECT e.sid, s.* FROM Alert e RECALL SIMILAR 3 ( CONTEXT {select} ) AS s"
    by_spark = engine.query(asked).to_arrow()
    monkeypatch.setattr(placement, "MOST_ROWS", 1_000)
    found = engine.query(asked).to_arrow()
    assert repr(found.to_pylist()) == repr(by_spark.to_pylist())
    assert any(row["context"] for row in found.to_pylist())


def test_spark_adds_doubles_in_no_order_of_its_own(engine: Engine) -> None:
    """In parts, in a select inside another, and beside an aggregate that is not made of parts."""
    engine.execute(
        "CREATE STREAM Load (v DOUBLE, at TIMESTAMP) EVENT TIME at; INSERT INTO Doubled SELECT v * 2 AS v FROM Load;"
    )
    values = [0.05, 5e15, 0.1, -0.15, 1 / 3, -5e15, 0.35, 1 / 7, 5e-18]
    for i, v in enumerate(values):
        engine.load("Load", [{"v": v, "at": BEGIN + timedelta(minutes=i)}])
    engine.load("Alert", [{"sid": "after", "port": 0, "bw": 1.0, "at": BEGIN + timedelta(hours=2)}])
    doubled = [v * 2 for v in values]
    sums = "avg(d.v) AS a, sum(d.v) AS s, stddev(d.v) AS sd FROM Doubled d"
    (row,) = (
        engine.query(
            f"SELECT p.a, p.s, p.sd, q.b, m.a AS c, m.s AS t FROM Alert e FINAL RECALL ( SELECT {sums} ) AS p "
            f"RECALL ( SELECT max(i.a) AS b FROM ( SELECT {sums} ) AS i ) AS q "
            f"RECALL ( SELECT median(d.v) AS m, {sums} ) AS m WHERE e.sid = 'after'"
        )
        .to_arrow()
        .to_pylist()
    )
    exact = [math.fsum(doubled) / len(doubled), math.fsum(doubled), of_values("stddev", doubled)]
    assert [row["a"], row["s"], row["sd"], row["b"]] == [*exact, exact[0]]
    assert [row["c"], row["t"]] == [sum(sorted(doubled)) / len(doubled), sum(sorted(doubled))]
