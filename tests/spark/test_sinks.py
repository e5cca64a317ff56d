"""Sinks through the whole pipe: declared in text, the engine closed and opened again, Spark reads what is there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from presage import Engine
from presage.errors import PresageError
from unit.sinks.delivering import Server, events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_rows_of_a_statement_are_in_files_at_a_server_and_with_a_function_over_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    server, seen = Server(), list[str]()
    with Engine(spark, tmp_path / "home", roots=[tmp_path], allow_hosts=["localhost"]) as engine:
        engine.execute("CREATE STREAM Tick (x LONG, at TIMESTAMP) EVENT TIME at")
        live = engine.deploy("SELECT x FROM Tick WHERE x % 2 = 1", name="odd")
        engine.execute(f"CREATE SINK files FROM odd WITH (sink = 'parquet', path = '{tmp_path / 'out'}', rows = 3)")
        engine.execute(f"CREATE SINK hook FROM odd WITH (sink = 'webhook', url = '{server.url}')")
        live.subscribe(lambda row: seen.append(row.id), name="mail")
        with pytest.raises(PresageError, match="is already declared as a sink"):
            engine.execute("CREATE STREAM hook (x LONG, at TIMESTAMP) EVENT TIME at")
        engine.load("Tick", events(0, 20))
        live.drain(timeout=60)
    with Engine(spark, tmp_path / "home", roots=[tmp_path], allow_hosts=["localhost"]) as engine:
        live = engine.deployments["odd"]
        live.subscribe(lambda row: seen.append(row.id), name="mail")
        engine.load("Tick", events(20, 10))
        live.drain(timeout=60)
        engine.sinks.flush(timeout=60)
        expected = [row["x"] for row in live.results()]
        ids = [f"odd/1/{i}" for i in range(15)]
        assert seen == ids
        assert sorted(server.taken()) == sorted(zip(ids, expected, strict=True))
        found = spark.read.parquet(str(tmp_path / "out")).orderBy("at").collect()
        assert [(row["_id"], row["x"]) for row in found] == list(zip(ids, expected, strict=True))
        shown = engine.execute("SHOW SINKS")
        assert shown is not None
        assert [(row["name"], row["rows"], row["left"]) for row in shown.to_arrow().to_pylist()] == [
            ("files", 15, 0),
            ("hook", 15, 0),
            ("mail", 15, 0),
        ]
        described = engine.execute("DESCRIBE files")
        assert described is not None
        assert {"property": "statement", "value": "odd"} in described.to_arrow().to_pylist()
        engine.execute("DROP SINK files")
        assert list(engine.sinks) == ["hook", "mail"]
    server.close()
