"""A home with a statement that is stuck: it opens, statements are dropped, it closes, and the others go on."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from presage import Engine
from presage.functions.columnar import BUILDERS
from presage.functions.columnar.call import by_value
from presage.live import job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = "CREATE STREAM Tick (sym STRING, n INT, at TIMESTAMP) EVENT TIME at;"
PROMPT = 12.0  # seconds, on a machine that does much else


def tick(sym: str, n: int) -> dict[str, Any]:
    return {"sym": sym, "n": n, "at": f"2024-03-01T09:00:{n:02}Z"}


def test_a_stuck_step_holds_up_neither_opening_nor_dropping_nor_closing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end, entered = threading.Event(), threading.Event()

    def stuck(a: str, b: str) -> int:
        entered.set()
        may_end.wait(120)
        return 0

    with monkeypatch.context() as poisoned:
        poisoned.setattr(job, "FINISH_SECONDS", 0.5)
        poisoned.setitem(BUILDERS, "levenshtein", by_value(stuck))
        engine = Engine(spark, tmp_path / "home")
        engine.execute(STREAM)
        for name in ("first", "second"):
            engine.deploy(f"SELECT levenshtein(sym, '{name}') AS d FROM Tick", name)
        engine.deploy("SELECT sym FROM Tick", "healthy")
        engine.load("Tick", [tick("a", 1)])
        assert entered.wait(60)
        for act in (lambda: engine.execute("DROP STATEMENT first"), engine.close):
            started = time.monotonic()
            act()
            assert time.monotonic() - started < PROMPT
        entered.clear()
        started = time.monotonic()
        with Engine(spark, tmp_path / "home", seconds_per_batch=1.0) as engine:
            assert time.monotonic() - started < PROMPT
            assert entered.wait(60)
            healthy = engine.deployments["healthy"]
            healthy.drain(60)
            assert healthy.status.rows_out == 1
            assert engine.deployments["second"].status.state == "failed"
            assert "seconds per batch" in str(engine.deployments["second"].status.last_error)
        may_end.set()


def test_a_hostile_regular_expression_is_a_row_like_others(spark: SparkSession, tmp_path: Path) -> None:
    hostile = "SELECT regexp_extract(sym, '(.*a){25}b', 0) AS found FROM Tick"
    with Engine(spark, tmp_path / "home") as engine:
        engine.execute(STREAM)
        deployed = engine.deploy(hostile, "hostile")
        engine.load("Tick", [tick("a" * 60, 1), tick("a" * 60 + "b", 2)])
        deployed.drain(60)
        assert deployed.table()["found"].to_pylist() == ["", "a" * 60 + "b"]
        rows = engine.query(f"{hostile} WITHIN [2024-01-01, 2025-01-01]").to_pandas()
        assert rows["found"].tolist() == ["", "a" * 60 + "b"]
