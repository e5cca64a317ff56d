"""Small spans of history are asked in this process, large ones of Spark: the same rows either way."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from presage import Engine
from presage.operators.recall import local_execution as here
from presage.operators.recall import spark_history as recall_spark
from reference.aggregates_in_parts import of_values

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
STREAMS = """
CREATE STREAM Traffic (sid STRING, port INT, bytes LONG, bw DOUBLE, at TIMESTAMP) EVENT TIME at;
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
    found = engine.query(asked).to_arrow()
    monkeypatch.setattr(here, "MOST_ROWS", -1)
    by_spark = engine.query(asked).to_arrow()
    assert repr(found.to_pylist()) == repr(by_spark.to_pylist())
    assert found.num_rows >= 5


CONTEXTS = [
    "SELECT h.port, h.bw FROM Traffic h WINDOW 9 min WHERE h.sid = e.sid",
    "SELECT h.sid FROM Traffic h WINDOW 4 min ORDER BY h.bw DESC LIMIT 2",
    "SELECT h.sid, count(*) AS n, max(h.bw) AS most FROM Traffic h WINDOW 30 min WHERE h.bw <> e.bw GROUP BY h.sid",
    "SELECT count(*) AS n, count(DISTINCT h.sid) AS m FROM Traffic h WINDOW 10 min",
    "SELECT e.port, e.bw * 2 AS bw WHERE e.port = 1",
]


@pytest.mark.parametrize("select", CONTEXTS)
def test_contexts_found_here_are_those_of_spark(engine: Engine, select: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = f"SELECT e.sid, s.* FROM Alert e RECALL SIMILAR 3 ( CONTEXT {select} ) AS s"
    found = engine.query(asked).to_arrow()
    monkeypatch.setattr(here, "MOST_ROWS", -1)
    monkeypatch.setattr(recall_spark, "ask_event", lambda select, asked: None)
    by_spark = engine.query(asked).to_arrow()
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
