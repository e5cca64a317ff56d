"""Deployed statements through the whole pipe: Structured Streaming calls the job, rows come as events do."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from presage import Engine, PresageError
from recovery.crashing import read_by_others

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TICK = "CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at;"
AVERAGE = "SELECT sym, avg(price) AS mean FROM Tick#time(10 sec) GROUP BY sym"


def tick(second: int, price: float, sym: str = "a") -> dict[str, Any]:
    return {"sym": sym, "price": price, "at": f"2024-01-01T00:{second // 60:02d}:{second % 60:02d}Z"}


def rows(result: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in result.to_arrow().to_pylist()]


def means(result: Any) -> list[tuple[str, float]]:
    return [(row["sym"], row["mean"]) for row in result.to_arrow().to_pylist()]


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Iterator[Engine]:
    with Engine(spark, tmp_path / "home") as made:
        made.execute(TICK)
        yield made


def test_a_standing_statement_answers_every_event_once_it_has_come(engine: Engine) -> None:
    engine.load("Tick", [tick(0, 100.0)])
    live = engine.deploy(AVERAGE, name="mean")
    assert means(live.results()) == []
    for second in range(1, 4):
        engine.load("Tick", [tick(second, float(second))])
    live.drain(timeout=60)
    assert means(live.results()) == [("a", 1.0), ("a", 1.5), ("a", 2.0)]
    status = live.status
    assert (status.state, status.rows_in, status.rows_out, status.lag) == ("running", 3, 3, 0)
    assert status.watermark is not None
    assert status.watermark.second == 3
    assert status.state_size > 0
    assert status.last_error is None


def test_a_statement_from_the_past_goes_through_now_without_gap_or_repeat(engine: Engine) -> None:
    engine.load("Tick", [tick(second, float(second)) for second in range(5)])
    live = engine.deploy("SELECT sym, price FROM Tick WITHIN [2024-01-01T00:00:02, )", name="since")
    engine.load("Tick", [tick(5, 5.0)])
    live.drain(timeout=60)
    assert [price for _, price, _ in rows(live.results())] == [2.0, 3.0, 4.0, 5.0]


def test_a_statement_with_an_upper_bound_ends_by_itself(engine: Engine) -> None:
    engine.load("Tick", [tick(0, 1.0)])
    live = engine.deploy("SELECT price FROM Tick WITHIN [2024-01-01, 2024-01-01T00:00:10)", name="bounded")
    engine.load("Tick", [tick(5, 2.0)])
    live.drain(timeout=60)
    assert live.status.state == "running"
    engine.load("Tick", [tick(20, 3.0)])
    live.drain(timeout=60)
    assert live.status.state == "finished"
    assert [row[0] for row in rows(live.results())] == [1.0, 2.0]


def test_a_subscriber_gets_each_row_with_an_id_that_never_changes(engine: Engine) -> None:
    live = engine.deploy(AVERAGE, name="mean")
    got: list[Any] = []
    live.subscribe(got.append)
    engine.load("Tick", [tick(1, 1.0), tick(2, 3.0)])
    live.drain(timeout=60)
    assert [(row["sym"], row["mean"]) for row in got] == [("a", 1.0), ("a", 2.0)]
    again: list[Any] = []
    live.subscribe(again.append)
    live.drain(timeout=60)
    assert [row.id for row in again] == [row.id for row in got]
    assert len({row.id for row in got}) == 2


def test_an_exception_of_a_subscriber_ends_only_its_subscription(engine: Engine) -> None:
    live = engine.deploy(AVERAGE, name="mean")

    def refuse(row: Any) -> None:
        raise ValueError("no more")

    subscription = live.subscribe(refuse)
    engine.load("Tick", [tick(1, 1.0)])
    live.drain(timeout=60)
    assert isinstance(subscription.error, ValueError)
    assert live.status.state == "running"
    assert len(rows(live.results())) == 1


def test_a_home_that_is_opened_again_goes_on_where_it_was(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark, tmp_path / "home") as engine:
        engine.execute(TICK)
        engine.deploy(AVERAGE, name="mean")
        engine.load("Tick", [tick(1, 1.0)])
        engine.deployments["mean"].drain(timeout=60)
    with Engine(spark, tmp_path / "home") as engine:
        live = engine.deployments["mean"]
        assert means(live.results()) == [("a", 1.0)]
        # A program that is started again deploys again what stands already.
        assert engine.deploy(AVERAGE, name="mean").status.rows_out == 1
        engine.load("Tick", [tick(2, 3.0)])
        live.drain(timeout=60)
        assert means(live.results()) == [("a", 1.0), ("a", 2.0)]


def test_a_session_that_was_there_before_outlives_an_engine_whose_statements_go_on_by_themselves(
    spark: SparkSession, tmp_path: Path
) -> None:
    for _ in range(2):
        with Engine(home=tmp_path / "home") as engine:
            if not engine.deployments:
                engine.execute(TICK)
            engine.deploy(AVERAGE, name="mean").drain(timeout=60)
    assert spark.range(3).count() == 3


def test_statements_come_and_go_while_events_flow_and_others_lose_nothing(engine: Engine) -> None:
    steady = engine.deploy("SELECT price FROM Tick", name="steady")
    stop = threading.Event()
    loaded = []

    def load() -> None:
        second = 1
        while not stop.is_set():
            engine.load("Tick", [tick(second, float(second))])
            loaded.append(float(second))
            second += 1
            time.sleep(0.01)

    thread = threading.Thread(target=load)
    thread.start()
    try:
        for number in range(4):
            other = engine.deploy(f"SELECT price FROM Tick WHERE price > {number}", name="other", replace=True)
            time.sleep(0.2)
            if number % 2:
                other.stop()
    finally:
        stop.set()
        thread.join()
    steady.drain(timeout=60)
    assert [row[0] for row in rows(steady.results())] == loaded


def test_a_derived_stream_feeds_another_statement_and_its_own_archive(engine: Engine) -> None:
    engine.deploy("INSERT INTO High SELECT sym, price FROM Tick WHERE price > 10", name="high")
    counts = engine.deploy("SELECT sym, count(*) AS n FROM High#time(1 min) GROUP BY sym", name="counts")
    engine.load("Tick", [tick(1, 5.0), tick(2, 20.0), tick(3, 30.0)])
    counts.drain(timeout=60)
    engine.deployments["high"].drain(timeout=60)
    assert [(row[0], row[1]) for row in rows(counts.results())] == [("a", 1), ("a", 2)]
    archived = read_by_others(engine.home / "derived" / "High" / "events").sort_by("_seq")
    assert archived["price"].to_pylist() == [20.0, 30.0]
    assert [row[1] for row in rows(engine.query("SELECT sym, price FROM High"))] == [20.0, 30.0]


def test_silence_that_is_told_to_the_log_fires_timers(engine: Engine) -> None:
    live = engine.deploy("SELECT count(*) AS n FROM Tick#time_batch(10 sec)", name="batches")
    engine.load("Tick", [tick(1, 1.0), tick(2, 2.0)])
    live.drain(timeout=60)
    assert rows(live.results()) == []
    engine.advance("Tick", "2024-01-01T00:00:30Z")
    live.drain(timeout=60)
    assert [row[0] for row in rows(live.results())] == [2]
    assert engine.load("Tick", [tick(20, 1.0)]).late == 1


def test_an_idle_stream_advances_by_itself(spark: SparkSession) -> None:
    with Engine(spark) as engine:
        engine.execute(TICK.replace("EVENT TIME at", "EVENT TIME at WITH (idle_after = '1 sec')"))
        live = engine.deploy("SELECT count(*) AS n FROM Tick#time_batch(1 sec)", name="batches")
        engine.load("Tick", [tick(1, 1.0)])
        until = time.monotonic() + 30
        while not live.status.rows_out and time.monotonic() < until:
            time.sleep(0.1)
        assert [row[0] for row in rows(live.results())] == [1]


def test_expressions_that_only_spark_knows_are_asked_of_spark(engine: Engine) -> None:
    text = "SELECT soundex(sym) AS s, count(*) AS n FROM Tick#time(1 min) WHERE regexp_like(sym, '^r') GROUP BY sym"
    live = engine.deploy(text, name="sounds")
    engine.load("Tick", [tick(1, 1.0, "robert"), tick(2, 1.0, "paul"), tick(3, 1.0, "robert")])
    live.drain(timeout=60)
    assert [(s, n) for s, n, _ in rows(live.results())] == [("R163", 1), ("R163", 2)]


def test_a_large_batch_is_shared_out_to_workers(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark, tmp_path / "home", rows_on_driver=0, rows_per_batch=40) as engine:
        engine.execute(TICK)
        engine.load("Tick", [tick(i, float(i), f"s{i % 7}") for i in range(100)])
        live = engine.deploy(AVERAGE.replace("GROUP", "WITHIN [2024-01-01, ) GROUP"), name="mean")
        live.drain(timeout=120)
        assert rows(live.results()) == rows(engine.query(AVERAGE))
        engine.load("Tick", [tick(100 + i, float(i), f"s{i % 7}") for i in range(20)])
        live.drain(timeout=120)
        assert rows(live.results()) == rows(engine.query(AVERAGE))


@pytest.mark.parametrize("batches", [None, 7])
def test_a_query_through_streaming_has_the_rows_of_the_batch_driver(engine: Engine, batches: int | None) -> None:
    engine.load("Tick", [tick(i, float(i % 5), f"s{i % 3}") for i in range(20)])
    engine.load("Tick", [tick(20 + i, float(i % 5), f"s{i % 3}") for i in range(20)])
    for text in (AVERAGE, "SELECT count(*) AS n FROM Tick#time_batch(7 sec)", "SELECT sym FROM Tick WHERE price > 9"):
        streamed = engine.query(text, mode="stream", batches=batches)
        assert rows(streamed) == rows(engine.query(text))
    assert "Scan" in streamed.explain()


def test_what_a_statement_reads_cannot_be_dropped(engine: Engine) -> None:
    live = engine.deploy(AVERAGE, name="mean")
    with pytest.raises(PresageError, match="is used by 'mean'"):
        engine.execute("DROP STREAM Tick")
    shown = engine.execute("SHOW STATEMENTS")
    assert shown is not None
    assert shown.to_arrow()["name"].to_pylist() == ["mean"]
    described = engine.execute("DESCRIBE mean")
    assert described is not None
    assert ("state", "running") in rows(described)
    engine.execute("DROP STATEMENT mean")
    assert live.status.state == "stopped"
    engine.execute("DROP STREAM Tick")


def test_another_text_under_a_name_that_stands_is_refused(engine: Engine) -> None:
    engine.deploy(AVERAGE, name="mean")
    with pytest.raises(PresageError, match="already declared") as refused:
        engine.deploy("SELECT price FROM Tick", name="mean")
    assert "replace=True" in refused.value.fix


def test_a_drain_that_takes_too_long_says_so(engine: Engine) -> None:
    live = engine.deploy(AVERAGE, name="mean")
    engine.load("Tick", [tick(1, 1.0)])
    with pytest.raises(PresageError) as late:
        live.drain(timeout=0)
    assert late.value.code == "TIMEOUT"
    live.drain(timeout=60)
