"""Bounded queries in this process give the rows of the reference, whichever way the work is divided, without Spark."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from presage import Engine, PresageError
from presage.execution import placement, step_stages
from property.query_texts import queries
from reference.random_world import DECLARATIONS, GOLDEN, LOADS, answer, comparable, datetime_of, expected

WAYS = {"optimized": {}, "as written": {"optimize": False}}


@pytest.fixture(scope="module", params=WAYS)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with pytest.MonkeyPatch.context() as patch, Engine(placement="local", **WAYS[request.param]) as made:
        # So that few rows are divided among threads, too.
        patch.setattr(step_stages, "ROWS_PER_THREAD", 1)
        patch.setattr("os.cpu_count", lambda: 3)
        made.execute(DECLARATIONS)
        for stream, rows in LOADS:
            made.load(stream, [{**row, "at": datetime_of(row["at"])} for row in rows])
        yield made


@settings(suppress_health_check=list(HealthCheck))
@given(text=queries())
def test_a_local_run_gives_the_rows_of_the_reference(engine: Engine, text: str) -> None:
    assert answer(engine, text) == comparable(expected(text))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_queries_of_the_golden_files_give_the_rows_of_the_reference(engine: Engine, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert answer(engine, text) == comparable(expected(text))


TICKS = "CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at;"


def test_EXPLAIN_says_where_a_query_runs_and_why() -> None:
    with Engine() as made:
        made.execute(TICKS)
        here = "== Placement ==\nin this process: 0 events are at most 4,000,000"
        assert made.explain("SELECT sym FROM Tick").endswith(here)
    with Engine(placement="spark") as made:
        made.execute(TICKS)
        assert made.explain("SELECT sym FROM Tick").endswith("on Spark: the engine was opened with placement='spark'")


def test_many_events_are_placed_on_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "MOST_ROWS", 1)
    with Engine() as made:
        made.execute(TICKS)
        made.load("Tick", [{"sym": "a", "price": 1.0, "at": f"2024-01-01T00:00:0{i}Z"} for i in range(2)])
        assert made.explain("SELECT sym FROM Tick").endswith("on Spark: 2 events are more than 1")


def test_a_recall_that_needs_spark_is_refused_by_a_local_engine() -> None:
    text = """SELECT e.sym, r.n FROM Tick e RECALL LAST 1 hour (
        SELECT count(*) AS n FROM Tick h JOIN Tick k ON h.sym = k.sym WHERE sin(h.price) < e.price) AS r"""
    with Engine(placement="local") as made:
        made.execute(TICKS)
        with pytest.raises(PresageError, match="only Spark computes sin") as refused:
            made.query(text).to_arrow()
        assert made.explain(text).endswith("on Spark: only Spark computes sin(h.price) < e.price")
    assert refused.value.code == "UNSUPPORTED"


def test_another_placement_is_refused_before_a_home_is_opened(tmp_path: Path) -> None:
    with pytest.raises(PresageError) as refused:
        Engine(home=tmp_path / "home", placement="here")
    assert refused.value.code == "BAD_VALUE"
    assert not (tmp_path / "home").exists()


WITHOUT_JAVA = f"""
import sys
import presage

with presage.Engine() as engine:
    engine.execute("{TICKS}")
    live = engine.deploy("SELECT sym, avg(price) AS mean FROM Tick#time(1 min) GROUP BY sym", name="means")
    engine.load("Tick", [{{"sym": "a", "price": 1.0, "at": "2024-01-01T00:00:00Z"}}])
    live.drain()
    rows = engine.query("SELECT sym, price FROM Tick").to_arrow()
    assert (rows["sym"].to_pylist(), rows["price"].to_pylist()) == (["a"], [1.0]), rows
    assert len(live.results()) == 1
assert "pyspark" not in sys.modules
"""


def test_a_process_that_needs_no_spark_loads_none_of_it_and_needs_no_java(tmp_path: Path) -> None:
    environment = {"PATH": "/nowhere", "HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", WITHOUT_JAVA], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
