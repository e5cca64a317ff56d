"""Alerts of the console: every revision of what was told of an event, also as more of history is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.testclient import TestClient

from presage import Engine
from presage.console.app import make_app

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATEMENTS = """
CREATE STREAM Load (host STRING, load DOUBLE, at TIMESTAMP) EVENT TIME at KEY (host);
CREATE STATEMENT unusual AS
  SELECT e.host, e.load, r.mean FROM Load(load > 40) e
  RECALL LAST 1 day ( SELECT avg(h.load) AS mean FROM Load h WHERE h.host = e.host ) AS r
  PAUSE EVERY 1 CHUNKS;
"""
EVENT = "a/2024-03-01T09:00:50Z"


def test_an_alert_is_told_revision_by_revision_and_as_open_until_it_is_cancelled(
    spark: SparkSession, tmp_path: Path
) -> None:
    headers = {"Authorization": "Bearer t"}
    with Engine(spark, tmp_path / "home", live=False, driven=False, rows_per_chunk=20) as engine:
        client = TestClient(make_app(engine, "t"), base_url="http://127.0.0.1:8765", headers=headers)
        engine.execute(STATEMENTS)
        usual = [{"host": "a", "load": float(i % 7), "at": f"2024-03-01T09:00:{i:02}Z"} for i in range(45)]
        engine.load("Load", [*usual, {"host": "a", "load": 50.0, "at": "2024-03-01T09:00:50Z"}])
        engine.deployments["unusual"].drain()
        (alert,) = client.get("/api/alerts").json()
        assert (alert["statement"], alert["event_id"], alert["revision"]) == ("unusual", EVENT, 1)
        first = client.get("/api/statements/unusual/alert", params={"event": EVENT}).json()
        assert (len(first["rows"]), first["recall"]["chunks"]) == (1, 1)
        assert [each["event_id"] for each in client.get("/api/recalls").json()] == [EVENT]
        assert client.post("/api/recalls/continue", json={"event_id": EVENT}).status_code == 200
        engine.load("Load", [{"host": "a", "load": 1.0, "at": "2024-03-01T09:00:51Z"}])
        engine.deployments["unusual"].drain()
        second = client.get("/api/statements/unusual/alert", params={"event": EVENT}).json()
        place = [column["name"] for column in second["columns"]].index("revision")
        assert [row[place] for row in second["rows"]] == [1, 2]
        client.post("/api/recalls/cancel", json={"event_id": EVENT})
        assert client.get("/api/statements/unusual/alert", params={"event": EVENT}).json()["recall"] is None
