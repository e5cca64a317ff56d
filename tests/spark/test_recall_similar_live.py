"""RECALL SIMILAR in deployed statements: it ends with the rows of the bounded query, however events come and go."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from presage import Engine
from presage.operators.recall import archive_history
from presage.operators.recall import history_sample as survey
from presage.operators.recall import past_events as recall_past

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
    monkeypatch.setattr(archive_history, "CHUNK_ROWS", 20)
    monkeypatch.setattr(recall_past, "RECENT_UNITS", 2)
    for figure, value in (("SAMPLE_EVENTS", 5), ("SLICES", 4), ("FEWEST_SLICES", 1)):
        monkeypatch.setattr(survey, figure, value)
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


WITH = "WITH busy AS SELECT u.user FROM Login u WINDOW 2 min ORDER BY u.user BEFORE 3 min AFTER 10 min"
STATEMENTS = {
    "shown": f"""SELECT e.server, s.rank, s.similarity, s.at AS was, s.busy, s.around, s.context, r.n FROM Failure e
        EVENT ID (e.server, e.at) RECALL LAST 1 hour SIMILAR 2 ( {CONTEXTS}, {WITH} ) AS s
        RECALL ( SELECT count(*) AS n FROM Login l WHERE l.server = e.server ) AS r WHERE e.heat > 0""",
    "only the last": QUERY.format("FINAL", "LAST 30 min", CONTEXTS, "WHERE s.similarity > 0.1"),
    "derived": f"""SELECT e.server, s.rank, s.similarity, s.at AS was, s.context FROM Hot e
        RECALL SIMILAR 2 ( {CONTEXTS} ) AS s""",
    "joined": """SELECT e.server, s.rank, s.similarity, s.e.at AS was, s.context FROM PATTERN [
        EVERY e=Failure -> f=Failure(server = e.server) WHERE timer:within(5 min)]
        RECALL SIMILAR 2 ( CONTEXT SELECT u.user FROM Login u WINDOW 5 min WHERE u.server = f.server ) AS s""",
    "of contexts that recall": """SELECT e.server, s.rank, s.similarity, s.at AS was, s.context, r.n FROM Failure e
        RECALL LAST 20 min ( SELECT count(*) AS n FROM Login l WHERE l.server = e.server ) AS r
        RECALL SIMILAR 2 ( CONTEXT SELECT r.n, e.heat, CONTEXT SELECT q.m
            RECALL ( SELECT max(h.heat) AS m FROM Failure h WHERE h.server = e.server ) AS q ) AS s""",
}


def test_all_that_a_query_may_show_is_shown_by_a_standing_one(spark: SparkSession) -> None:
    with Engine(spark) as engine:
        engine.execute(STREAMS)
        engine.execute("INSERT INTO Hot SELECT f.server, f.heat, f.at FROM Failure f WHERE f.heat >= 2")
        engine.load("Login", logins(0, 20))
        engine.load("Failure", failures(0, 20))
        for stream in ("Failure", "Login"):
            engine.advance(stream, minute(60))
        lives = {name: engine.deploy(query, name=name) for name, query in STATEMENTS.items()}
        for start in (30, 35):
            engine.load("Login", shuffled(logins(start, start + 5), start))
            engine.load("Failure", shuffled(failures(start, start + 5), start))
        for stream in ("Failure", "Login"):
            engine.advance(stream, minute(200))
        for name, query in STATEMENTS.items():
            lives[name].drain(timeout=120)
            same_as_bounded(engine, query, list(lives[name].results()), minute(60))
        replayed = list(engine.query(STATEMENTS["shown"], mode="stream", batches=3))
        same_as_bounded(engine, STATEMENTS["shown"], replayed, BEGIN)
        assert "5 chunks in the background" in lives["shown"].explain()


def test_a_stream_of_similar_events_is_in_the_order_of_time(spark: SparkSession) -> None:
    with Engine(spark) as engine:
        engine.execute(STREAMS)
        engine.load("Login", logins(0, 20))
        engine.load("Failure", failures(0, 20))
        for stream in ("Failure", "Login"):
            engine.advance(stream, minute(60))
        engine.deploy(
            f"""INSERT INTO Known SELECT e.server, s.server AS past, s.similarity FROM Failure e
                FINAL RECALL SIMILAR 1 ( {CONTEXTS} ) AS s""",
            name="known",
        )
        query = "SELECT k.server, k.past, count(*) AS n FROM Known#length(3) AS k GROUP BY k.server, k.past"
        live = engine.deploy(query, name="seen")
        for start in (31, 36):
            engine.load("Login", shuffled(logins(start, start + 5), start))
            engine.load("Failure", shuffled(failures(start, start + 5), start))
        for stream in ("Failure", "Login"):
            engine.advance(stream, minute(200))
        live.drain(timeout=120)
        made = [(row["at"], row["server"], row["past"], row["n"]) for row in live.results()]
        since = f"WITHIN [{minute(60):%Y-%m-%dT%H:%M:%SZ}, )"
        bounded = engine.query(
            f"SELECT k.server, k.past, count(*) AS n FROM Known#length(3) AS k {since} GROUP BY k.server, k.past"
        )
        assert made == [(row["at"], row["server"], row["past"], row["n"]) for row in bounded]
        assert len(made) >= 10


def test_what_goes_on_in_the_background_is_shown_and_can_be_ended(spark: SparkSession) -> None:
    with Engine(spark) as engine:
        engine.execute(STREAMS)
        engine.load("Login", logins(0, 40))
        engine.load("Failure", failures(0, 40))
        for stream in ("Failure", "Login"):
            engine.advance(stream, minute(80))
        with engine._deployments.job.between_batches():
            live = engine.deploy(QUERY.format("", "", CONTEXTS, "PAUSE EVERY 1 CHUNKS"), name="alike")
            engine._deployments.job.advance()
            (task,) = engine.query("SHOW RECALLS")
            assert (task["event_id"], task["priority"], task["chunks"]) == ("past events", "background", 1)
            assert task["covered_from"] is not None
            engine.execute("CANCEL RECALL 'past events' OF alike")
        live.drain(timeout=120)
        assert list(engine.query("SHOW RECALLS")) == []
        engine.load("Failure", failures(40, 41))
        for stream in ("Failure", "Login"):
            engine.advance(stream, minute(200))
        live.drain(timeout=120)
        (task,) = engine.query("SHOW RECALLS")
        assert (task["state"], task["priority"]) == ("suspended", "live")
        assert {row["extrapolated"] for row in live.results()} == {True}
        while list(engine.query("SHOW RECALLS")):
            engine.execute(f"CONTINUE RECALL '{task['event_id']}'")
            live.drain(timeout=120)
        same_as_bounded(engine, QUERY.format("", "", CONTEXTS, ""), list(live.results()), minute(80))
