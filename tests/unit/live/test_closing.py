"""An engine that is closed while a batch runs."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from presage import Engine
from presage.errors import error
from presage.execution.spark.session_handle import SessionHandle

TICK = "CREATE STREAM Tick (x DOUBLE, at TIMESTAMP) EVENT TIME at;"
WAVE = "SELECT sin(x) AS y FROM Tick"  # which only Spark computes


def test_a_step_that_the_end_of_the_engine_stops_is_no_failure_of_its_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Event()

    def closing(handle: SessionHandle) -> None:
        asked.set()
        raise error("ENGINE_CLOSED")

    monkeypatch.setattr(SessionHandle, "get", closing)
    with Engine(home=tmp_path / "home") as engine:
        engine.execute(TICK)
        engine.deploy(WAVE, name="wave")
        engine.load("Tick", [{"x": 1.0, "at": "2024-01-01T00:00:00Z"}])
        assert asked.wait(60)
    with Engine(home=tmp_path / "home") as engine:
        assert engine.deployments["wave"].status.state == "running"
