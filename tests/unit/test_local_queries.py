"""Bounded queries in this process give the rows of the reference, whichever way the work is divided, without Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from presage import Engine, PresageError
from presage.execution import placement, step_stages
from presage.operators.recall import local_selects
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


RECALLS = [
    "RECALL ( SELECT r.room, count(g.n) AS n FROM H h LEFT JOIN H g ON g.n > h.n JOIN R r ON r.k = h.k "
    "GROUP BY r.room ) AS q",
    "RECALL ( SELECT count(*) AS n, median(h.n) AS m FROM H h WHERE h.n > (SELECT avg(g.n) AS a FROM H g) ) AS q",
    "RECALL ( SELECT s.k, s.n FROM (SELECT h.k, sum(h.n) AS n FROM H h GROUP BY h.k) AS s "
    "WHERE s.k IN (SELECT r.k FROM R r) ) AS q",
    "RECALL ( SELECT h.n, rank() OVER (PARTITION BY h.k ORDER BY h.n DESC) AS place FROM H h ) AS q",
    "RECALL SIMILAR 2 ( CONTEXT SELECT h.k FROM H h WINDOW 1 min BEFORE 10 sec AFTER 10 sec ) AS q",
]


@pytest.mark.parametrize("recall", RECALLS)
def test_rows_of_a_recall_do_not_depend_on_how_many_pairs_of_rows_fit(
    recall: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine(placement="local") as made:
        _load_history(made)
        whole = made.query(f"SELECT e.k, q.* FROM E e {recall}").to_arrow()
        monkeypatch.setattr(local_selects, "MOST_PAIRS", 40)
        divided = made.query(f"SELECT e.k, q.* FROM E e {recall}").to_arrow()
    assert whole.to_pylist() == divided.to_pylist()
    assert whole.num_rows >= 4


def test_one_event_with_too_many_pairs_is_refused_by_a_local_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    with Engine(placement="local") as made:
        _load_history(made)
        monkeypatch.setattr(local_selects, "MOST_PAIRS", 1)
        with pytest.raises(PresageError, match="an event of its RECALL meets more than") as refused:
            made.query(f"SELECT e.k, q.* FROM E e {RECALLS[0]}").to_arrow()
    assert refused.value.code == "UNSUPPORTED"


def _load_history(engine: Engine) -> None:
    engine.execute(f"{HISTORY} CREATE RELATION R (k STRING, room STRING) VALUES ('a', 'x'), ('b', 'y'), ('b', 'z');")
    at = "2024-01-01T00:00:{:02}Z".format
    engine.load("H", [{"k": "ab"[i % 2], "n": i % 4, "at": at(i)} for i in range(6)])
    engine.load("E", [{"k": "abc"[i % 3], "at": at(i + 6)} for i in range(4)])


HISTORY = """CREATE STREAM E (k STRING, at TIMESTAMP) EVENT TIME at;
CREATE STREAM H (k STRING, n LONG, at TIMESTAMP) EVENT TIME at;"""


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


NEEDS_JAVA = f"""
from pathlib import Path
import presage
from presage.execution.spark import java

java.HOMES, java.MAC_FINDER = (), Path("/nowhere")
with presage.Engine() as engine:
    engine.execute("{TICKS}")
    engine.load("Tick", [{{"sym": "a", "price": 1.0, "at": "2024-01-01T00:00:00Z"}}])
    for work in (
        lambda: engine.query("SELECT sin(price) AS s FROM Tick").to_arrow(),
        lambda: engine.query("SELECT sym FROM Tick").df,
        lambda: engine.query("SELECT sym FROM Tick", mode="stream"),
    ):
        try:
            work()
        except presage.PresageError as problem:
            print(problem.code, problem.message)
    assert engine.query("SELECT sym FROM Tick").to_arrow().num_rows == 1  # what needs none still works
"""


def test_without_java_a_query_that_needs_spark_says_why_it_does(tmp_path: Path) -> None:
    environment = {"PATH": "/nowhere", "HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", NEEDS_JAVA], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    message = "NO_JAVA Spark needs Java 17 or later, which was not found; the query needs Spark: "
    assert done.stdout.splitlines() == [
        message + "only Spark computes sin(Tick.price)",
        message + "Result.df is a DataFrame of Spark",
        message + "mode='stream' runs through Structured Streaming",
    ]


# Every form of RECALL: rows of the deployed statement are rows of the query.
WITHOUT_PYSPARK = """
import sys
sys.modules["pyspark"] = None  # it cannot be imported
from unit.test_local_queries import RECALLS, _load_history
import presage

with presage.Engine(rows_per_chunk=3) as engine:
    _load_history(engine)
    texts = ["SELECT e.k, q.* FROM E e FINAL " + recall for recall in RECALLS]
    live = [engine.deploy(text + " WITHIN [2024-01-01, )") for text in texts]
    engine.load("H", [{"k": "a", "n": 1, "at": "2024-01-01T00:01:00Z"}])
    engine.load("E", [{"k": "c", "at": "2024-01-01T00:02:00Z"}])
    engine.load("H", [{"k": "a", "n": 1, "at": "2024-01-01T00:02:01Z"}])
    for deployed, text in zip(live, texts):
        deployed.drain()
        assert "in this process" in engine.explain(text), text
        rows = engine.query(text).to_arrow().to_pylist()
        shown = deployed.results().to_arrow().to_pylist()
        assert len(shown) >= 4, text
        assert all(row in rows for row in shown), (text, shown, rows)
"""


@pytest.mark.parametrize("script", [WITHOUT_JAVA, WITHOUT_PYSPARK], ids=["without Java", "without PySpark"])
def test_a_process_that_needs_no_spark_loads_none_of_it_and_needs_no_java(script: str) -> None:
    inherited = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment = inherited | {"PATH": "/nowhere", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
