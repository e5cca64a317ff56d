"""Patterns and matches through the engine: the paper's query as printed, old chunks, derived streams, any mode."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from presage import Engine, PresageError
from presage.storage.chunks import Shape

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# As EPL's paper prints it, less its stray parenthesis.
BULL_RUN = """SELECT* FROM Crypto

MATCH_RECOGNIZE (

PARTITION BY Crypto.id

MEASURES B.id AS id, max(A.v)

AS M, min(A.v) AS m,

((A.firstOf().ts) - (A.lastOf().ts))/86400 AS d

AFTER MATCH SKIP pastLast

PATTERN (A* B)

DEFINE A AS

A.amount >= 1.20 * prev(A.amount)

DEFINE B AS

B.amount < 0.80 * A.lastOf().amount)"""
CRYPTO = "CREATE STREAM Crypto (id STRING, v DOUBLE, amount DOUBLE, ts TIMESTAMP) EVENT TIME ts KEY (id);"
TICK = "CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sym);"
FALLS = """SELECT sym, top, n FROM Tick MATCH_RECOGNIZE (
    PARTITION BY sym MEASURES FIRST(price) AS top, count(*) AS n PATTERN (A B{2,})
    DEFINE B AS B.price < PREV(B.price) )"""


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Iterator[Engine]:
    with Engine(spark, tmp_path / "home") as made:
        yield made


def rows(result: Any) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k != "at"} for row in result.to_arrow().to_pylist()]


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k != "at"} for row in table.to_pylist()]


def prices(count: int, second: int = 0) -> list[dict[str, Any]]:
    """Two symbols that fall in turns."""
    return [
        {
            "sym": "ab"[i % 2],
            "price": float(100 - (i * i * 7 + i // 3) % 23),
            "at": f"2024-01-01T{second // 3600 + i // 3600:02d}:{i // 60 % 60:02d}:{i % 60:02d}Z",
        }
        for i in range(count)
    ]


def test_the_papers_query_runs_as_printed_in_batch_and_in_streaming(engine: Engine) -> None:
    engine.execute(CRYPTO)
    values = [100, 121, 150, 185, 100, 90, 110, 140, 50]
    engine.load(
        "Crypto",
        [
            {"id": k, "v": float(x), "amount": float(x), "ts": f"2024-01-{i + 1:02d}T00:00:00Z"}
            for i, x in enumerate(values)
            for k in ("b", "e")
        ],
    )
    wanted = [
        {"id": k, "M": high, "m": low, "d": days}
        for high, low, days in ((185.0, 121.0, -2.0), (140.0, 110.0, -1.0))
        for k in ("b", "e")
    ]
    result = engine.query(BULL_RUN)
    assert rows(result) == wanted
    assert result.df.columns == ["id", "M", "m", "d", "at"]
    assert [tuple(row)[:3] for row in result.df.collect()] == [(w["id"], w["M"], w["m"]) for w in wanted]
    assert rows(engine.query(BULL_RUN, mode="stream", batches=3)) == wanted


def test_old_chunks_give_the_rows_that_recent_ones_gave(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.execute(TICK)
    many = [{**p, "sym": f"s{i % 40}"} for i, p in enumerate(prices(600))]
    engine.load("Tick", many)
    recent = engine.query(FALLS).to_arrow()
    assert recent.num_rows > 10
    engine.advance("Tick", "2024-01-02T00:00:00Z")
    small = Shape(slice=600_000_000, least_rows=1, buckets=4, rows_per_bucket=1)
    monkeypatch.setattr("presage.storage.maintenance.Shape", lambda: small)
    engine.maintain()
    files = engine.query("SELECT * FROM Tick").df.inputFiles()
    assert all("-old-" in name for name in files)
    assert len(files) > 1
    assert engine.query(FALLS).to_arrow() == recent
    # A few files that are not old yet are read beside them.
    falling = enumerate([9.0, 8.0, 7.0])
    engine.load("Tick", [{"sym": "s1", "price": p, "at": f"2024-01-02T00:00:0{i}Z"} for i, p in falling])
    more = rows(engine.query(FALLS))
    assert more[:-1] == rows_of(recent)
    assert more[-1]["sym"] == "s1"


def test_matches_fill_a_derived_stream_that_a_pattern_reads(engine: Engine) -> None:
    engine.execute(TICK)
    made = engine.deploy(f"INSERT INTO Fall {FALLS}", name="falls")
    pairs = engine.deploy(
        "SELECT a.sym AS first, b.sym AS second FROM PATTERN [ EVERY a=Fall -> b=Fall(sym <> a.sym) ]", name="pairs"
    )
    engine.load("Tick", prices(60))
    made.drain(timeout=60)
    pairs.drain(timeout=60)
    falls = rows(made.results())
    assert len(falls) > 3
    assert falls == rows(engine.query(FALLS))[: len(falls)]
    wanted, waiting = [], []
    for fall in falls:
        wanted += [{"first": w, "second": fall["sym"]} for w in waiting if w != fall["sym"]]
        waiting = [w for w in waiting if w == fall["sym"]] + [fall["sym"]]
    assert sorted(map(repr, rows(pairs.results()))) == sorted(map(repr, wanted))
    assert pairs.status.partial_matches >= 1


def test_an_order_that_is_not_by_time_is_for_batch_only(engine: Engine) -> None:
    engine.execute(TICK)
    engine.load("Tick", prices(8))
    text = "SELECT n FROM Tick MATCH_RECOGNIZE ( ORDER BY price MEASURES count(*) AS n PATTERN (A+) )"
    assert rows(engine.query(text)) == [{"n": 8}]
    for ask in (lambda: engine.query(text, mode="stream"), lambda: engine.deploy(text, name="sorted")):
        with pytest.raises(PresageError, match="ORDER BY that does not begin with the event time"):
            ask()
    with pytest.raises(PresageError, match=r"\$ in a pattern"):
        engine.deploy("SELECT 1 AS x FROM Tick MATCH_RECOGNIZE ( PATTERN (A $) )", name="end")


def test_relations_can_be_asked_of_earlier_events_in_every_mode(engine: Engine) -> None:
    engine.execute(TICK + "CREATE RELATION Watched (sym STRING) VALUES ('a');")
    engine.load("Tick", prices(12))
    queries = (
        "SELECT a.sym AS x, b.sym AS y FROM PATTERN [ EVERY a=Tick -> b=Tick(Watched(a.sym) AND sym <> a.sym) ]",
        "SELECT x, y FROM Tick MATCH_RECOGNIZE "
        "( MEASURES A.sym AS x, B.sym AS y PATTERN (A B) DEFINE B AS Watched(A.sym) )",
    )
    for query in queries:
        found = rows(engine.query(query))
        assert found == [{"x": "a", "y": "b"}] * 6
        assert rows(engine.query(query, mode="stream", batches=3)) == found
