"""Queries over DECIMAL, DATE and BYTES: Spark, this process and deployed statements give the same rows."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import presage
from presage.errors import PresageError
from presage.execution import placement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = "k STRING, price DECIMAL(10,2), big DECIMAL(38,4), day DATE, raw BYTES, at TIMESTAMP"
QUERIES = (
    """SELECT *, price * 1.1 AS p, day + 1 month AS m, CAST(raw AS STRING) AS r FROM T
       WHERE price > 1 AND day > '2024-02-01'""",
    """SELECT k, sum(price) AS s, avg(price) AS a, max(big) AS m, first(raw) AS f, count(DISTINCT price) AS c,
       sum(DISTINCT price) AS d, avg(big) AS ab, min(day) AS lo, median(price) AS me FROM T#length(3) GROUP BY k""",
    "SELECT price, day, raw, count(*) AS n, sum(big) AS s FROM T#keepall GROUP BY price, day, raw",
    "SELECT sum(price) AS s, avg(price) AS a FROM T#time_batch(2 sec)",
    "SELECT a.price * b.price AS p FROM PATTERN [ EVERY a=T -> b=T(price > a.price AND raw <> a.raw AND day > a.day) ]",
    """SELECT * FROM T MATCH_RECOGNIZE (PARTITION BY price MEASURES A.day AS d, sum(B.big) AS s, avg(B.price) AS av,
       last(B.raw) AS r, min(B.raw) AS mr PATTERN (A B*) DEFINE B AS B.day >= A.day AND B.raw <> A.raw)""",
    "SELECT a.k, b.big FROM T#keepall a JOIN T#length(2) b ON a.price = b.price AND a.day = b.day AND a.raw = b.raw",
    """SELECT e.k, r.m, r.f, r.c FROM T e RECALL LAST 1 hour
       ( SELECT max(h.price) AS m, first(h.raw) AS f, count(h.day) AS c FROM T h WHERE h.day < e.day ) AS r""",
    "SELECT k FROM T WHERE Known(price, _, _) OR Known(_, day, raw)",
)


def events(start: int, count: int) -> list[dict[str, Any]]:
    return [
        {
            "k": "ab"[i % 2],
            "price": None if i % 11 == 5 else Decimal(i % 5) * Decimal("1.10"),
            "big": Decimal(10) ** 30 * (i % 3) + i,
            "day": dt.date(2024, 1, 30) + dt.timedelta(i % 6),
            "raw": None if i % 7 == 0 else bytes([i % 3 + 97]),
            "at": dt.datetime(2024, 1, 1, 0, 0, i, tzinfo=dt.UTC),
        }
        for i in range(start, start + count)
    ]


def test_rows_do_not_depend_on_where_a_query_runs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with presage.Engine(spark, home=tmp_path / "home") as engine:
        engine.execute(f"CREATE STREAM T ({STREAM}) EVENT TIME at KEY (price);")
        rows = "(1.10, '2024-01-31', X'62'), (2.2, DATE '2024-02-01', X'61'), (NULL, '2024-02-02', X'63')"
        engine.execute(f"CREATE RELATION Known (p DECIMAL(10,2), d DATE, b BYTES) VALUES {rows};")
        live = [engine.deploy(query, name=f"s{i}") for i, query in enumerate(QUERIES)]
        for start in (0, 13, 26):
            engine.load("T", events(start, 13))
        there = [engine.query(query).to_arrow() for query in QUERIES]
        monkeypatch.setattr(placement, "MOST_ROWS", 4_000_000)
        for query, statement, table in zip(QUERIES, live, there, strict=True):
            here = engine.query(query).to_arrow()
            assert here.schema == table.schema, query
            assert here.to_pylist() == table.to_pylist(), query
            assert here.num_rows > 0, query
            if "RECALL" in query:
                continue  # its rows are revised
            statement.drain()
            found = statement.results().to_arrow().to_pylist()
            assert found == here.to_pylist()[: len(found)], query


def test_a_frame_with_exact_columns_is_loaded_and_matched(spark: SparkSession) -> None:
    given = events(0, 12)
    frame = spark.createDataFrame(
        given, "k string, price decimal(10,2), big decimal(38,4), day date, raw binary, at timestamp"
    )
    with presage.Engine(spark) as engine:
        engine.execute(f"CREATE STREAM T ({STREAM}) EVENT TIME at;")
        assert engine.load("T", frame).accepted == 12
        assert engine.query("SELECT * FROM T").to_arrow().to_pylist() == given
        assert engine.query("SELECT * FROM T").df.orderBy("at").toArrow().to_pylist() == given
        engine.execute("CREATE STREAM N (price DECIMAL(8,2), at TIMESTAMP) EVENT TIME at;")
        with pytest.raises(PresageError, match=r"needs DECIMAL\(8,2\), the column is decimal\(10,2\)"):
            engine.load("N", frame.select("price", "at"))
    clause = "ORDER BY at MEASURES sum(B.price) AS s PATTERN (A B+) DEFINE B AS B.price > PREV(B.price)"
    found = presage.match_recognize(frame, clause).toArrow().to_pylist()
    assert [row["s"] for row in found][:1] == [Decimal("11.00")]
