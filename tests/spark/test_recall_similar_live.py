"""RECALL SIMILAR in standing statements: it ends with the rows of the bounded query, however events come and go."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from presage import Engine
from presage.recall import past as recall_past
from presage.recall import spark as recall_spark

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
STREAMS = """
CREATE STREAM Failure (server STRING, heat DOUBLE, at TIMESTAMP) EVENT TIME at KEY (server) WITH (max_delay = '2 min');
CREATE STREAM Login (user STRING, server STRING, at TIMESTAMP) EVENT TIME at WITH (max_delay = '3 min');
"""
CONTEXTS = """CONTEXT SELECT u.user FROM Login u WINDOW 5 min WHERE u.server = e.server,
              CONTEXT SELECT count(*) AS users FROM Login u WINDOW 4 min, CONTEXT SELECT e.heat"""
QUERY = """
SELECT e.server, s.rank, s.similarity, s.server AS past, s.at AS was, s.context FROM Failure e
{} RECALL {} SIMILAR 3 ( {} ) AS s {}
"""
Row = dict[str, Any]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(recall_spark, "CHUNK_ROWS", 20)
    monkeypatch.setattr(recall_past, "RECENT_UNITS", 2)
    return


def minute(number: float) -> datetime:
    return BEGIN + timedelta(minutes=number)


def failures(first: int, stop: int, seed: int = 1) -> list[Row]:
    pick = random.Random(seed)
    return [
        {"server": f"s{pick.randrange(3)}", "heat": float(pick.randrange(4)), "at": minute(2 * i)}
        for i in range(first, stop)
    ]


def logins(first: int, stop: int, seed: int = 2) -> list[Row]:
    pick = random.Random(seed)
    return [
        {"user": f"u{pick.randrange(5)}", "server": f"s{pick.randrange(3)}", "at": minute(i)}
        for i in range(2 * first, 2 * stop)
    ]


def shuffled(rows: list[Row], seed: int) -> list[Row]:
    """Rows that come up to two minutes late."""
    pick = random.Random(seed)
    return sorted(rows, key=lambda row: row["at"] + timedelta(minutes=pick.random() * 2))


def net(rows: list[Row]) -> dict[tuple[str, int | None], Row]:
    """What is left after all changes: by event and rank."""
    left: dict[tuple[str, int | None], Row] = {}
    for row in rows:
        key = row["event_id"], row["rank"]
        if row["change"] == "delete":
            del left[key]
        else:
            assert (row["change"] == "update") == (key in left)
            left[key] = row
    return left


def shown(row: Row) -> Row:
    kept = {n: v for n, v in row.items() if n not in ("revision", "change", "at")}
    return kept | {"similarity": None if row["similarity"] is None else round(row["similarity"], 9)}


def same_as_bounded(engine: Engine, query: str, rows: list[Row], since: datetime) -> None:
    bounded = [row for row in engine.query(query) if row["covered_to"] >= since]
    assert [shown(r) for r in net(rows).values() if r["extrapolated"]] == []
    made = sorted((shown(row) for row in net(rows).values()), key=lambda r: (r["event_id"], r["rank"] or 0))
    assert made == sorted((shown(row) for row in bounded), key=lambda r: (r["event_id"], r["rank"] or 0))


def test_a_standing_statement_ends_with_the_rows_of_the_bounded_query(spark: SparkSession, tmp_path: Path) -> None:
    query = QUERY.format("", "", CONTEXTS, "")
    with Engine(spark, home=tmp_path) as engine:
        engine.execute(STREAMS)
        engine.load("Login", logins(0, 40))
        engine.load("Failure", failures(0, 40))
        engine.advance("Failure", minute(80))
        engine.advance("Login", minute(80))
        live = engine.deploy(query, name="alike")
        live.drain(timeout=120)
        assert list(live.results()) == []
        engine.load("Login", shuffled(logins(40, 50), 5))
        engine.load("Failure", shuffled(failures(40, 50), 6))
        live.drain(timeout=120)
    with Engine(spark, home=tmp_path) as engine:
        live = engine.deployments["alike"]
        for start in range(50, 60, 5):
            engine.load("Failure", shuffled(failures(start, start + 5), start))
            engine.load("Login", shuffled(logins(start, start + 5), start))
        engine.advance("Failure", minute(200))
        engine.advance("Login", minute(200))
        live.drain(timeout=120)
        rows = list(live.results())
        assert max(row["revision"] for row in rows) > 1
        same_as_bounded(engine, query, rows, minute(80))
