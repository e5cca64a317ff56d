"""RECALL in deployed statements: turns, revisions, what users say, and lives of the engine."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from presage import Engine, PresageError
from presage.execution import placement

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
STREAMS = """
CREATE STREAM Traffic (sid STRING, bw DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sid);
CREATE STREAM Overload (sid STRING, bw DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sid);
"""
MEAN = """
SELECT e.sid, r.mean, r.n FROM Overload e
{} RECALL LAST 1 day ( SELECT avg(h.bw) AS mean, count(*) AS n FROM Traffic h WHERE h.sid = e.sid ) AS r {}
"""


def traffic(count: int = 100) -> list[dict[str, Any]]:
    return [{"sid": f"s{i % 2}", "bw": float(i % 10), "at": BEGIN + timedelta(minutes=i)} for i in range(count)]


def overload(minute: float, sid: str = "s0") -> dict[str, Any]:
    return {"sid": sid, "bw": 99.0, "at": BEGIN + timedelta(minutes=minute)}


def net(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What is left of an event's only row after all changes."""
    left: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["change"] == "delete":
            del left[row["event_id"]]
        else:
            assert (row["change"] == "update") == (row["event_id"] in left)
            left[row["event_id"]] = row
    return left


def test_a_standing_recall_ends_with_the_rows_of_a_bounded_one(spark: SparkSession) -> None:
    with Engine(spark, rows_per_chunk=20) as engine:
        engine.execute(STREAMS)
        live = engine.deploy(MEAN.format("", ""), name="means")
        for start in range(0, 100, 25):
            engine.load("Traffic", traffic()[start : start + 25])
        engine.load("Overload", [overload(30.5), overload(99.5, "s1")])
        engine.advance("Overload", BEGIN + timedelta(days=1))
        live.drain(timeout=120)
        rows = list(live.results())
        last = net(rows)
        bounded = list(engine.query(MEAN.format("FINAL", "")))
    assert max(row["revision"] for row in rows) > 2, "history was read in several chunks"
    assert [row["extrapolated"] for row in last.values()] == [False, False]
    assert {(r["event_id"], r["mean"], r["n"]) for r in last.values()} == {
        (r["event_id"], r["mean"], r["n"]) for r in bounded
    }


def test_a_paused_recall_waits_across_lives_of_the_engine_and_goes_on_when_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    with Engine(spark, rows_per_chunk=20, home=tmp_path) as engine:
        engine.execute(STREAMS)
        live = engine.deploy(MEAN.format("", "PAUSE EVERY 1 CHUNKS"), name="means")
        engine.load("Traffic", traffic())
        engine.load("Overload", [overload(99.5), overload(99.5, "s1")])
        engine.advance("Overload", BEGIN + timedelta(days=1))
        live.drain(timeout=120)
        assert [row["revision"] for row in live.results()] == [1, 1]
        shown = list(engine.query("SHOW RECALLS"))
        assert [(r["statement"], r["state"], r["chunks"]) for r in shown] == [("means", "suspended", 1)] * 2
    with Engine(spark, rows_per_chunk=20, home=tmp_path) as engine:
        live = engine.deployments["means"]
        ids = [row["event_id"] for row in engine.query("SHOW RECALLS")]
        engine.execute(f"CONTINUE RECALL '{ids[0]}'")
        live.drain(timeout=120)
        assert [r["revision"] for r in live.results()] == [1, 1, 2]
        engine.execute(f"CANCEL RECALL '{ids[1]}' OF means")
        live.drain(timeout=120)
        assert [row["event_id"] for row in engine.query("SHOW RECALLS")] == [ids[0]]
        with pytest.raises(PresageError, match="no open recall"):
            engine.execute("CANCEL RECALL 'nobody'")
        while list(engine.query("SHOW RECALLS")):
            engine.execute(f"ACCELERATE RECALL '{ids[0]}'")
            live.drain(timeout=120)
        last = net(list(live.results()))
        bounded = {r["event_id"]: r for r in engine.query(MEAN.format("FINAL", ""))}
    assert last[ids[0]]["n"] == bounded[ids[0]]["n"] == 50
    assert last[ids[1]]["extrapolated"], "nobody wanted to know the rest"


FILL = "INSERT INTO Means " + MEAN.format("FINAL", "")
READERS = {
    "rows": "SELECT m.sid, m.mean, m.n FROM {} m",
    "window": "SELECT m.sid, count(*) AS c, sum(m.n) AS n FROM {}#time(40 min) AS m GROUP BY m.sid",
    "pattern": "SELECT a.sid, a.n FROM PATTERN [ EVERY a={} -> b=Overload(sid = a.sid) ]",
    "history": "INSERT INTO Deeper_{0} SELECT o.sid, r.c FROM Overload o EVENT ID (o.sid) FINAL RECALL LAST 1 day "
    "( SELECT count(*) AS c, max(h.n) AS n FROM {0} h WHERE h.sid = o.sid ) AS r",
    "recalls": "INSERT INTO Again_{0} SELECT m.sid, m.n, r.c FROM {0} m EVENT ID (m.sid) FINAL RECALL LAST 1 day "
    "( SELECT count(*) AS c FROM Traffic h WHERE h.bw > m.mean ) AS r",
}


def shown(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(v for name, v in row.items() if not name.startswith("covered")) for row in rows]


def test_streams_that_are_filled_with_recall_have_the_rows_of_bounded_queries(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream of a deployed statement, and one that is only declared; across two lives of the engine. Statements
    read history in this process, queries on Spark."""
    monkeypatch.setattr(placement, "MOST_ROWS", 1_000)
    with Engine(spark, rows_per_chunk=20, home=tmp_path) as engine:
        engine.execute(STREAMS)
        engine.execute(FILL.replace("Means", "Declared"))
        engine.deploy(FILL, name="means")
        for name, text in READERS.items():
            engine.deploy(text.format("Means"), name=name)
            engine.deploy(text.format("Declared"), name=f"{name} of declared")
        engine.load("Traffic", traffic()[:50])
        engine.load("Overload", [overload(30.5), overload(40.5, "s1"), overload(45.5)])
    with Engine(spark, rows_per_chunk=20, home=tmp_path) as engine:
        engine.load("Traffic", traffic()[50:])
        engine.load("Overload", [overload(60.5), overload(60.5, "s1"), overload(99.5)])
        engine.advance("Overload", BEGIN + timedelta(days=1))
        for deployed in engine.deployments.values():
            deployed.drain(timeout=240)
        made = {name: shown(list(d.results())) for name, d in engine.deployments.items()}
        assert not list(engine.query("SHOW RECALLS"))
        monkeypatch.setattr(placement, "MOST_ROWS", -1)
        for name, text in READERS.items():
            for stream, of in (("Means", name), ("Declared", f"{name} of declared")):
                select = text.format(stream).partition(" SELECT ")
                bounded = engine.query("SELECT " + select[2] if text.startswith("INSERT") else text.format(stream))
                assert made[of] == shown(list(bounded)), of
                assert made[of], of
        replayed = engine.query(READERS["window"].format("Means"), mode="stream", batches=3)
        assert shown(list(replayed)) == made["window"]
        with pytest.raises(PresageError, match="rows that are revised"):
            engine.deploy("INSERT INTO Means " + MEAN.format("", ""))


def test_the_wall_clock_spaces_reports_and_ends_the_waiting(spark: SparkSession) -> None:
    """Nothing arrives after the events: the engine looks at the clock by itself."""
    with Engine(spark, rows_per_chunk=20) as engine:
        engine.execute(STREAMS)
        rare = engine.deploy(MEAN.format("", "REPORT EVERY 1 hour"), name="rare")
        paused = engine.deploy(MEAN.format("", "PAUSE EVERY 1 CHUNKS DROP AFTER 3 sec"), name="paused")
        engine.load("Traffic", traffic())
        engine.load("Overload", [overload(99.5), overload(99.5, "s1")])
        engine.advance("Overload", BEGIN + timedelta(days=1))
        rare.drain(timeout=120)
        paused.drain(timeout=120)
        assert [row["extrapolated"] for row in rare.results()] == [True, True, False, False]
        ids = [row["event_id"] for row in engine.query("SHOW RECALLS")]
        assert paused.status.recalls_suspended == len(ids) == 2
        until = time.monotonic() + 60
        while paused.status.recalls_suspended and time.monotonic() < until:
            if ids[1] in [row["event_id"] for row in engine.query("SHOW RECALLS")]:
                engine.execute(f"CONTINUE RECALL '{ids[1]}'")
            time.sleep(0.5)
        assert not paused.status.recalls_suspended
        last = net(list(paused.results()))
    assert last[ids[0]]["revision"] == 1, "nobody asked for more"
    assert not last[ids[1]]["extrapolated"]
